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
      : loop_(loop), request_(std::move(request)), done_(std::move(done)) {}
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
  [[nodiscard]] bool judge_head();
  [[nodiscard]] bool bodyless(const ResponseHead& head) const {
    return request_.judged->method == Method::kHead || head.status == 204 || head.status == 304;
  }
  [[nodiscard]] bool give_up(Failure failure) {
    failure_ = std::move(failure);
    return false;
  }
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
  std::string raw_head_;
  std::size_t head_bytes_ = 0;
  std::optional<ResponseHead> head_;
  std::string body_;
  std::optional<Failure> failure_;  // ours, found while libcurl called back
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

std::size_t CurlHop::take_head(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* hop = static_cast<CurlHop*>(self);
  const std::string_view line(bytes, size * count);
  hop->head_bytes_ += line.size();
  if (hop->head_bytes_ > kMaxResponseHead)
    return static_cast<std::size_t>(hop->give_up({ResponseTooLarge{kMaxResponseHead}, Stage::kResponse}));
  if (hop->head_) return line.size();  // a trailer: counted, and of no meaning
  hop->raw_head_ += line;
  const bool ends = line == "\r\n" || line == "\n";
  return ends && !hop->judge_head() ? 0 : line.size();
}

// The head is whole: what it says is judged before a byte of the body is taken.
bool CurlHop::judge_head() {
  auto head = parse_response_head(raw_head_);
  raw_head_.clear();
  if (!head) return give_up(std::move(head).error());
  if (head->interim()) return true;
  if (!bodyless(*head) && head->length && *head->length > request_.response_bytes)
    return give_up({ResponseTooLarge{request_.response_bytes}, Stage::kResponse});
  head_ = std::move(*head);
  return true;
}

std::size_t CurlHop::take_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* hop = static_cast<CurlHop*>(self);
  const std::size_t got = size * count;
  if (!hop->head_)
    return static_cast<std::size_t>(hop->give_up({UpstreamFailed{"a body without a head"}, Stage::kBody}));
  if (hop->body_.size() + got > hop->request_.response_bytes) {
    static_cast<void>(hop->give_up({ResponseTooLarge{hop->request_.response_bytes}, Stage::kBody}));
    return got + 1;  // never `got`, also when that is 0
  }
  hop->body_.append(bytes, got);
  return got;
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
  if (head_) return Stage::kBody;
  if (told(CURLINFO_APPCONNECT_TIME_T) > 0) {
    const auto size = static_cast<curl_off_t>(request_.judged->body.size());
    return told(CURLINFO_SIZE_UPLOAD_T) < size ? Stage::kSend : Stage::kResponse;
  }
  return tls_.began ? Stage::kTls : Stage::kConnect;
}

Outcome<HopResponse> CurlHop::outcome(CURLcode code) {
  if (failure_) return refuse(std::move(*failure_));
  if (code != CURLE_OK) return refuse(fault_of(parts_, code, stage()));
  if (!head_) return refuse(UpstreamFailed{"closed without an answer"}, Stage::kResponse);
  if (!bodyless(*head_) && !head_->length && !head_->chunked && !tls_.ended)
    return refuse(UpstreamFailed{"the connection was cut where the body should end"}, Stage::kBody);
  char* ip = nullptr;
  ::curl_easy_getinfo(parts_.easy, CURLINFO_PRIMARY_IP, &ip);
  const auto address = parse_address(ip == nullptr ? "" : ip);
  HopResponse response;
  response.head = std::move(*head_);
  response.body = std::move(body_);
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
