// loom-egress proxy: its flags, and from them the daemon.
#include "cli/output.h"
#include "daemon_parts.h"
#include "options.h"
#include "proxy_daemon.h"
#include "verbs.h"

namespace loom::egress_tool {
namespace {

tl::unexpected<Error> bad(std::string flag, std::string what) {
  return fail("bad_argument", std::move(flag), std::move(what), "see loom-egress proxy --help");
}

Result<ProxyOptions> read_options(const cli::Parsed& parsed) {
  ProxyOptions options;
  options.socket = parsed.value("--socket");
  LOOM_TRY(options.listen_fd, descriptor_flag(parsed, "--listen-fd"));
  if (options.socket.has_value() == options.listen_fd.has_value())
    return bad("--socket", "proxy wants either --socket PATH or --listen-fd N");
  auto allow = AllowList::parse(parsed.values("--allow"));
  if (!allow) return fail(std::move(allow).error().context("--allow"));
  options.allow = *std::move(allow);
  options.config = parsed.value("--config").value_or("");
  options.record = parsed.value("--record");
  options.only_bridges = parsed.has("--only-bridges");
  return options;
}

Result<int> try_proxy(const cli::Parsed& parsed) {
  LOOM_TRY(ProxyOptions options, read_options(parsed));
  LOOM_TRY(const std::optional<int> ready_fd, descriptor_flag(parsed, "--ready-fd"));
  Loop loop;
  ProxyDaemon daemon(loop, std::move(options));
  return service::run_daemon(loop, daemon, {ready_fd.value_or(-1)});
}

ExitStatus run_proxy(const cli::Parsed& parsed) {
  const auto status = try_proxy(parsed);
  if (status) return static_cast<ExitStatus>(*status);
  cli::say_error(kTool, status.error());
  return ExitStatus::kUsage;
}

}  // namespace

VerbRow proxy_verb() {
  cli::Verb verb;
  verb.name = "proxy";
  verb.synopsis = "--socket PATH | --listen-fd N [flags]";
  verb.summary = "HTTP and SOCKS5 tunnels to what an allow list admits.";
  verb.options = {{"--socket", "PATH", "listen on this Unix socket"},
                  {"--listen-fd", "N", "serve this listening socket; end with whoever passed it"},
                  {"--allow", "ENTRY", "what may be reached (none: nothing)", true},
                  {"--config", "FILE", "resolver, addresses and record file; read anew on change"},
                  {"--record", "FILE", "append a JSON line for each decision and each tunnel's end"},
                  {"--only-bridges", "", "serve the bridges of jails and nobody else"},
                  {"--ready-fd", "N", "write a line to this descriptor once it serves"}};
  verb.examples = {"loom-egress proxy --socket /run/user/1000/out/s --allow git.test:8443",
                   "loom-egress proxy --listen-fd 3 --allow '*.pypi.test' --record calls.jsonl"};
  return {std::move(verb), run_proxy};
}

}  // namespace loom::egress_tool
