#include "egress/request_document.h"

#include <algorithm>

#include "base/json.h"
#include "egress/base64.h"
#include "egress/document_fields.h"

namespace loom::egress {

namespace {

constexpr std::size_t kShownName = 64;

tl::unexpected<Failure> refuse_header(std::string_view name, HeaderFault why) {
  std::string shown(name.substr(0, kShownName));
  if (!is_utf8(shown) || why == HeaderFault::kNotAToken) {
    for (char& c : shown) c = c > 0x20 && c < 0x7f ? c : '?';
  }
  return refuse(HeaderRefused{std::move(shown), why}, Stage::kRequest);
}

tl::unexpected<Failure> malformed(Error error) {
  return refuse(BadRequest{std::move(error.where), std::move(error.what), false}, Stage::kRequest);
}

// A request has no array and few members. One of millions is refused before a value is made of each: the bytes are
// counted, not trusted.
bool has_few_members(std::string_view json) {
  constexpr std::size_t kMaxCommas = 4 * kMaxHeaders;
  std::size_t commas = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || (c == ',' && ++commas > kMaxCommas)) return false;
  }
  return true;
}

Outcome<std::vector<HeaderField>> decode_headers(const Map& map) {
  std::vector<HeaderField> headers;
  std::size_t bytes = 0;
  for (const Member& member : map) {
    if (!is_token(member.first)) return refuse_header(member.first, HeaderFault::kNotAToken);
    const auto* text = member.second.get_if<std::string>();
    if (text == nullptr)
      return malformed(fields::wrong_type("/headers/" + member.first, "text", member.second).value());
    auto value = to_latin1(*text);
    if (!value) return refuse_header(member.first, HeaderFault::kNotLatin1);
    if (const auto fault = judge_header_value(*value)) return refuse_header(member.first, *fault);
    bytes += member.first.size() + value->size();
    if (headers.size() == kMaxHeaders || bytes > kMaxHeaderBytes)
      return refuse_header(member.first, HeaderFault::kTooMany);
    const std::string lower = lower_ascii(member.first);
    const bool twice = std::any_of(headers.begin(), headers.end(),
                                   [&](const HeaderField& other) { return lower_ascii(other.name) == lower; });
    if (twice) return refuse_header(member.first, HeaderFault::kTwice);
    headers.push_back({member.first, std::move(*value)});
  }
  return headers;
}

Result<std::string> decode_body(const Value& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (value.get_if<Map>() == nullptr) return fields::wrong_type("/body", "text or {\"base64\": text}", value);
  LOOM_CHECK(fields::exact_map(value, "/body", {"base64"}));
  LOOM_TRY(const std::string text, fields::text(*value.find("base64"), "/body/base64"));
  auto bytes = decode_base64(text);
  if (!bytes) return fail("bad_base64", "/body/base64", "no base64: want the standard alphabet, padded");
  return std::move(*bytes);
}

// Everything but headers and URL, which have failures of their own.
Result<Request> decode_shape(const Value& value) {
  LOOM_CHECK(fields::map_of(value, "", {"url", "method"}, {"headers", "body", "credential"}));
  LOOM_CHECK(fields::text(*value.find("url"), "/url"));
  Request request;
  LOOM_TRY(request.method, fields::text(*value.find("method"), "/method"));
  const Value* headers = value.find("headers");
  if (headers != nullptr && headers->get_if<Map>() == nullptr) return fields::wrong_type("/headers", "map", *headers);
  if (const Value* body = value.find("body")) {
    LOOM_TRY(request.body, decode_body(*body));
    request.has_body = true;
    if (request.method == "HEAD") return fail("bad_body", "/body", "a HEAD request has no body");
  }
  if (const Value* credential = value.find("credential")) {
    LOOM_TRY(request.credential, fields::name(*credential, "/credential"));
  }
  return request;
}

}  // namespace

Outcome<Draft> decode_draft(std::string_view json, std::size_t max_bytes) {
  if (json.size() <= max_bytes && !has_few_members(json))
    return refuse(BadRequest{"", "an array, or more members than a request has", false}, Stage::kRequest);
  const auto value = parse_json(json, JsonLimits{max_bytes, 8});
  if (!value) {
    const bool large = value.error().code == "document_too_large";
    return refuse(BadRequest{value.error().where, value.error().what, large}, Stage::kRequest);
  }
  auto request = decode_shape(*value);
  if (!request) return malformed(std::move(request).error());
  if (const Value* headers = value->find("headers")) {
    auto decoded = decode_headers(*headers->get_if<Map>());
    if (!decoded) return refuse(std::move(decoded).error());
    request->headers = std::move(*decoded);
  }
  return Draft{std::move(*request), *value->find("url")->get_if<std::string>()};
}

Outcome<Request> with_url(Draft draft) {
  auto url = parse_url(draft.url, Schemes::kHttpsOnly);
  if (!url) return refuse(std::move(url).error());
  draft.request.url = std::move(*url);
  return std::move(draft.request);
}

Outcome<Request> decode_request(std::string_view json, std::size_t max_bytes) {
  auto draft = decode_draft(json, max_bytes);
  if (!draft) return refuse(std::move(draft).error());
  return with_url(std::move(*draft));
}

}  // namespace loom::egress
