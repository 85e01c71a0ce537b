#include "egress/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace loom::egress {
namespace {

using Addresses = Outcome<std::vector<Address>>;

// A resend after 2 s, 4 s, 8 s: the caller's deadline ends it, whatever is left of these.
constexpr int kFirstPatienceMs = 2000;
constexpr int kTries = 4;

Words words_of(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
      return "no such name";
    case ARES_ENODATA:
      return "the name has no address";
    case ARES_ETIMEOUT:
      return "no answer from the name server";
    case ARES_ECONNREFUSED:
      return "no name server that answers";
    case ARES_ESERVFAIL:
      return "the name server failed";
    case ARES_EREFUSED:
      return "the name server refused the question";
    case ARES_EFORMERR:
      return "the name server did not understand the question";
    case ARES_EBADRESP:
      return "the name server's answer makes no sense";
    default:
      return "no answer of the name server";
  }
}

std::optional<Address> address_in(const sockaddr& found) {
  Address address;
  if (found.sa_family == AF_INET) {
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in&>(found).sin_addr, 4);
    return address;
  }
  if (found.sa_family != AF_INET6) return std::nullopt;
  address.v6 = true;
  std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(found).sin6_addr, 16);
  return address;
}

std::vector<Address> addresses_in(const ares_addrinfo* info) {
  std::vector<Address> all;
  for (const ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next) {
    const auto address = address_in(*node->ai_addr);
    if (address && std::find(all.begin(), all.end(), *address) == all.end()) all.push_back(*address);
  }
  return all;
}

// What every kind of lookup owes: the answer once, from the loop, and nothing once it was destroyed.
class Asked : public NameResolver::Question {
 public:
  Asked(Loop& loop, NameResolver::Answer answer) : loop_(loop), answer_(std::move(answer)) {}
  ~Asked() override { *alive_ = false; }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  // The first result counts.
  void settle(Addresses result) {
    if (settled_) return;
    settled_ = true;
    loop_.post([this, alive = alive_, result = std::move(result)]() mutable {
      if (!*alive) return;
      const NameResolver::Answer answer = std::move(answer_);
      answer(std::move(result));  // may destroy this
    });
  }
  void fail_with(Cause cause) { settle(refuse(std::move(cause), Stage::kResolve)); }

 protected:
  Loop& loop_;
  bool settled_ = false;

 private:
  NameResolver::Answer answer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// One question by c-ares, on a channel of its own: its sockets and ports are no one else's, and resolv.conf is read
// anew.
class NameLookup : public Asked {
 public:
  using Asked::Asked;
  ~NameLookup() override {
    settled_ = true;  // what c-ares calls back while it is destroyed says nothing
    if (channel_ != nullptr) ares_destroy(channel_);
  }

  void begin(const std::string& name, const std::string& server, TimePoint deadline) {
    if (const int status = open(server); status != ARES_SUCCESS) {
      fail_with(DnsFailed{words_of(status)});
      return;
    }
    deadline_ = loop_.timer(deadline, [this] { fail_with(DeadlinePassed{}); });
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;  // each address once
    hints.ai_flags = ARES_AI_NOSORT;  // sorting would connect a socket to each
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, answered, this);
    rearm();
  }

 private:
  struct Watches {
    Loop::Watch read;
    Loop::Watch write;
  };

  int open(const std::string& server) {
    ares_options options{};
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = kFirstPatienceMs;
    options.tries = kTries;
    options.sock_state_cb = socket_changed;
    options.sock_state_cb_data = this;
    char dns_only[] = "b";
    if (!server.empty()) {
      options.lookups = dns_only;  // the named server alone: no hosts file beside it
      mask |= ARES_OPT_LOOKUPS;
    }
    const int status = ares_init_options(&channel_, &options, mask);
    if (status != ARES_SUCCESS || server.empty()) return status;
    return ares_set_servers_ports_csv(channel_, server.c_str());
  }

  static void socket_changed(void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<NameLookup*>(self)->watch(fd, readable != 0, writable != 0);
  }
  static void answered(void* self, int status, int /*timeouts*/, ares_addrinfo* info) {
    static_cast<NameLookup*>(self)->take(status, info);
    if (info != nullptr) ares_freeaddrinfo(info);
  }

  void watch(ares_socket_t fd, bool readable, bool writable) {
    if (!readable && !writable) {
      watches_.erase(fd);  // before c-ares closes it
      return;
    }
    Watches& at = watches_[fd];
    arm(at.read, readable, fd, Readiness::kRead);
    arm(at.write, writable, fd, Readiness::kWrite);
  }
  void arm(Loop::Watch& at, bool wanted, ares_socket_t fd, Readiness what) {
    if (!wanted) at.reset();
    if (!wanted || at) return;
    at = loop_.watch(fd, what, [this, fd, what] {
      process(what == Readiness::kRead ? fd : ARES_SOCKET_BAD, what == Readiness::kWrite ? fd : ARES_SOCKET_BAD);
    });
  }

  void process(ares_socket_t read, ares_socket_t write) {
    ares_process_fd(channel_, read, write);
    rearm();
  }
  // c-ares tells when it wants to resend.
  void rearm() {
    timeval next{};
    if (settled_ || ares_timeout(channel_, nullptr, &next) == nullptr) {
      resend_.reset();
      return;
    }
    const Duration wait = std::chrono::seconds(next.tv_sec) + std::chrono::microseconds(next.tv_usec);
    resend_ = loop_.timer(loop_.now() + wait, [this] { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); });
  }

  void take(int status, const ares_addrinfo* info) {
    if (settled_) return;
    std::vector<Address> found;
    if (status == ARES_SUCCESS && info != nullptr) found = addresses_in(info);
    if (found.empty())
      fail_with(DnsFailed{words_of(status == ARES_SUCCESS ? ARES_ENODATA : status)});
    else
      settle(std::move(found));
  }

  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, Watches> watches_;
  Loop::Timer resend_;
  Loop::Timer deadline_;
};

// "127.0.0.1:5353", "[::1]:5353".
Result<std::string> server_text(std::string_view server) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string_view::npos)
    return fail("bad_resolver", "", "want \"system\" or ADDRESS:PORT, got \"" + std::string(server) + "\"");
  const auto host = parse_host(server.substr(0, colon));
  if (!host || host->kind == HostKind::kName)
    return fail("bad_resolver", "", "\"" + std::string(server) + "\" names no address of a name server");
  const auto port = parse_port(server.substr(colon + 1));
  if (!port) return fail("bad_resolver", "", "\"" + std::string(server) + "\": " + port.error().what);
  const std::string address = host->kind == HostKind::kIpv6 ? "[" + host->text + "]" : host->text;
  return address + ":" + std::to_string(*port);
}

}  // namespace

Result<NameResolver> NameResolver::make(Loop& loop, std::string_view server) {
  static const int kReady = ares_library_init(ARES_LIB_INIT_ALL);
  if (kReady != ARES_SUCCESS) return fail("bad_resolver", "", "c-ares does not start");
  if (server == "system") return NameResolver(loop, "");
  LOOM_TRY(std::string text, server_text(server));
  return NameResolver(loop, std::move(text));
}

NameResolver::Lookup NameResolver::look_up(const Host& host, TimePoint deadline, Answer answer) const {
  if (const auto known = address_of(host)) {
    auto literal = std::make_unique<Asked>(*loop_, std::move(answer));
    literal->settle(std::vector<Address>{*known});
    return literal;
  }
  auto lookup = std::make_unique<NameLookup>(*loop_, std::move(answer));
  lookup->begin(host.text, server_, deadline);
  return lookup;
}

}  // namespace loom::egress
