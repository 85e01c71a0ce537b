#include "helper/serve_core.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/version.h"
#include "policy/decode.h"
#include "wire/cancel.h"
#include "wire/empty.h"
#include "wire/error.h"
#include "wire/exec_credit.h"
#include "wire/exec_hello.h"
#include "wire/exec_stdin.h"
#include "wire/exec_winsize.h"
#include "wire/proto.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kWindow = kInitialCredit;
// stdin credit is renewed in steps, so that a command that reads byte by byte does not cost a frame each.
constexpr std::uint64_t kCreditStep = kWindow / 8;

std::size_t index_of(Stream stream) {
  return stream == Stream::kStderr ? 1 : 0;
}

std::uint64_t smaller_limit(std::uint64_t policy, std::uint64_t asked) {
  if (asked == 0) return policy;
  return policy == 0 ? asked : std::min(policy, asked);
}

std::string policy_words(const Error& error) {
  return error.code + ": " + error.text();
}

// The wire's decoder has checked names and ranges; a limit that is not there is not asked for.
Limits read_limits(const Value& asked) {
  const auto count = [&](std::string_view key) {
    const Value* found = asked.find(key);
    const auto* number = found != nullptr ? found->get_if<std::uint64_t>() : nullptr;
    return number != nullptr ? *number : 0;
  };
  Limits out;
  out.cpu_s = count("cpu_s");
  out.wall_s = count("wall_s");
  out.mem_bytes = count("mem_bytes");
  out.pids = count("pids");
  out.fsize_bytes = count("fsize_bytes");
  out.output_bytes = count("output_bytes");
  return out;
}

// A peer's own words are given back, but not without a bound.
std::string clipped(const std::string& words) {
  constexpr std::size_t kMost = 64;
  if (words.size() <= kMost) return words;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0U) == 0x80U) --end;
  return words.substr(0, end) + "...";
}

// Another protocol's hello may have other keys: its number is looked at before the rest.
std::optional<std::uint64_t> other_proto(const Value& hello) {
  const Value* proto = hello.find("proto");
  const auto* number = proto != nullptr ? proto->get_if<std::uint64_t>() : nullptr;
  if (number == nullptr || *number == kExecProto) return std::nullopt;
  return *number;
}

}  // namespace

Limits tighten(const Limits& policy, const Limits& asked) {
  Limits out;
  out.cpu_s = smaller_limit(policy.cpu_s, asked.cpu_s);
  out.wall_s = smaller_limit(policy.wall_s, asked.wall_s);
  out.mem_bytes = smaller_limit(policy.mem_bytes, asked.mem_bytes);
  out.pids = smaller_limit(policy.pids, asked.pids);
  out.fsize_bytes = smaller_limit(policy.fsize_bytes, asked.fsize_bytes);
  out.output_bytes = smaller_limit(policy.output_bytes, asked.output_bytes);
  return out;
}

ServeCore::ServeCore(ServeSettings settings) : settings_(std::move(settings)) {}

ServeEffects ServeCore::step(ServeEvent event, TimePoint now) {
  effects_.clear();
  if (!finished_) std::visit([&](auto&& e) { on(std::forward<decltype(e)>(e), now); }, std::move(event));
  return std::exchange(effects_, {});
}

std::optional<TimePoint> ServeCore::next_deadline() const {
  if (!channel_open_) return std::nullopt;
  if (hello_deadline_ && frame_deadline_) return std::min(*hello_deadline_, *frame_deadline_);
  return hello_deadline_ ? hello_deadline_ : frame_deadline_;
}

void ServeCore::on(event::Opened /*e*/, TimePoint now) {
  if (hello_deadline_ || phase_ != Phase::kAwaitingHello) return;
  hello_deadline_ = now + kHelloTimeout;
  ExecHello hello;
  hello.proto = kExecProto;
  hello.peer = settings_.peer;
  hello.features = settings_.features;
  hello.capacity = settings_.capacity;
  send(0, Kind::kHello, encode(hello));
}

void ServeCore::on(event::FrameIn&& e, TimePoint /*now*/) {
  frame_deadline_.reset();
  if (!channel_open_) return;
  const auto kind = parse_kind(e.frame.kind);
  if (!kind) return send_error(e.frame.id, "unknown_kind", "unknown kind \"" + clipped(e.frame.kind) + "\"");
  if (phase_ == Phase::kClosing && by_signal_ && *kind == Kind::kExecStart) {
    return send_error(e.frame.id, "spawn_failed", "this helper is shutting down");
  }
  if (permission(Channel::kExec, *kind, Receiver::kHelper, phase_) == Permission::kForbidden) {
    const std::string why = phase_ == Phase::kAwaitingHello ? " before hello" : " is not for a helper now";
    return fault(0, "protocol_violation", std::string(to_text(*kind)) + why);
  }
  dispatch(*kind, std::move(e.frame));
}

void ServeCore::on(event::Malformed&& e, TimePoint /*now*/) {
  if (channel_open_) fault(0, "malformed_frame", e.error.text());
}

void ServeCore::on(event::PartialFrame /*e*/, TimePoint now) {
  if (channel_open_ && !frame_deadline_) frame_deadline_ = now + kFrameTimeout;
}

void ServeCore::on(event::InputEnded e, TimePoint /*now*/) {
  if (!channel_open_) return;
  frame_deadline_.reset();
  if (e.inside_frame) return fault(0, "malformed_frame", "end of file inside a frame");
  begin_closing(0);
}

void ServeCore::on(event::OutputClosed /*e*/, TimePoint /*now*/) {
  if (!channel_open_) return;
  close_channel();
  begin_closing(status_);
}

void ServeCore::on(event::Terminate /*e*/, TimePoint /*now*/) {
  if (!channel_open_ || phase_ == Phase::kClosing) return;
  by_signal_ = true;
  begin_closing(0);
}

void ServeCore::on(event::Output e, TimePoint /*now*/) {
  const auto found = running_.find(e.id);
  if (found == running_.end()) return;
  Window& window = found->second.out[index_of(e.stream)];
  window.sent += e.size;
  window.truncated = window.truncated || e.truncated;
  if (channel_open_) {
    effects_.emplace_back(effect::SendOutput{e.id, e.stream, window.sent, e.truncated});
  }
}

void ServeCore::on(event::Written e, TimePoint /*now*/) {
  const auto found = running_.find(e.id);
  if (found == running_.end()) return;
  found->second.out[index_of(e.stream)].written += e.size;
  allow(e.id, found->second, e.stream);
}

void ServeCore::on(event::StdinConsumed e, TimePoint /*now*/) {
  const auto found = running_.find(e.id);
  if (found == running_.end() || found->second.stdin_ended) return;
  const std::uint64_t upto = e.consumed + kWindow;
  if (upto < found->second.stdin_granted + kCreditStep) return;
  found->second.stdin_granted = upto;
  send(next_id_++, Kind::kExecCredit, encode(ExecCredit{e.id, Stream::kStdin, upto}));
}

void ServeCore::on(event::Exited&& e, TimePoint /*now*/) {
  const auto found = running_.find(e.id);
  if (found == running_.end()) return;
  // What was sent is what is reported: the sums are exact whatever the engine counted.
  const auto& out = found->second.out;
  e.exit.stdout_bytes = out[0].sent;
  e.exit.stderr_bytes = out[1].sent;
  e.exit.stdout_truncated = out[0].truncated;
  e.exit.stderr_truncated = out[1].truncated;
  send(e.id, Kind::kExecExit, encode(e.exit));
  ended(e.id);
}

void ServeCore::on(event::Failed&& e, TimePoint /*now*/) {
  if (running_.count(e.id) == 0) return;
  send_error(e.id, e.error.code, e.error.text());
  ended(e.id);
}

void ServeCore::on(event::Tick /*e*/, TimePoint now) {
  if (!channel_open_) return;
  if (hello_deadline_ && now >= *hello_deadline_) return fault(0, "protocol_violation", "no hello within 5 s");
  if (frame_deadline_ && now >= *frame_deadline_) {
    return fault(0, "malformed_frame", "a frame was not complete 30 s after its first byte");
  }
}

void ServeCore::dispatch(Kind kind, Frame&& frame) {
  switch (kind) {
    case Kind::kHello:
      return hello(frame);
    case Kind::kExecStart:
      return exec_start(frame);
    case Kind::kExecStdin:
      return exec_stdin(std::move(frame));
    case Kind::kExecWinsize:
      return exec_winsize(frame);
    case Kind::kExecCredit:
      return exec_credit(frame);
    case Kind::kCancel:
      return cancel(frame);
    case Kind::kShutdown:
      return shutdown(frame);
    case Kind::kHeartbeat:
      return heartbeat(frame);
    case Kind::kError:
      return peer_error(frame);
    // Frames that never go to a helper; the permission table has refused them already.
    case Kind::kExecOut:
    case Kind::kExecExit:
    case Kind::kClearCall:
    case Kind::kCallStarted:
    case Kind::kCallRefused:
    case Kind::kCallOutput:
    case Kind::kCallSettled:
    case Kind::kCallStdin:
    case Kind::kCallWinsize:
    case Kind::kCallCredit:
    case Kind::kCallCancel:
    case Kind::kCallHook:
    case Kind::kAbortOp:
    case Kind::kAbortStep:
    case Kind::kSnapshot:
    case Kind::kCensus:
    case Kind::kStop:
    case Kind::kOk:
    case Kind::kCapCall:
    case Kind::kCapResult:
    case Kind::kHookCall:
    case Kind::kHookResult:
      return fault(0, "protocol_violation", std::string(to_text(kind)) + " is not for a helper");
  }
}

void ServeCore::hello(const Frame& frame) {
  if (const auto other = other_proto(frame.body)) {
    const Value* peer = frame.body.find("peer");
    const auto* name = peer != nullptr ? peer->get_if<std::string>() : nullptr;
    const Error error = proto_mismatch({settings_.peer, kExecProto}, {name != nullptr ? *name : "the peer", *other});
    return fault(frame.id, error.code, error.text());
  }
  const auto theirs = decode_exec_hello(frame.body);
  if (!theirs) return fault(frame.id, "malformed_frame", theirs.error().text());
  hello_deadline_.reset();
  phase_ = Phase::kOpen;
}

void ServeCore::exec_start(const Frame& frame) {
  if (frame.id <= last_start_) {
    return fault(0, "malformed_frame", "exec_start: id " + std::to_string(frame.id) + " does not increase");
  }
  auto start = decode_exec_start(frame.body);
  if (!start) return fault(frame.id, "malformed_frame", start.error().text());
  last_start_ = frame.id;
  if (running_.size() >= settings_.capacity) {
    return send_error(frame.id, "busy", "all " + std::to_string(settings_.capacity) + " executions are in use");
  }
  auto request = make_request(std::move(*start));
  if (!request) return send_error(frame.id, request.error().code, request.error().text());
  Running& running = running_[frame.id];
  running.tty = request->tty.has_value();
  effects_.emplace_back(effect::Start{frame.id, std::move(*request)});
  allow(frame.id, running, Stream::kStdout);
  allow(frame.id, running, Stream::kStderr);
}

Result<ExecRequest> ServeCore::make_request(ExecStart&& start) const {
  ExecRequest request;
  if (start.policy) {
    auto own = decode_policy(*start.policy);
    if (!own) return fail("bad_policy", "policy", policy_words(own.error()));
    request.policy = std::move(*own);
  } else if (settings_.base) {
    request.policy = *settings_.base;
  } else {
    return fail("bad_policy", "policy", "missing_key: this helper was started without a base policy");
  }
  if (start.limits) request.policy.limits = tighten(request.policy.limits, read_limits(*start.limits));
  if (start.demand && !parse_demand(*start.demand, request.demand)) {
    return fail("bad_policy", "demand", "unknown demand \"" + *start.demand + "\"");
  }
  if (start.why) {
    const std::optional<Why> why = parse_why(*start.why);
    if (!why) return fail("bad_policy", "why", "want calls or paths, got \"" + *start.why + "\"");
    request.why = *why;
  }
  request.argv = std::move(start.argv);
  // What is loom's to set a broker sets, and no caller of its.
  for (const char* name : {"LOOM_EGRESS_SOCKET", "LOOM_EGRESS_TOKEN"}) {
    if (auto own = start.env.extract(name)) request.own_env[name] = std::move(own.mapped());
  }
  request.env = std::move(start.env);
  request.cwd = std::move(start.cwd);
  request.tty = start.tty;
  return request;
}

void ServeCore::exec_stdin(Frame&& frame) {
  auto message = decode_exec_stdin(std::move(frame.body));
  if (!message) return fault(frame.id, "malformed_frame", message.error().text());
  const auto found = running_.find(message->target);
  if (found == running_.end()) {
    return send_error(frame.id, "no_exec", "no execution " + std::to_string(message->target));
  }
  Running& running = found->second;
  if (message->data.size() > running.stdin_granted - running.stdin_received) {
    return fault(0, "protocol_violation", "exec_stdin past the credit of execution " + std::to_string(message->target));
  }
  if (running.stdin_ended) {
    if (message->data.empty()) return;
    return fault(0, "protocol_violation", "exec_stdin after the end of that stream");
  }
  running.stdin_received += message->data.size();
  running.stdin_ended = message->eof;
  effects_.emplace_back(effect::WriteStdin{message->target, std::move(message->data), message->eof});
}

void ServeCore::exec_winsize(const Frame& frame) {
  const auto message = decode_exec_winsize(frame.body);
  if (!message) return fault(frame.id, "malformed_frame", message.error().text());
  const auto found = running_.find(message->target);
  if (found == running_.end() || !found->second.tty) return;
  effects_.emplace_back(effect::Resize{message->target, TtySize{message->rows, message->cols}});
}

void ServeCore::exec_credit(const Frame& frame) {
  const auto message = decode_exec_credit(frame.body);
  if (!message) return fault(frame.id, "malformed_frame", message.error().text());
  if (message->stream == Stream::kStdin) {
    return fault(0, "protocol_violation", "exec_credit for stdin is the helper's to give");
  }
  const auto found = running_.find(message->target);
  if (found == running_.end()) return;
  Window& window = found->second.out[index_of(message->stream)];
  window.peer_upto = std::max(window.peer_upto, message->upto);
  allow(message->target, found->second, message->stream);
}

void ServeCore::cancel(const Frame& frame) {
  const auto message = decode_cancel(frame.body);
  if (!message) return fault(frame.id, "malformed_frame", message.error().text());
  if (running_.count(message->target) != 0) effects_.emplace_back(effect::CancelExecution{message->target});
}

void ServeCore::shutdown(const Frame& frame) {
  const auto empty = decode_empty(Kind::kShutdown, frame.body);
  if (!empty) return fault(frame.id, "malformed_frame", empty.error().text());
  begin_closing(status_);
}

void ServeCore::heartbeat(const Frame& frame) {
  const auto empty = decode_empty(Kind::kHeartbeat, frame.body);
  if (!empty) return fault(frame.id, "malformed_frame", empty.error().text());
  send(frame.id, Kind::kHeartbeat, encode_empty());
}

void ServeCore::peer_error(const Frame& frame) {
  // The peer complains about a frame of ours; it closes the channel itself when it has had enough.
  const auto message = decode_error(frame.body);
  if (!message) fault(frame.id, "malformed_frame", message.error().text());
}

void ServeCore::allow(ExecutionNumber id, Running& running, Stream stream) {
  Window& window = running.out[index_of(stream)];
  const std::uint64_t upto = std::min(window.peer_upto, window.written + kWindow);
  if (upto <= window.allowed) return;
  window.allowed = upto;
  effects_.emplace_back(effect::AllowOutput{id, stream, upto});
}

void ServeCore::ended(ExecutionNumber id) {
  running_.erase(id);
  finish_when_joined();
}

void ServeCore::begin_closing(int status) {
  status_ = status;
  hello_deadline_.reset();
  if (phase_ != Phase::kClosing) {
    phase_ = Phase::kClosing;
    for (const auto& entry : running_) effects_.emplace_back(effect::CancelExecution{entry.first});
  }
  finish_when_joined();
}

void ServeCore::close_channel() {
  channel_open_ = false;
  effects_.emplace_back(effect::CloseChannel{});
}

void ServeCore::finish_when_joined() {
  if (phase_ != Phase::kClosing || !running_.empty() || finished_) return;
  finished_ = true;
  effects_.emplace_back(effect::Finish{status_});
}

void ServeCore::fault(std::uint64_t id, std::string_view code, std::string message) {
  send_error(id, code, std::move(message));
  close_channel();
  begin_closing(1);
}

void ServeCore::send(std::uint64_t id, Kind kind, Value body) {
  if (channel_open_) effects_.emplace_back(effect::Send{id, kind, std::move(body)});
}

void ServeCore::send_error(std::uint64_t id, std::string_view code, std::string message) {
  send(id, Kind::kError, encode(ErrorMessage{std::string(code), std::move(message)}));
}

}  // namespace loom::helper
