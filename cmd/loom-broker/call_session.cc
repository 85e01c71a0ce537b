#include "call_session.h"

#include <utility>

#include "policy/decode.h"

namespace loom::broker {

CallSession::CallSession(service::Front& front, Send send) : front_(front), send_(std::move(send)) {
  front_.attach(*this);
}

void CallSession::begin(CallSpec spec) {
  if (ended_) return;
  if (cancelled_) return end(CallRefused{"cancelled", Value(Map{}), {}});
  begun_ = true;
  send_(kCall, std::move(spec));
}

void CallSession::end(service::CallEnd end) {
  if (std::exchange(ended_, true)) return;
  front_.ended(std::move(end));
}

void CallSession::lost(const Error& error) {
  if (!begun_) {
    Map detail{{"detail", Value(error.text())}};
    if (!error.hint.empty()) detail.emplace_back("hint", Value(error.hint));
    return end(CallRefused{error.code, Value(std::move(detail)), {}});
  }
  CallSettled settled;
  settled.failed = CallFailure{"channel_closed", Value(Map{{"why", Value(error.text())}})};
  end(std::move(settled));
}

service::CallFacts facts_of(const CallStarted& started) {
  service::CallFacts facts;
  if (const auto policy = decode_policy(started.policy)) facts.policy_digest = policy_digest(*policy);
  facts.narrowings = started.narrowings;
  facts.execution = started.execution;
  return facts;
}

void CallSession::on_started(const CallStarted& started) {
  front_.started(facts_of(started));
}

void CallSession::handle(std::uint64_t id, const ControlReply& reply) {
  if (ended_) return;
  if (const auto* credit = std::get_if<CallCredit>(&reply)) {
    if (credit->call == kCall && credit->stream == Stream::kStdin) front_.stdin_allowed(credit->upto);
    return;
  }
  if (id != kCall) return;  // an answer to a cancel, or an error about stdin that came after the command's end
  if (const auto* started = std::get_if<CallStarted>(&reply)) return on_started(*started);
  if (const auto* output = std::get_if<CallOutput>(&reply)) {
    return front_.output(output->stream, output->data, output->truncated);
  }
  if (const auto* refused = std::get_if<CallRefused>(&reply)) return end(*refused);
  if (const auto* settled = std::get_if<CallSettled>(&reply)) return end(*settled);
  if (const auto* error = std::get_if<ErrorMessage>(&reply)) {
    end(CallRefused{error->code, Value(Map{{"detail", Value(error->msg)}}), {}});
  }
}

void CallSession::write_stdin(std::string data, bool eof) {
  if (!ended_) send_about_call(CallStdin{kCall, std::move(data), eof});
}

void CallSession::allow_output(Stream stream, std::uint64_t upto) {
  if (!ended_) send_about_call(CallCredit{kCall, stream, upto});
}

void CallSession::cancel() {
  if (ended_ || std::exchange(cancelled_, true)) return;
  if (begun_) send_about_call(CallCancel{kCall, std::nullopt});
}

void CallSession::resize(TtySize size) {
  if (!ended_ && begun_) send_about_call(CallWinsize{kCall, size.rows, size.cols});
}

}  // namespace loom::broker
