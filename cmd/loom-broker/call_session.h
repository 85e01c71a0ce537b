// One call between a Front and whatever clears it: an embedded core, or a broker at the other end of a socket. It keeps
// the call's place in the control channel (spec/wire.md) and knows nothing of either end.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "broker/event.h"
#include "service/front.h"

namespace loom::broker {

class CallSession final : public service::CallLink {
 public:
  // `send` gives a request out under an id; ids increase. A reply may come from inside it. The front is borrowed.
  using Send = std::function<void(std::uint64_t id, Request)>;
  CallSession(service::Front& front, Send send);

  void begin(CallSpec spec);
  void handle(std::uint64_t id, const ControlReply& reply);
  // The way to the broker is gone: an unsettled call may have run.
  void lost(const Error& error);

  void write_stdin(std::string data, bool eof) override;
  void allow_output(Stream stream, std::uint64_t upto) override;
  void cancel() override;
  void resize(TtySize size) override;

 private:
  void on_started(const CallStarted& started);
  void end(service::CallEnd end);
  void send_about_call(Request request) { send_(next_id_++, std::move(request)); }

  service::Front& front_;
  Send send_;
  bool begun_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  static constexpr std::uint64_t kCall = 1;
  std::uint64_t next_id_ = kCall + 1;
};

// The facts of a started call that a report names.
[[nodiscard]] service::CallFacts facts_of(const CallStarted& started);

}  // namespace loom::broker
