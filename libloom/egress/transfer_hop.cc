// One hop under the loop: libcurl's multi interface, one handle each, so that no name, connection or session of another
// request is in its reach.
#include "egress/transfer_hop.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "egress/response_taker.h"
#include "egress/transfer_curl.h"
#include "egress/transfer_trust.h"

namespace loom::egress {
namespace {

std::optional<Address> address_in(const curl_sockaddr& target, std::uint16_t& port) {
  Address address;
  if (target.family == AF_INET) {
    const auto& at = reinterpret_cast<const sockaddr_in&>(target.addr);
    std::memcpy(address.bytes.data(), &at.sin_addr, 4);
    port = ntohs(at.sin_port);
    return address;
  }
  if (target.family != AF_INET6) return std::nullopt;
  // libcurl's struct ends where a sockaddr does, but what it points to is as long as `addrlen` says.
  sockaddr_in6 at{};
  std::memcpy(static_cast<void*>(&at), static_cast<const void*>(&target.addr),
              std::min<std::size_t>(target.addrlen, sizeof at));
  address.v6 = true;
  std::memcpy(address.bytes.data(), &at.sin6_addr, 16);
  port = ntohs(at.sin6_port);
  return address;
}

std::uint64_t between_ms(curl_off_t from_us, curl_off_t to_us) {
  return from_us >= 0 && to_us > from_us ? static_cast<std::uint64_t>((to_us - from_us) / 1000) : 0;
}

class CurlHop : public Hop {
 public:
  CurlHop(Loop& loop, HopRequest request, HopDone done)
      : loop_(loop),
        request_(std::move(request)),
        done_(std::move(done)),
        response_(request_.judged->method, request_.response_bytes) {}
  CurlHop(const CurlHop&) = delete;
  CurlHop& operator=(const CurlHop&) = delete;
  ~CurlHop() override {
    *alive_ = false;
    if (added_) ::curl_multi_remove_handle(multi_, parts_.easy);
    if (parts_.easy != nullptr) ::curl_easy_cleanup(parts_.easy);
    if (multi_ != nullptr) ::curl_multi_cleanup(multi_);
  }

  void begin();
  [[nodiscard]] Stage stage() const override;

 private:
  static int socket_changed(CURL* easy, curl_socket_t fd, int what, void* self, void* at_socket);
  static int timer_changed(CURLM* multi, long ms, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* target);
  static CURLcode begin_tls(CURL* easy, void* context, void* self);
  static std::size_t take_head(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* self);

  [[nodiscard]] bool call_back();
  void watch(curl_socket_t fd, int what);
  void act(curl_socket_t fd, int ready);
  void finish(CURLcode code);
  [[nodiscard]] Outcome<HopResponse> outcome(CURLcode code);
  [[nodiscard]] curl_off_t told(CURLINFO what) const {
    curl_off_t value = 0;
    return ::curl_easy_getinfo(parts_.easy, what, &value) == CURLE_OK ? value : 0;
  }

  struct Watches {
    Loop::Watch read;
    Loop::Watch write;
  };

  Loop& loop_;
  HopRequest request_;
  HopDone done_;
  CurlParts parts_;
  CURLM* multi_ = nullptr;
  bool added_ = false;
  TlsState tls_;
  std::map<curl_socket_t, Watches> watches_;
  Loop::Timer timer_;
  ResponseTaker response_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void CurlHop::begin() {
  parts_.easy = ::curl_easy_init();
  multi_ = ::curl_multi_init();
  const bool ready = parts_.easy != nullptr && multi_ != nullptr && set_up(parts_, request_) && call_back() &&
                     ::curl_multi_add_handle(multi_, parts_.easy) == CURLM_OK;
  wipe(request_.secret_header);
  added_ = ready;
  if (ready) return;
  loop_.post([this, alive = alive_] {
    if (*alive) done_(refuse(UpstreamFailed{"no request could be made up"}, Stage::kConnect));
  });
}

bool CurlHop::call_back() {
  CURL* easy = parts_.easy;
  const auto sets = [easy](CURLoption option, auto value) {
    return ::curl_easy_setopt(easy, option, value) == CURLE_OK;
  };
  const auto multi_sets = [this](CURLMoption option, auto value) {
    return ::curl_multi_setopt(multi_, option, value) == CURLM_OK;
  };
  return sets(CURLOPT_OPENSOCKETFUNCTION, open_socket) && sets(CURLOPT_OPENSOCKETDATA, this) &&
         sets(CURLOPT_HEADERFUNCTION, take_head) && sets(CURLOPT_HEADERDATA, this) &&
         sets(CURLOPT_SSL_CTX_FUNCTION, begin_tls) && sets(CURLOPT_SSL_CTX_DATA, this) &&
         sets(CURLOPT_WRITEFUNCTION, take_body) && sets(CURLOPT_WRITEDATA, this) &&
         multi_sets(CURLMOPT_SOCKETFUNCTION, socket_changed) && multi_sets(CURLMOPT_SOCKETDATA, this) &&
         multi_sets(CURLMOPT_TIMERFUNCTION, timer_changed) && multi_sets(CURLMOPT_TIMERDATA, this);
}

int CurlHop::socket_changed(CURL* /*easy*/, curl_socket_t fd, int what, void* self, void* /*at_socket*/) {
  static_cast<CurlHop*>(self)->watch(fd, what);
  return 0;
}

void CurlHop::watch(curl_socket_t fd, int what) {
  if (what == CURL_POLL_REMOVE) {
    watches_.erase(fd);  // the descriptor stays libcurl's
    return;
  }
  const auto arm = [this, fd](Loop::Watch& at, bool wanted, Readiness readiness, int ready) {
    if (!wanted) at.reset();
    if (wanted && !at) at = loop_.watch(fd, readiness, [this, fd, ready] { act(fd, ready); });
  };
  Watches& at = watches_[fd];
  arm(at.read, what == CURL_POLL_IN || what == CURL_POLL_INOUT, Readiness::kRead, CURL_CSELECT_IN);
  arm(at.write, what == CURL_POLL_OUT || what == CURL_POLL_INOUT, Readiness::kWrite, CURL_CSELECT_OUT);
}

int CurlHop::timer_changed(CURLM* /*multi*/, long ms, void* self) {
  auto* hop = static_cast<CurlHop*>(self);
  hop->timer_.reset();
  if (ms >= 0)
    hop->timer_ = hop->loop_.timer(hop->loop_.now() + milliseconds(ms), [hop] { hop->act(CURL_SOCKET_TIMEOUT, 0); });
  return 0;
}

// Only what was judged: libcurl was told these addresses, and here it is seen to keep to them.
curl_socket_t CurlHop::open_socket(void* self, curlsocktype purpose, curl_sockaddr* target) {
  auto* hop = static_cast<CurlHop*>(self);
  std::uint16_t port = 0;
  const auto address = address_in(*target, port);
  const auto& judged = hop->request_.addresses;
  if (purpose != CURLSOCKTYPE_IPCXN || !address || port != hop->request_.judged->url.origin.port ||
      std::find(judged.begin(), judged.end(), *address) == judged.end())
    return CURL_SOCKET_BAD;
  const int fd = ::socket(target->family, target->socktype | SOCK_CLOEXEC, target->protocol);
  if (fd < 0) hop->parts_.socket_error = errno;
  return fd;
}

CURLcode CurlHop::begin_tls(CURL* /*easy*/, void* context, void* self) {
  auto* hop = static_cast<CurlHop*>(self);
  hop->tls_.roots = hop->request_.roots;
  prepare_tls(context, hop->tls_);
  return CURLE_OK;
}

// libcurl stops where a callback does not answer the count it was given.
std::size_t CurlHop::take_head(char* bytes, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlHop*>(self)->response_.take_line({bytes, size * count}) ? size * count : 0;
}
std::size_t CurlHop::take_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlHop*>(self)->response_.take_body({bytes, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
}

void CurlHop::act(curl_socket_t fd, int ready) {
  int running = 0;
  ::curl_multi_socket_action(multi_, fd, ready, &running);
  int left = 0;
  while (const CURLMsg* message = ::curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) return finish(message->data.result);
  }
}

void CurlHop::finish(CURLcode code) {
  auto result = outcome(code);
  const HopDone done = std::move(done_);
  done(std::move(result));  // may destroy this
}

Stage CurlHop::stage() const {
  if (response_.has_head()) return Stage::kBody;
  if (told(CURLINFO_APPCONNECT_TIME_T) > 0) {
    const auto size = static_cast<curl_off_t>(request_.judged->body.size());
    return told(CURLINFO_SIZE_UPLOAD_T) < size ? Stage::kSend : Stage::kResponse;
  }
  return tls_.began ? Stage::kTls : Stage::kConnect;
}

Outcome<HopResponse> CurlHop::outcome(CURLcode code) {
  if (code != CURLE_OK && !response_.failure()) return refuse(fault_of(parts_, code, stage()));
  auto whole = response_.finish(tls_.ended);
  if (!whole) return refuse(std::move(whole).error());
  char* ip = nullptr;
  ::curl_easy_getinfo(parts_.easy, CURLINFO_PRIMARY_IP, &ip);
  const auto address = parse_address(ip == nullptr ? "" : ip);
  HopResponse response;
  response.head = std::move(whole->head);
  response.body = std::move(whole->body);
  if (address) response.address = *address;
  const curl_off_t connected = told(CURLINFO_CONNECT_TIME_T);
  const curl_off_t secured = told(CURLINFO_APPCONNECT_TIME_T);
  response.connect_ms = between_ms(0, connected);
  response.tls_ms = between_ms(connected, secured);
  response.response_ms = between_ms(secured, told(CURLINFO_STARTTRANSFER_TIME_T));
  return response;
}

}  // namespace

std::unique_ptr<Hop> start_hop(Loop& loop, HopRequest request, HopDone done) {
  auto hop = std::make_unique<CurlHop>(loop, std::move(request), std::move(done));
  hop->begin();
  return hop;
}

}  // namespace loom::egress
