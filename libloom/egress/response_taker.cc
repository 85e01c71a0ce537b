#include "egress/response_taker.h"

#include <utility>

namespace loom::egress {

bool ResponseTaker::stop(Failure failure) {
  failure_ = std::move(failure);
  return false;
}

bool ResponseTaker::bodyless(const ResponseHead& head) const {
  return method_ == Method::kHead || head.status == 204 || head.status == 304;
}

bool ResponseTaker::take_line(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kMaxResponseHead) return stop({ResponseTooLarge{kMaxResponseHead}, Stage::kResponse});
  if (head_) return true;  // a trailer: counted, and of no meaning
  raw_ += line;
  return (line != "\r\n" && line != "\n") || judge_head();
}

bool ResponseTaker::judge_head() {
  auto head = parse_response_head(raw_);
  raw_.clear();
  if (!head) return stop(std::move(head).error());
  if (head->interim()) return true;
  if (!bodyless(*head) && head->length && *head->length > cap_) return stop({ResponseTooLarge{cap_}, Stage::kResponse});
  head_ = std::move(*head);
  return true;
}

bool ResponseTaker::take_body(std::string_view bytes) {
  if (!head_) return stop({UpstreamFailed{"a body without a head"}, Stage::kBody});
  if (bytes.size() > cap_ - body_.size()) return stop({ResponseTooLarge{cap_}, Stage::kBody});
  body_ += bytes;
  return true;
}

Outcome<ResponseTaker::Whole> ResponseTaker::finish(bool in_good_order) {
  if (failure_) return refuse(*failure_);
  if (!head_) return refuse(UpstreamFailed{"closed without an answer"}, Stage::kResponse);
  if (!bodyless(*head_) && !head_->length && !head_->chunked && !in_good_order)
    return refuse(UpstreamFailed{"the connection was cut where the body should end"}, Stage::kBody);
  return Whole{std::move(*head_), std::move(body_)};
}

}  // namespace loom::egress
