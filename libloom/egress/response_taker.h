// One response as it arrives: the head judged before any of the body is taken, everything counted as it comes, nothing
// kept over its cap (spec/egress.md "Transfer"). Pure: whoever reads the connection hands over what it read, and stops
// at the first false.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/failure.h"
#include "egress/method.h"
#include "egress/response_head.h"

namespace loom::egress {

class ResponseTaker {
 public:
  ResponseTaker(Method method, std::uint64_t body_cap) : method_(method), cap_(body_cap) {}

  // A line of a head, its end included: of an interim one, of the response's, or of the trailers behind the body.
  [[nodiscard]] bool take_line(std::string_view line);
  // Bytes of the body, without the chunks' framing.
  [[nodiscard]] bool take_body(std::string_view bytes);
  [[nodiscard]] bool has_head() const { return head_.has_value(); }
  // What it was stopped for.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

  struct Whole {
    ResponseHead head;
    std::string body;
  };
  // When the connection has no more. `in_good_order`: it was ended, not cut; a body without a length needs that. Its
  // length, where it has one, was held to by who read it.
  [[nodiscard]] Outcome<Whole> finish(bool in_good_order);

 private:
  [[nodiscard]] bool judge_head();
  // Never has a body, whatever its head says.
  [[nodiscard]] bool bodyless(const ResponseHead& head) const;
  [[nodiscard]] bool stop(Failure failure);

  Method method_;
  std::uint64_t cap_;
  std::string raw_;
  std::size_t head_bytes_ = 0;
  std::optional<ResponseHead> head_;
  std::string body_;
  std::optional<Failure> failure_;
};

}  // namespace loom::egress
