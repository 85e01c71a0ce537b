// The options of libcurl, and why each is as it is (spec/egress.md "Transfer").
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "base/version.h"
#include "egress/transfer_curl.h"

namespace loom::egress {
namespace {

// libcurl copies headers into buffers of its own: whatever it frees is wiped first.
void wiping_free(void* memory) {
  if (memory == nullptr) return;
  ::explicit_bzero(memory, ::malloc_usable_size(memory));
  std::free(memory);
}
void* wiping_realloc(void* memory, std::size_t size) {
  if (memory == nullptr) return std::malloc(size);
  void* moved = std::malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, std::min(size, ::malloc_usable_size(memory)));
  wiping_free(memory);
  return moved;
}
char* copy_text(const char* text) {
  return ::strdup(text);
}

template <class T>
bool set(CURL* easy, CURLoption option, T value) {
  return ::curl_easy_setopt(easy, option, value) == CURLE_OK;
}

bool on(CURL* easy, CURLoption option) {
  return set(easy, option, 1L);
}
bool off(CURL* easy, CURLoption option) {
  return set(easy, option, 0L);
}

bool set_protocol(CURL* easy) {
  return set(easy, CURLOPT_PROTOCOLS_STR, "https") && set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https") &&
         set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
         off(easy, CURLOPT_HTTP09_ALLOWED) && off(easy, CURLOPT_FOLLOWLOCATION) && on(easy, CURLOPT_PATH_AS_IS) &&
         on(easy, CURLOPT_DISALLOW_USERNAME_IN_URL) &&
         off(easy, CURLOPT_HTTP_CONTENT_DECODING);  // the bytes come back as they were sent
}

// Nothing of this host's or user's habits: no proxy, no netrc, no cookies (none are asked for), no HSTS, no alt-svc.
bool set_no_habits(CURL* easy) {
  return set(easy, CURLOPT_PROXY, "") && set(easy, CURLOPT_NOPROXY, "") &&
         set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED)) && off(easy, CURLOPT_HSTS_CTRL) &&
         on(easy, CURLOPT_NOSIGNAL) && on(easy, CURLOPT_NOPROGRESS);
}

// One connection a request, never an old one, and no session resumed.
bool set_fresh(CURL* easy) {
  return on(easy, CURLOPT_FRESH_CONNECT) && on(easy, CURLOPT_FORBID_REUSE) && off(easy, CURLOPT_SSL_SESSIONID_CACHE);
}

// The roots are put in place when there is a context for them (transfer_trust.h): libcurl's own files are not read.
bool set_tls(CURL* easy) {
  return on(easy, CURLOPT_SSL_VERIFYPEER) && set(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)) &&
         set(easy, CURLOPT_CAINFO, static_cast<char*>(nullptr));
}

bool set_method(CURL* easy, const Judged& judged) {
  const std::string method(render_method(judged.method));
  const bool with_body = judged.has_body || judged.method == Method::kPost || judged.method == Method::kPut ||
                         judged.method == Method::kPatch;  // these say Content-Length: 0
  if (judged.method == Method::kHead) return on(easy, CURLOPT_NOBODY);
  if (!with_body) return on(easy, CURLOPT_HTTPGET) && set(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  return set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(judged.body.size())) &&
         set(easy, CURLOPT_POSTFIELDS, judged.body.data()) && set(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
}

// "name;" is how libcurl is told of an empty value; one of blanks alone it would leave out.
bool add_field(CurlList& headers, const std::string& name, const std::string& value) {
  const bool blank = value.find_first_not_of(" \t") == std::string::npos;
  return headers.add(blank ? name + ";" : name + ": " + value);
}

// The caller's and the credential's, and of those that libcurl would add by itself the ones that must be: Host and
// Content-Length, which nobody else may set.
bool set_headers(CurlParts& parts, const HopRequest& request) {
  std::vector<std::string> given = {lower_ascii(request.secret_header.substr(0, request.secret_header.find(':')))};
  for (const HeaderField& field : request.judged->headers) {
    given.push_back(lower_ascii(field.name));
    if (!add_field(parts.headers, field.name, field.value)) return false;
  }
  const auto absent = [&given](const char* name) { return std::find(given.begin(), given.end(), name) == given.end(); };
  for (const char* name : {"accept", "content-type", "expect"}) {
    if (absent(name) && !parts.headers.add(std::string(name) + ":")) return false;
  }
  if (absent("user-agent") && !parts.headers.add("User-Agent: loom-egress/" + std::string(kVersion))) return false;
  if (!request.secret_header.empty() && !parts.headers.add(request.secret_header)) return false;
  return set(parts.easy, CURLOPT_HTTPHEADER, parts.headers.get());
}

// The judged addresses stand for the name: nobody is asked a second time.
bool set_target(CurlParts& parts, const HopRequest& request) {
  const Url& url = request.judged->url;
  std::string text = render_url(url);
  if (url.origin.host.kind == HostKind::kName) {
    std::string entry = url.origin.host.text + ":" + std::to_string(url.origin.port) + ":";
    bool first = true;
    for (const Address& address : request.addresses) {
      entry += (first ? "" : ",") + (address.v6 ? "[" + render_address(address) + "]" : render_address(address));
      first = false;
    }
    if (!parts.resolve.add(entry) || !set(parts.easy, CURLOPT_RESOLVE, parts.resolve.get())) return false;
  }
  return set(parts.easy, CURLOPT_URL, text.c_str()) && set(parts.easy, CURLOPT_REQUEST_TARGET, url.target().c_str());
}

}  // namespace

Status start_transfers() {
  static const CURLcode kStarted =
      ::curl_global_init_mem(CURL_GLOBAL_DEFAULT, std::malloc, wiping_free, wiping_realloc, copy_text, std::calloc);
  if (kStarted != CURLE_OK) return fail("transfer_failed", "", "libcurl does not start");
  return {};
}

CurlList::~CurlList() {
  for (curl_slist* node = list_; node != nullptr; node = node->next)
    ::explicit_bzero(node->data, std::strlen(node->data));
  ::curl_slist_free_all(list_);
}

bool CurlList::add(const std::string& line) {
  curl_slist* longer = ::curl_slist_append(list_, line.c_str());
  if (longer != nullptr) list_ = longer;
  return longer != nullptr;
}

bool set_up(CurlParts& parts, const HopRequest& request) {
  return set(parts.easy, CURLOPT_ERRORBUFFER, parts.error.data()) && set_protocol(parts.easy) &&
         set_no_habits(parts.easy) && set_fresh(parts.easy) && set_tls(parts.easy) &&
         set_method(parts.easy, *request.judged) && set_headers(parts, request) && set_target(parts, request);
}

}  // namespace loom::egress
