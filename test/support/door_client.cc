#include "test/support/door_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/version.h"
#include "os/socket.h"
#include "wire/call_credit.h"
#include "wire/call_output.h"
#include "wire/hello.h"

namespace loom::test {
namespace {

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kKept = 65'536;
constexpr std::uint64_t kWindow = 1U << 20U;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "door_client: %s\n", why.c_str());
  std::abort();
}

const Value* walk(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* here = &value;
  for (const std::string_view key : path) {
    here = here->find(key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

}  // namespace

std::uint64_t count_in(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = walk(value, path);
  const auto* count = found == nullptr ? nullptr : found->get_if<std::uint64_t>();
  return count == nullptr ? ~0ULL : *count;
}

std::string text_in(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = walk(value, path);
  const auto* text = found == nullptr ? nullptr : found->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

std::string HeardCall::verdict() const {
  if (refused) return "refused " + refused->reason;
  if (!settled) return "";
  if (settled->exited) return "exited " + std::to_string(settled->exited->code);
  const std::string cause = text_in(settled->failed->detail, {"cause"});
  return "failed " + settled->failed->kind + (cause.empty() ? "" : " " + cause);
}

DoorClient::DoorClient(const std::string& socket) {
  ::signal(SIGPIPE, SIG_IGN);
  auto fd = connect_unix(socket, seconds(5));
  if (!fd) give_up(fd.error().text());
  socket_ = std::move(*fd);
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) & ~O_NONBLOCK);
  port_ = std::make_unique<FramePort>(socket_.get(), socket_.get());
  Frame hello;
  const Arrival first = port_->next(hello, kPatienceMs);
  if (first != Arrival::kFrame || hello.kind != "hello") {
    give_up("no hello: " + std::to_string(static_cast<int>(first)) + " " + hello.kind);
  }
  (void)port_->send(0, "hello", encode(Hello{kControlProto, "door-client/1", {}}));
}

CallSpec DoorClient::spec(std::vector<std::string> argv) {
  CallSpec spec;
  spec.op_id = "op";
  spec.step_id = "1";
  spec.argv = std::move(argv);
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.wants_stdin = false;
  spec.budget.max_outstanding = 10'000;
  return spec;
}

std::uint64_t DoorClient::call(const CallSpec& spec) {
  const std::uint64_t id = send("clear_call", encode(spec));
  calls_[id].stdin_upto = kWindow;
  return id;
}

std::uint64_t DoorClient::send(std::string_view kind, const Value& body) {
  const std::uint64_t id = next_id_++;
  (void)port_->send(id, kind, body);
  return id;
}

std::vector<std::uint64_t> DoorClient::send_twice(std::string_view kind, const Value& body) {
  const std::uint64_t one = next_id_++;
  const std::uint64_t two = next_id_++;
  send_bytes(encode_frame(one, kind, body) + encode_frame(two, kind, body));
  return {one, two};
}

bool DoorClient::turn(int timeout_ms) {
  if (left_) return false;
  Frame frame;
  switch (port_->next(frame, timeout_ms)) {
    case Arrival::kFrame:
      on_frame(frame);
      return true;
    case Arrival::kTimeout:
      return false;
    case Arrival::kEnd:
      left_ = true;
      return false;
    case Arrival::kMalformed:
      left_ = true;
      wrongs_.emplace_back("a malformed frame from the broker, or a broken connection");
      return false;
  }
  return false;
}

bool DoorClient::until(const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!so()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (!turn(static_cast<int>(left.count())) && left_) return so();
  }
  return true;
}

const HeardCall& DoorClient::settle(std::uint64_t call) {
  (void)until([&] { return calls_[call].over(); });
  return calls_[call];
}

const HeardCall& DoorClient::started(std::uint64_t call) {
  (void)until([&] { return calls_[call].started || calls_[call].over(); });
  return calls_[call];
}

Value DoorClient::ask(std::string_view kind, const Value& body) {
  return answer(send(kind, body));
}

Value DoorClient::answer(std::uint64_t id) {
  (void)until([&] { return answers_.count(id) != 0; });
  return answers_[id];
}

void DoorClient::half_close() const {
  ::shutdown(socket_.get(), SHUT_WR);
}

void DoorClient::wrong(std::uint64_t id, const std::string& what) {
  wrongs_.push_back("call " + std::to_string(id) + ": " + what);
}

void DoorClient::on_output(std::uint64_t id, HeardCall& call, const Frame& frame) {
  const auto output = decode_call_output(frame.body);
  if (!output) return wrong(id, output.error().text());
  if (!call.started || call.over()) wrong(id, "output outside of its run");
  const bool is_out = output->stream == Stream::kStdout;
  std::uint64_t& bytes = is_out ? call.out_bytes : call.err_bytes;
  std::string& kept = is_out ? call.out : call.err;
  if (output->bytes != bytes + output->data.size()) wrong(id, "the sum of a stream is not its bytes");
  if (kept.size() < kKept) kept += output->data.substr(0, kKept - kept.size());
  const bool past_half = bytes / (kWindow / 2) != output->bytes / (kWindow / 2);
  bytes = output->bytes;
  if (grants_credit && past_half) (void)send("call_credit", encode(CallCredit{id, output->stream, bytes + kWindow}));
}

void DoorClient::on_frame(const Frame& frame) {
  if (frame.kind == "ok") {
    answers_[frame.id] = frame.body;
    return;
  }
  if (frame.kind == "error") {
    if (frame.id == 0) last_channel_error = frame;
    answers_[frame.id] = Value(Map{{"error", text_in(frame.body, {"code"})}, {"msg", text_in(frame.body, {"msg"})}});
    return;
  }
  if (frame.kind == "heartbeat") {
    answers_[frame.id] = frame.body;
    return;
  }
  if (frame.kind == "call_credit") {
    const auto credit = decode_call_credit(frame.body);
    if (credit) calls_[credit->call].stdin_upto = credit->upto;
    return;
  }
  HeardCall& call = calls_[frame.id];
  if (frame.kind == "call_output") return on_output(frame.id, call, frame);
  if (call.over()) wrong(frame.id, frame.kind + " after its verdict");
  if (frame.kind == "call_started") {
    if (call.started) wrong(frame.id, "started twice");
    auto started = decode_call_started(frame.body);
    if (!started) return wrong(frame.id, started.error().text());
    call.started = std::move(*started);
  } else if (frame.kind == "call_refused") {
    if (call.started) wrong(frame.id, "refused after its start");
    auto refused = decode_call_refused(frame.body);
    if (!refused) return wrong(frame.id, refused.error().text());
    call.refused = std::move(*refused);
  } else if (frame.kind == "call_settled") {
    if (!call.started) wrong(frame.id, "settled without a start");
    auto settled = decode_call_settled(frame.body);
    if (!settled) return wrong(frame.id, settled.error().text());
    call.settled = std::move(*settled);
  } else {
    wrong(frame.id, "a " + frame.kind + " came");
  }
}

}  // namespace loom::test
