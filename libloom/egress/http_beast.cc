#include "egress/http_beast.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "egress/http_head.h"

namespace loom::egress {

namespace http = boost::beast::http;

namespace {

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// Beast keeps headers of one name together, in the order they came; the order of the others is not kept apart from
// that.
void by_name(Headers& headers) {
  std::stable_sort(headers.begin(), headers.end(), [](const auto& a, const auto& b) {
    return boost::beast::iless()(boost::beast::string_view(a.first), boost::beast::string_view(b.first));
  });
}

bool same_headers(const http::fields& theirs, Headers ours) {
  Headers read;
  for (const auto& field : theirs) read.emplace_back(view(field.name_string()), view(field.value()));
  by_name(read);
  by_name(ours);
  return read == ours;
}

}  // namespace

Status beast_agrees(std::string_view raw, const HttpHead& head) {
  http::request_parser<http::empty_body> parser;
  parser.eager(false);
  parser.header_limit(static_cast<std::uint32_t>(kMaxHeadBytes + 1));
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  boost::system::error_code failed;
  const std::size_t taken = parser.put(boost::asio::buffer(raw.data(), raw.size()), failed);
  if (failed || taken != raw.size() || !parser.is_header_done())
    return fail("bad_request", "", "a head that a second reading refuses: " + failed.message());
  const auto& message = parser.get();
  const bool same = view(message.method_string()) == head.method && view(message.target()) == head.target &&
                    message.version() == 10 + head.minor && same_headers(message.base(), head.headers) &&
                    parser.chunked() == (head.body == BodyKind::kChunked);
  if (!same) return fail("bad_request", "", "a head that two readings take differently");
  return {};
}

}  // namespace loom::egress
