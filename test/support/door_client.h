// A client of a real broker's socket: calls, what each of them hears, and whether the broker kept its order (started,
// outputs, settled; one verdict a call; nothing after it; the sums of each stream). Blocking, with a bound.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/unique_fd.h"
#include "test/support/frame_port.h"
#include "wire/call_refused.h"
#include "wire/call_settled.h"
#include "wire/call_spec.h"
#include "wire/call_started.h"

namespace loom::test {

struct HeardCall {
  std::optional<CallStarted> started;
  std::optional<CallRefused> refused;
  std::optional<CallSettled> settled;
  std::string out;  // only the first 64 KiB are kept
  std::string err;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  std::uint64_t stdin_upto = 0;
  [[nodiscard]] bool over() const { return refused.has_value() || settled.has_value(); }
  // "refused all_busy", "failed execution_lost helper_down", "exited 3", "" while it is not over.
  [[nodiscard]] std::string verdict() const;
};

class DoorClient {
 public:
  // Connects and says hello; ends the program when there is no broker.
  explicit DoorClient(const std::string& socket);

  // A call of these words, op "op" and step "1"; a closed stdin.
  [[nodiscard]] static CallSpec spec(std::vector<std::string> argv);
  std::uint64_t call(const CallSpec& spec);
  std::uint64_t start(std::vector<std::string> argv) { return call(spec(std::move(argv))); }
  std::uint64_t send(std::string_view kind, const Value& body);                     // its id
  std::vector<std::uint64_t> send_twice(std::string_view kind, const Value& body);  // in one write
  void send_bytes(std::string_view bytes) const { (void)port_->send_bytes(bytes); }
  // One frame that came, or nothing within `timeout_ms`. False: nothing came, or the broker left.
  bool turn(int timeout_ms);
  // Reads until it is so; false: 30 s passed, or the broker left.
  bool until(const std::function<bool()>& so);
  const HeardCall& settle(std::uint64_t call);   // until it is over
  const HeardCall& started(std::uint64_t call);  // until it has started, or is over
  const HeardCall& of(std::uint64_t call) { return calls_[call]; }
  // The answer to a question: the fields of `ok`, or {"error": code, "msg": text}; nil when none came.
  Value ask(std::string_view kind, const Value& body = Value(Map{}));
  [[nodiscard]] Value answer(std::uint64_t id);
  void forget(std::uint64_t call) { calls_.erase(call); }
  void forget_answers() { answers_.clear(); }
  void close() { socket_.reset(); }
  void half_close() const;
  [[nodiscard]] bool left() const { return left_; }  // the broker has closed
  [[nodiscard]] const std::vector<std::string>& wrongs() const { return wrongs_; }
  [[nodiscard]] const std::map<std::uint64_t, HeardCall>& calls() const { return calls_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  bool grants_credit = true;                // output is read on: a credit for each half a window
  std::optional<Frame> last_channel_error;  // an error with id 0

 private:
  void on_frame(const Frame& frame);
  void on_output(std::uint64_t id, HeardCall& call, const Frame& frame);
  void wrong(std::uint64_t id, const std::string& what);

  UniqueFd socket_;
  std::unique_ptr<FramePort> port_;
  std::map<std::uint64_t, HeardCall> calls_;
  std::map<std::uint64_t, Value> answers_;
  std::vector<std::string> wrongs_;
  std::uint64_t next_id_ = 1;
  bool left_ = false;
};

// at(snapshot, {"pool", "lent"}): the count there; ~0 when there is none.
[[nodiscard]] std::uint64_t count_in(const Value& value, std::initializer_list<std::string_view> path);
[[nodiscard]] std::string text_in(const Value& value, std::initializer_list<std::string_view> path);

}  // namespace loom::test
