#include "service/call_flags.h"

#include <algorithm>
#include <utility>

#include "policy/covers.h"

namespace loom::service {
namespace {

tl::unexpected<Error> bad(std::string flag, std::string what) {
  return fail("bad_argument", std::move(flag), std::move(what));
}

// --env NAME=VALUE, or NAME for the caller's own value. Either implies the grant.
Status read_env(const std::vector<std::string>& given, const CallerFacts& facts, CallFlags& flags) {
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) return bad("--env", "want NAME or NAME=VALUE, got \"" + text + "\"");
    if (name.compare(0, 5, "LOOM_") == 0)
      return bad("--env", name + ": names that begin with LOOM_ are set by loom alone");
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = text.substr(equals + 1);
    } else {
      value = facts.environment(name);
    }
    // A name that is not set here stays unset there.
    if (value) flags.env[name] = *value;
    flags.grants.push_back(Grant{"env", "", Value(name)});
  }
  return {};
}

Status read_grants(const std::vector<std::string>& given, CallFlags& flags) {
  for (const std::string& text : given) {
    auto grant = parse_grant(text);
    if (!grant) return fail(std::move(grant).error().context("--grant"));
    flags.grants.push_back(std::move(*grant));
  }
  return {};
}

void read_allow_hosts(std::vector<std::string> given, CallFlags& flags) {
  if (given.empty()) return;
  Array entries;
  for (const std::string& entry : given) entries.emplace_back(entry);
  flags.allow_hosts = std::move(given);
  flags.grants.push_back(
      Grant{"network", "", Value(Map{{"mode", Value("proxy")}, {"allow", Value(std::move(entries))}})});
}

Status read_choices(const cli::Parsed& parsed, CallFlags& flags) {
  if (const auto text = parsed.value("--demand")) {
    Demand demand{};
    if (!parse_demand(*text, demand))
      return bad("--demand", "want full, platform or best_effort, got \"" + *text + "\"");
    flags.demand = demand;
  }
  if (const auto text = parsed.value("--narrowed")) {
    if (*text != "refuse" && *text != "proceed")
      return bad("--narrowed", "want refuse or proceed, got \"" + *text + "\"");
    flags.proceed_narrowed = *text == "proceed";
  }
  if (const auto text = parsed.value("--why")) {
    if (!text->empty() && *text != "calls" && *text != "paths")
      return bad("--why", "want paths, got \"" + *text + "\"");
    flags.why = text->empty() ? "calls" : *text;
  }
  return {};
}

Status read_numbers(const cli::Parsed& parsed, CallFlags& flags) {
  if (const auto text = parsed.value("--timeout")) {
    const auto duration = cli::parse_duration_ms(*text);
    if (!duration) return fail(Error(duration.error()).context("--timeout"));
    if (*duration == 0) return bad("--timeout", "a time of 0 is none: leave the flag out");
    flags.timeout_ms = *duration;
  }
  if (const auto text = parsed.value("--status-fd")) {
    const auto number = cli::parse_count(*text);
    if (!number) return fail(Error(number.error()).context("--status-fd"));
    if (*number > 65'535) return bad("--status-fd", "no such descriptor: " + *text);
    flags.status_fd = static_cast<int>(*number);
  }
  return {};
}

Status read_places(const cli::Parsed& parsed, const CallerFacts& facts, CallFlags& flags) {
  flags.policy_file = parsed.value("--policy");
  if (const auto text = parsed.value("--workspace")) {
    if (text->empty()) return bad("--workspace", "want a directory");
    if (flags.policy_file) return bad("--workspace", "give --policy or --workspace, not both");
    flags.workspace = absolute_path(*text, facts.cwd);
  }
  if (const auto text = parsed.value("--cwd")) {
    if (text->empty()) return bad("--cwd", "want a directory");
    flags.cwd = absolute_path(*text, facts.cwd);
  }
  return {};
}

}  // namespace

std::vector<cli::Option> call_options(CallFront front) {
  std::vector<cli::Option> options{
      {"--policy", "FILE", "what the command may do (loom-policy(5)); - is stdin"},
      {"--workspace", "DIR",
       front == CallFront::kBrokerCall ? "or the ready-made policy for DIR"
                                       : "or the ready-made policy for DIR (default: .)"},
      {"--cwd", "DIR", "where the command starts"},
      {"--env", "NAME[=VALUE]", "let NAME in (grants env=NAME)", true},
      {"--grant", "G", "widen: writable_root=PATH, limit.FIELD=N, ...", true},
      {"--demand", "D", "full, platform or best_effort enforcement"},
      {"--narrowed", "HOW", "refuse or proceed when the policy gives less than asked"},
      {"--timeout", "TIME", "stop the command after 500ms, 30s, 5m, 1h"},
      {"--allow-host", "ENTRY", "let the command reach a host (grants network=proxy)", true},
  };
  if (front != CallFront::kExecRun) {
    options.push_back({"--caller", "NAME", "who calls: selects egress grants", false, false, true});
    options.push_back({"--cap", "NAME", "a capability for the command", true});
  }
  options.push_back({"--why", "paths", "tell which refused calls the command made", false, true});
  options.push_back({"--tty", "", "give the command a terminal"});
  options.push_back({"--quiet", "", "say errors only"});
  options.push_back({"--report", "FILE", "write what was enforced, as JSON"});
  options.push_back({"--status-fd", "N", "write started and settled lines to this descriptor"});
  return options;
}

Result<CallFlags> read_call_flags(const cli::Parsed& parsed, const CallerFacts& facts) {
  CallFlags flags;
  flags.argv = parsed.rest;
  if (flags.argv.empty()) return bad("", "no command given");
  LOOM_CHECK(read_places(parsed, facts, flags));
  LOOM_CHECK(read_grants(parsed.values("--grant"), flags));
  LOOM_CHECK(read_env(parsed.values("--env"), facts, flags));
  read_allow_hosts(parsed.values("--allow-host"), flags);
  LOOM_CHECK(read_choices(parsed, flags));
  LOOM_CHECK(read_numbers(parsed, flags));
  flags.caller = parsed.value("--caller").value_or("");
  flags.caps = parsed.values("--cap");
  flags.tty = parsed.has("--tty");
  flags.quiet = parsed.has("--quiet");
  flags.report_file = parsed.value("--report").value_or("");
  return flags;
}

Path absolute_path(const Path& path, const Path& cwd) {
  const std::string whole = !path.empty() && path.front() == '/' ? path : cwd + "/" + path;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = std::min(whole.find('/', begin), whole.size());
    const std::string part = whole.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string canonical;
  for (const std::string& part : parts) canonical += "/" + part;
  return canonical.empty() ? "/" : canonical;
}

std::map<std::string, std::string> requested_environment(const std::vector<std::string>& env_allow,
                                                         const CallFlags& flags, const CallerFacts& facts) {
  std::map<std::string, std::string> env = flags.env;
  for (const std::string& name : env_allow) {
    if (env.count(name) != 0) continue;
    if (auto value = facts.environment(name)) env[name] = std::move(*value);
  }
  return env;
}

std::optional<Path> requested_cwd(const Policy& policy, const CallFlags& flags, const CallerFacts& facts) {
  if (flags.cwd) return flags.cwd;
  const auto covered = [&facts](const std::vector<Path>& roots) {
    return std::any_of(roots.begin(), roots.end(), [&facts](const Path& root) { return covers(root, facts.cwd); });
  };
  if (covered(policy.writable_roots) || covered(policy.readable_roots)) return facts.cwd;
  if (flags.workspace) return flags.workspace;
  if (!policy.writable_roots.empty()) return policy.writable_roots.front();
  return std::nullopt;
}

}  // namespace loom::service
