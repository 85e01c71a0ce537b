// Any bytes as a URL and as a reference: refused with a code, or a URL that reads back as itself and holds nothing but
// what may go on the wire.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/judge.h"
#include "egress/url.h"

namespace {

using loom::egress::Schemes;

void hold(const loom::egress::Outcome<loom::egress::Url>& url) {
  if (!url) {
    if (loom::egress::failure_message(url.error()).empty()) std::abort();
    return;
  }
  const std::string text = render_url(*url);
  const auto again = loom::egress::parse_url(text, Schemes::kHttpsAndHttp);
  if (!again || *again != *url) std::abort();
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '\\' && c != '#'; }))
    std::abort();
  if (url->origin.port == 0 || url->path.empty() || url->path.front() != '/') std::abort();
  if (render_origin(url->origin).find('@') != std::string::npos) std::abort();
  if (render_without_values(*url).size() > 512) std::abort();
  (void)loom::egress::is_ambiguous_path(url->path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  hold(loom::egress::parse_url(bytes, Schemes::kHttpsAndHttp));
  static const auto base = loom::egress::parse_url("https://a.test:8443/d/e?q", Schemes::kHttpsOnly);
  hold(loom::egress::resolve_reference(*base, bytes, Schemes::kHttpsAndHttp));
  const auto target = loom::egress::parse_host_port(bytes);
  if (target && !loom::egress::parse_host_port(loom::egress::render_host_port(target->host, target->port)))
    std::abort();
  const auto range = loom::egress::parse_range(bytes);
  if (range && loom::egress::parse_range(render_range(*range)) != *range) std::abort();
  return 0;
}
