#include "egress/answer.h"

#include <algorithm>

#include "base/hash.h"
#include "egress/content_coding.h"

namespace loom::egress {
namespace {

// Header values are bytes of latin-1: each is one character, as it is in the other direction.
std::string to_utf8(std::string_view latin1) {
  std::string text;
  for (const char c : latin1) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0U | (byte >> 6U));
      text += static_cast<char>(0x80U | (byte & 0x3fU));
    }
  }
  return text;
}

Map render_headers(const std::vector<HeaderField>& headers) {
  Map map;
  for (const HeaderField& field : headers) {
    const auto known =
        std::find_if(map.begin(), map.end(), [&field](const Member& member) { return member.first == field.name; });
    if (known == map.end()) {
      map.emplace_back(field.name, to_utf8(field.value));
      continue;
    }
    if (known->second.get_if<Array>() == nullptr) known->second = Array{known->second};
    known->second.get_if<Array>()->emplace_back(to_utf8(field.value));
  }
  return map;
}

Map render_timing(const Timing& timing) {
  return {{"resolve_ms", timing.resolve_ms},
          {"connect_ms", timing.connect_ms},
          {"tls_ms", timing.tls_ms},
          {"response_ms", timing.response_ms},
          {"total_ms", timing.total_ms}};
}

std::string scrub(const Reflection& secret, std::string text, bool& scrubbed) {
  if (!secret.found_in(text)) return text;
  scrubbed = true;
  return secret.scrub(text);
}

// Whether the body may go to the caller, but for what is replaced in text.
Outcome<void> judge_body(const Reflection& secret, const ResponseHead& head, const std::string& body) {
  if (!secret.looks()) return {};
  if (secret.found_in(body) && !is_utf8(body))
    return refuse(UpstreamFailed{"the answer is binary and holds the credential"}, Stage::kBody);
  const auto encodings = head.values("content-encoding");
  if (encodings.empty()) return {};
  const auto plain = undo_coding(encodings, body, kMaxBodyBytes);
  if (!plain)
    return refuse(UpstreamFailed{"the answer is coded so that no credential can be looked for in it"}, Stage::kBody);
  if (secret.found_in(*plain))
    return refuse(UpstreamFailed{"the answer is compressed and holds the credential"}, Stage::kBody);
  return {};
}

}  // namespace

Outcome<Answer> compose_answer(const EgressPolicy& policy, const Reflection& secret, ResponseHead head,
                               std::string body) {
  if (auto fine = judge_body(secret, head, body); !fine) return refuse(std::move(fine).error());
  Answer answer;
  answer.status = head.status;
  for (HeaderField& field : head.headers) {
    std::string name = lower_ascii(field.name);
    const auto& listed = policy.response_headers;
    if (std::find(listed.begin(), listed.end(), name) == listed.end()) continue;
    answer.headers.push_back({std::move(name), scrub(secret, std::move(field.value), answer.scrubbed)});
  }
  answer.body = scrub(secret, std::move(body), answer.scrubbed);
  return answer;
}

Url url_without(const Reflection& secret, const Url& url) {
  Url shown = url;
  if (!secret.found_in(url.target())) return shown;
  shown.path = "/[secret]";
  shown.query.clear();
  shown.has_query = false;
  return shown;
}

Map render_answer(const Answer& answer) {
  Value body = is_utf8(answer.body) ? Value(answer.body) : Value(Map{{"base64", encode_base64(answer.body)}});
  return {{"status", answer.status},
          {"headers", render_headers(answer.headers)},
          {"body", std::move(body)},
          {"bytes", static_cast<std::uint64_t>(answer.body.size())},
          {"sha256", sha256_hex(answer.body)},
          {"scrubbed", answer.scrubbed},
          {"hops", answer.hops},
          {"timing", render_timing(answer.timing)}};
}

}  // namespace loom::egress
