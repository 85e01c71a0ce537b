// Plain HTTP passed on for a client (spec/egress.md "The proxy": absolute-form): the head that the upstream is sent,
// and how far the body goes. One request a connection: what a client sends behind its body goes nowhere. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/http_head.h"
#include "egress/url.h"

namespace loom::egress {

// In origin-form, with the URL's Host, without what is between the client and the proxy alone.
[[nodiscard]] std::string render_forward_head(const HttpHead& head, const Url& url);

// Counts a body through, as its head framed it. Chunks are taken without extensions and trailers: what two readers
// could take differently is refused.
class BodyGate {
 public:
  BodyGate() = default;  // no body
  explicit BodyGate(const HttpHead& head);
  // How many of `bytes` are body; all of them until done(). Error: bad_request, which stands.
  [[nodiscard]] Result<std::size_t> admit(std::string_view bytes);
  [[nodiscard]] bool done() const { return part_ == Part::kDone; }

 private:
  enum class Part { kLength, kSize, kSizeEnd, kData, kDataEnd, kDataEndLf, kLastEnd, kLastEndLf, kBroken, kDone };
  [[nodiscard]] Part after(char c);

  Part part_ = Part::kDone;
  std::uint64_t left_ = 0;
  unsigned digits_ = 0;
};

}  // namespace loom::egress
