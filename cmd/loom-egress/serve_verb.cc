// loom-egress serve: its flags, and from them the daemon.
#include <csignal>

#include "cli/output.h"
#include "daemon_parts.h"
#include "options.h"
#include "policy/host.h"
#include "serve_daemon.h"
#include "verbs.h"

namespace loom::egress_tool {
namespace {

tl::unexpected<Error> bad(std::string flag, std::string what) {
  return fail("bad_argument", std::move(flag), std::move(what), "see loom-egress serve --help");
}

Result<ServeOptions> read_options(const cli::Parsed& parsed) {
  ServeOptions options;
  for (const char* flag : {"--socket", "--config"}) {
    if (!parsed.has(flag)) return bad(flag, "must be given");
  }
  options.socket = *parsed.value("--socket");
  options.config = *parsed.value("--config");
  if (const auto port = parsed.value("--tcp")) {
    options.tcp = 0;
    if (!port->empty()) {
      const auto number = parse_port(*port);
      if (!number) return bad("--tcp", "want a port, got \"" + *port + "\"");
      options.tcp = *number;
    }
  }
  options.token_dir = parsed.value("--token-dir");
  LOOM_TRY(options.tokens_fd, descriptor_flag(parsed, "--tokens-fd"));
  if (options.token_dir.has_value() == options.tokens_fd.has_value())
    return bad("--token-dir", "serve wants either --token-dir DIR or --tokens-fd N: without a token nobody may call");
  options.record = parsed.value("--record");
  return options;
}

Result<int> try_serve(const cli::Parsed& parsed) {
  // A record that has reached a limit on the size of files is an error of its write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  LOOM_TRY(ServeOptions options, read_options(parsed));
  LOOM_TRY(const std::optional<int> ready_fd, descriptor_flag(parsed, "--ready-fd"));
  Loop loop;
  ServeDaemon daemon(loop, std::move(options));
  return service::run_daemon(loop, daemon, {ready_fd.value_or(-1)});
}

ExitStatus run_serve(const cli::Parsed& parsed) {
  const auto status = try_serve(parsed);
  if (status) return static_cast<ExitStatus>(*status);
  cli::say_error(kTool, status.error());
  return ExitStatus::kUsage;
}

}  // namespace

VerbRow serve_verb() {
  cli::Verb verb;
  verb.name = "serve";
  verb.synopsis = "[flags] --socket PATH --config FILE";
  verb.summary = "Requests over HTTP, for those who hold a token.";
  verb.options = {{"--socket", "PATH", "listen on this Unix socket"},
                  {"--config", "FILE", "policy, grants, credentials; read anew on change"},
                  {"--token-dir", "DIR", "write a token for each granted caller: DIR/CALLER.token"},
                  {"--tokens-fd", "N", "take tokens and revocations from N, and end with it"},
                  {"--tcp", "PORT", "listen on 127.0.0.1 as well; a free port without =PORT", false, true},
                  {"--record", "FILE", "append a JSON line for each call and each refusal"},
                  {"--ready-fd", "N", "write a line to this descriptor once it serves"}};
  verb.examples = {"loom-egress serve --socket $PWD/out/s --config c.json --token-dir $PWD/tokens",
                   "loom-egress serve --socket $PWD/out/s --config c.json --tokens-fd 3 3<feed"};
  return {std::move(verb), run_serve};
}

}  // namespace loom::egress_tool
