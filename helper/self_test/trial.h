// One probe of the self-test: a workspace of its own with something to protect, a directory of the host beside it,
// listeners to be talked to, executions by the same path as a real command, and what became of it all (spec/jail.md
// "self-test").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "helper/execution.h"
#include "helper/host_context.h"
#include "helper/self_test/record.h"
#include "os/unique_fd.h"

namespace loom::helper {

enum class Verdict { kEnforced, kSkipped, kFailed };
[[nodiscard]] std::string_view to_text(Verdict verdict);  // "ENFORCED", ...

struct TrialOutcome {
  std::optional<ExecExit> exit;
  std::optional<Error> error;
  std::string out;
  std::string err;
};

// Where the trials of one self-test are: a directory that is made and removed, with the probes' program in it.
class TrialGround {
 public:
  // Errors: spawn_failed, where no directory is that programs can be started in.
  [[nodiscard]] static Result<std::unique_ptr<TrialGround>> make(const HostContext& host);
  ~TrialGround();
  TrialGround(const TrialGround&) = delete;
  TrialGround& operator=(const TrialGround&) = delete;

  [[nodiscard]] const HostContext& host() const { return host_; }
  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] Path programs() const { return path_ + "/bin"; }
  [[nodiscard]] Path program() const { return programs() + "/loom-probes"; }

 private:
  TrialGround(const HostContext& host, Path path) : host_(host), path_(std::move(path)) {}
  const HostContext& host_;
  Path path_;
};

class Trial {
 public:
  Trial(const TrialGround& ground, const std::string& name);

  [[nodiscard]] const Path& workspace() const { return workspace_; }
  [[nodiscard]] const Path& outside() const { return outside_; }
  [[nodiscard]] const std::string& abstract_name() const { return abstract_name_; }
  [[nodiscard]] const HostContext& host() const { return ground_.host(); }
  [[nodiscard]] std::string in_workspace(std::string_view name) const;

  // The probe `name` under the policy that all share, with what goes behind the directory of the host.
  [[nodiscard]] ExecRequest probe(const std::string& name, std::vector<std::string> more = {}) const;
  TrialOutcome run(ExecRequest request,
                   const std::function<void(Execution&, const TrialOutcome&)>& on_output = nullptr);
  [[nodiscard]] Record record_of(const std::string& said) const { return read_record(said, nonce_); }
  // That a probe ran, came to its end, could do what it may and nothing that it may not.
  void judge(const TrialOutcome& outcome);
  void judge_record(const Record& record, bool must_end = true);
  // run() and judge() of one probe.
  TrialOutcome attempt(const std::string& name, std::vector<std::string> more = {});

  void want(bool holds, const std::string& fault);
  void need(std::vector<std::string_view> layers) { layers_ = std::move(layers); }
  void skip(std::string reason) { skipped_ = std::move(reason); }
  // After the last execution: looks at the host, and says the verdict.
  [[nodiscard]] Verdict conclude();
  [[nodiscard]] std::string reason() const;  // of a skip or a failure

 private:
  void prepare();
  void look_at_host();
  void look_for_survivors();
  void look_for_set_ids();
  void look_at_layers(const ExecExit& exit);
  [[nodiscard]] std::string content(std::string_view name) const { return std::string(name) + " of " + nonce_ + "\n"; }

  const TrialGround& ground_;
  std::string nonce_;
  Path workspace_;
  Path outside_;
  std::string abstract_name_;
  std::vector<UniqueFd> listeners_;
  std::vector<std::string_view> layers_;
  std::string skipped_;
  std::vector<std::string> faults_;
  std::string said_;  // by all probes, on both streams
  bool witnessed_ = false;
};

}  // namespace loom::helper
