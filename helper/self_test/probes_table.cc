#include "helper/self_test/probes_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "os/fds.h"
#include "plan/report.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kMebibyte = 1U << 20U;
constexpr int kScopingAbi = 6;  // of Landlock: sockets and signals

bool tells(const TrialOutcome& outcome, std::string_view prefix) {
  if (!outcome.exit) return false;
  const auto& report = outcome.exit->enforcement;
  return std::any_of(report.begin(), report.end(),
                     [&](const std::string& entry) { return entry.compare(0, prefix.size(), prefix) == 0; });
}

// A later execution whose policy names what an earlier one replaced by a link is refused, or holds it back.
void go_through(Trial& trial, const std::function<void(Policy&)>& name_it) {
  ExecRequest request = trial.probe("go-through-links");
  name_it(request.policy);
  const TrialOutcome outcome = trial.run(std::move(request));
  // Not what was planned, and said so, is as good as refused where the best that can be had was asked for.
  if (outcome.exit) return trial.judge_record(trial.record_of(outcome.out));
  trial.want(outcome.error->code == "plan_refused", "refused for another reason: " + outcome.error->text());
}

void planted_links(Trial& trial) {
  trial.attempt("plant-links");
  const Path inner = trial.in_workspace("inner");
  const Path file = trial.in_workspace("file");
  go_through(trial, [](Policy&) {});
  go_through(trial, [&](Policy& policy) { policy.writable_roots.push_back(inner); });
  go_through(trial, [&](Policy& policy) { policy.frozen.push_back(inner); });
  go_through(trial, [&](Policy& policy) { policy.protected_paths.push_back(inner); });
  go_through(trial, [&](Policy& policy) { policy.mounts.push_back({file, Access::kReadWrite, true}); });
  go_through(trial, [&](Policy& policy) { policy.scratch.host_path = inner; });
}

void all_sockets(Trial& trial) {
  trial.attempt("sockets", {",1,"});
}

void sockets_of_full(Trial& trial) {
  ExecRequest request = trial.probe("sockets", {",1,2,10,16,"});
  request.policy.network.mode = NetworkMode::kFull;
  trial.judge(trial.run(std::move(request)));
}

void host_sockets(Trial& trial) {
  trial.attempt("host-sockets", {trial.abstract_name()});
}

void host_sockets_of_full(Trial& trial) {
  if (trial.host().landlock_abi < kScopingAbi) {
    return trial.skip("with the host's network only Landlock from ABI 6 holds abstract sockets; this kernel has ABI " +
                      std::to_string(trial.host().landlock_abi));
  }
  ExecRequest request = trial.probe("host-sockets", {trial.abstract_name()});
  request.policy.network.mode = NetworkMode::kFull;
  trial.judge(trial.run(std::move(request)));
}

// Everything that a careless starter leaves behind, left behind.
void left_behind(Trial& trial) {
  constexpr char kName[] = "LOOM_SELF_TEST_SECRET";
  const std::string secret = trial.abstract_name() + "-value";
  ::setenv(kName, secret.c_str(), 1);
  const int root = ::open("/", O_RDONLY | O_DIRECTORY);  // NOLINT: it is to be inherited
  const mode_t mask = ::umask(0);
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGUSR2, SIG_IGN);
  ExecRequest request = trial.probe("environment", {std::string(kName) + "=" + secret, "LANG"});
  request.env = {{"LANG", "C"}, {kName, secret}};
  // The words of the request are the command's to read; the value is not to be in its environment.
  trial.judge(trial.run(std::move(request)));
  ::signal(SIGUSR2, handler);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::umask(mask);
  ::close(root);
  ::unsetenv(kName);
}

void output_flood(Trial& trial) {
  ExecRequest request = trial.probe("output-flood");
  request.policy.limits.output_bytes = 65536;
  const TrialOutcome outcome = trial.run(std::move(request));
  if (outcome.error) return trial.judge(outcome);
  trial.judge_record(trial.record_of(outcome.err));
  trial.want(outcome.out.size() == 65536 && outcome.exit->stdout_truncated, "more came out than output_bytes");
  trial.want(read_file(trial.in_workspace("finished"), 64).has_value(), "it was stopped, not only cut");
}

void fork_bomb(Trial& trial) {
  ExecRequest request = trial.probe("fork-bomb", {"32"});
  request.policy.limits.pids = 32;
  const TrialOutcome outcome = trial.run(std::move(request));
  trial.judge(outcome);
  trial.want(tells(outcome, "pids-userns") || tells(outcome, "cgroup-v2"), "the report has no ceiling of processes");
}

void too_much_memory(Trial& trial) {
  ExecRequest request = trial.probe("memory", {"32"});
  request.policy.limits.mem_bytes = 32 * kMebibyte;
  const TrialOutcome outcome = trial.run(std::move(request));
  if (outcome.error) return trial.judge(outcome);
  trial.judge_record(trial.record_of(outcome.out), false);
  trial.want(outcome.exit->signal == SIGKILL, "it was not killed");
  trial.want(tells(outcome, "event:oom-kill="), "the report does not tell of the kill");
}

void survivors(Trial& trial) {
  const TrialOutcome outcome = trial.attempt("survivors");
  trial.want(tells(outcome, "event:descendants-killed="), "the report does not count what had to be killed");
}

void heard(Trial& trial) {
  bool cancelled = false;
  const TrialOutcome outcome = trial.run(trial.probe("listener"), [&](Execution& execution, const TrialOutcome& soFar) {
    if (cancelled || soFar.out.find("ready") == std::string::npos) return;
    cancelled = true;
    execution.cancel();
  });
  if (outcome.error) return trial.judge(outcome);
  trial.judge_record(trial.record_of(outcome.out));
  trial.want(outcome.exit->cancelled && outcome.exit->code == 3, "its own answer to the cancel was not heard");
  for (const char* name : {"asked", "asked-too"}) {
    trial.want(read_file(trial.in_workspace(name), 64).has_value(), std::string("no handler ran: ") + name);
  }
}

void terminal(Trial& trial) {
  ExecRequest request = trial.probe("terminal");
  request.tty = TtySize{24, 80};
  trial.judge(trial.run(std::move(request)));
}

// Started by root: one that belongs to another of the host. By a user: one's own, besides those of the host.
void set_id_program(Trial& trial) {
  const std::string planted = trial.in_workspace("set-id-of-the-host");
  std::error_code failed;
  std::filesystem::copy_file(trial.probe("list").argv[0], planted, failed);
  if (::geteuid() == 0)
    failed = ::lchown(planted.c_str(), 1, 1) == 0 ? failed : std::make_error_code(std::errc::io_error);
  trial.want(!failed && ::chmod(planted.c_str(), 06755) == 0, "no set-id program could be made");
  trial.attempt("setid-program", {planted});
}

void hostile(Trial& trial) {
  ExecRequest request = trial.probe("hostile", {",1,"});
  request.policy.limits.pids = 256;
  trial.judge(trial.run(std::move(request)));
}

}  // namespace

const std::vector<ProbeCase>& probe_cases() {
  namespace l = layer;
  static const std::vector<ProbeCase> kCases{
      {"outside", "write outside the roots", {l::kNamespaces, l::kMounts}, [](Trial& t) { t.attempt("outside"); }},
      {"protected",
       "read and replace what is protected or frozen",
       {l::kNamespaces, l::kMounts},
       [](Trial& t) { t.attempt("protected"); }},
      {"pins", "rename an ancestor of it", {l::kNamespaces, l::kMounts}, [](Trial& t) { t.attempt("pins"); }},
      {"links", "plant links for a later execution", {l::kNamespaces, l::kMounts}, &planted_links},
      {"set-id-files", "make a set-id file by every call", {l::kSeccompBase}, [](Trial& t) { t.attempt("setid"); }},
      {"unnamed",
       "find a host path that nobody named",
       {l::kNamespaces, l::kMounts},
       [](Trial& t) { t.attempt("unnamed"); }},
      {"root-only",
       "files and sysctls of root",
       {l::kNamespaces, l::kMounts, l::kUnprivileged},
       [](Trial& t) { t.attempt("root-only"); }},
      {"sockets", "every socket family, also through io_uring", {l::kSeccompBase, l::kSeccompNet}, &all_sockets},
      {"sockets-net-full", "the same with the network open", {l::kSeccompBase, l::kSeccompNet}, &sockets_of_full},
      {"host-sockets", "talk to the host's programs, by name and by path", {l::kNamespaces, l::kMounts}, &host_sockets},
      {"host-sockets-net-full",
       "the same with the network open",
       {l::kNamespaces, l::kMounts, l::kLandlock},
       &host_sockets_of_full},
      {"environment",
       "variables, descriptors and signals of the starter",
       {l::kNamespaces, l::kRlimitCore},
       &left_behind},
      {"output-flood", "print without end", {}, &output_flood},
      {"fork-bomb", "more processes than allowed", {l::kNamespaces}, &fork_bomb},
      {"memory", "more memory than allowed", {l::kCgroupV2}, &too_much_memory},
      {"survivors", "orphans, sessions, stopped and deaf processes", {l::kNamespaces}, &survivors},
      {"listener", "a TERM handler, also of a stopped process, is run", {l::kNamespaces}, &heard},
      {"processes", "see processes of the host", {l::kNamespaces}, [](Trial& t) { t.attempt("processes"); }},
      {"attack-init",
       "kill, trace and starve pid 1",
       {l::kNamespaces, l::kSeccompBase},
       [](Trial& t) { t.attempt("attack-init"); }},
      {"capabilities",
       "use and take rights",
       {l::kNamespaces, l::kUnprivileged, l::kNoNewPrivs},
       [](Trial& t) { t.attempt("capabilities"); }},
      {"namespaces", "user namespaces, mounts, keyrings", {l::kSeccompBase}, [](Trial& t) { t.attempt("namespaces"); }},
      {"foreign",
       "other entries and numbers of system calls",
       {l::kSeccompBase},
       [](Trial& t) { t.attempt("foreign"); }},
      {"terminal", "type into the starter's terminal", {l::kNamespaces, l::kSeccompBase}, &terminal},
      {"set-id-program", "gain by a set-id program", {l::kNoNewPrivs}, &set_id_program},
      {"hostile",
       "all of it at once",
       {l::kNamespaces, l::kMounts, l::kUnprivileged, l::kNoNewPrivs, l::kSeccompBase, l::kSeccompNet},
       &hostile},
  };
  return kCases;
}

}  // namespace loom::helper
