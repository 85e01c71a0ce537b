// One execution in this process behind the front that `run` shares with the broker: the seam between helper/execution.h
// and service/front.h (spec/broker.md "Flags of run and call").
#pragma once

#include <cstdint>

#include "helper/execution.h"
#include "helper/serve.h"
#include "os/loop.h"
#include "service/front.h"

namespace loom::exec {

class LocalCall : public service::CallLink {
 public:
  // `front` is borrowed. deadline_ms 0: none.
  LocalCall(Loop& loop, service::Front& front, std::uint64_t deadline_ms);
  void start(const helper::StartExecution& start, helper::ExecRequest request);

  void write_stdin(std::string data, bool eof) override;
  void allow_output(Stream stream, std::uint64_t upto) override;
  void cancel() override;
  void resize(TtySize size) override;
  void pause(bool stopped) override;

 private:
  void exited(const ExecExit& exit);
  void failed(const Error& error);
  [[nodiscard]] std::string stopped_by(const ExecExit& exit) const;

  Loop& loop_;
  service::Front& front_;
  std::uint64_t deadline_ms_;
  Loop::Timer deadline_;
  bool deadline_passed_ = false;
  bool cancelled_ = false;
  std::uint64_t cpu_s_ = 0;  // 0: no limit
  bool ended_ = false;
  std::unique_ptr<helper::Execution> execution_;
};

}  // namespace loom::exec
