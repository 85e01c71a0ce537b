// The engine behind helper/execution.h: one execution's life, from the clone of its builder to its one terminal word.
// Phases: building (a builder works), preparing (stage 2 has its orders), running (the go was given), over (everything
// was reaped; output is being drained). Each message and each end is handled in every phase.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "helper/builder.h"
#include "helper/cgroup.h"
#include "helper/channel.h"
#include "helper/execution.h"
#include "helper/host_context.h"
#include "helper/jail_report.h"
#include "helper/placeholder_keeper.h"
#include "helper/streams.h"
#include "helper/why.h"
#include "os/child.h"
#include "os/loop.h"

namespace loom::helper {

class JailedExecution final : public Execution {
 public:
  JailedExecution(Loop& loop, const HostContext& host, ExecRequest request, ExecEvents events);
  ~JailedExecution() override;
  JailedExecution(const JailedExecution&) = delete;
  JailedExecution& operator=(const JailedExecution&) = delete;

  void write_stdin(std::string data, bool eof) override { stdin_.write(std::move(data), eof); }
  void resize(TtySize size) override;
  void allow_output(Stream stream, std::uint64_t upto) override;
  void pause(bool stopped) override;
  void cancel() override;

 private:
  enum class Phase { kBuilding, kRunning, kOver };

  // Starting
  void start();
  [[nodiscard]] Status open_channels();
  [[nodiscard]] Status start_builder();
  void watch_jail(UniqueFd pidfd);
  void make_cgroup();
  void bound_the_building();
  [[nodiscard]] long clone_builder(BuildJob& job, UniqueFd& pidfd);
  [[nodiscard]] bool go_on_without_container();
  [[nodiscard]] bool go_on_with_bwrap();
  [[nodiscard]] Error words_of_bwrap() const;

  // What the builder and stage 2 say
  void hear();
  void on_message(ControlMessage& message);
  void read_facts();
  void release_placeholders();
  void let_it_tell();
  void on_refused(const ControlMessage& message);
  void on_report(const ControlMessage& message);
  void on_held(ControlMessage& message);
  void on_terminal(ControlMessage& message);
  [[nodiscard]] static std::vector<Path> failed_paths(const ControlMessage& message, const stage2::Report& seen);

  // Ending
  void look_at_cpu();
  void close_cgroup();
  void on_builder_end();
  void on_jail_end();
  void stop(bool by_clock);
  void kill_all();
  void kill_by_force();
  void finish_when_drained();
  void finish();
  [[nodiscard]] Error why_nothing_ran() const;
  [[nodiscard]] ExecExit exit_record() const;

  Loop& loop_;
  const HostContext& host_;
  ExecRequest request_;
  ExecEvents events_;
  Phase phase_ = Phase::kBuilding;
  bool container_ = true;
  bool bwrap_ = false;
  std::string no_native_;  // then: why the native backend cannot
  std::string no_container_;
  loom::Report features_;
  UniqueFd said_;  // by bubblewrap

  std::optional<Cgroup> cgroup_;  // goes after all that lives in it
  std::string no_cgroup_;
  std::vector<std::string> cgroup_events_;
  std::optional<std::uint64_t> cpu_us_;  // of the whole tree since the go
  std::uint64_t cpu_before_ = 0;         // what making the jail cost

  UniqueFd control_;
  Loop::Watch control_watch_;
  OwnedChild builder_;
  Loop::Watch builder_watch_;
  OwnedChild jail_;
  Loop::Watch jail_watch_;
  std::array<UniqueFd, 3> jail_streams_;  // the command's ends, until stage 2 has them
  UniqueFd terminal_;                     // the master, kept for its size
  UniqueFd facts_;                        // what the builder knows of the plan
  PlaceholderKeeper placeholders_;
  InputStream stdin_;
  OutputStream stdout_;
  OutputStream stderr_;
  Loop::Timer wall_;
  Loop::Timer cpu_;
  Loop::Timer building_;
  Loop::Timer ladder_;
  Loop::Timer soon_;

  std::string mounts_tag_;
  std::vector<std::string> plan_events_;
  WhyLog why_;
  loom::Report report_;
  std::optional<Error> error_;  // why nothing ran
  std::optional<stage2::Ended> ended_;
  std::optional<stage2::Left> left_;
  bool cancelled_ = false;
  bool timed_out_ = false;
  bool killed_ = false;
  bool finishing_ = false;  // all but the placeholders is over
  TimePoint started_{};
  std::int64_t wall_ms_ = 0;
};

}  // namespace loom::helper
