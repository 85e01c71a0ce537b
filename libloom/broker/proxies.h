// The egress proxies of a broker: one for each distinct allow list, shared by calls, started at first use, gone a
// minute after the last. Pure: what it wants of the outside is appended to an outbox. The broker holds each proxy's
// listening socket (the shell does, by the proxy's number), so that one that is started again keeps the socket a jail
// has bound. Carries out: spec/egress.md "How the jail reaches it".
//
//   event        starting                ready                        down
//   borrow       wait for it             counted                      (not found: another one is started)
//   ready        ready                   ignored                      ignored
//   ended        first start: down,      no loss yet and in use:      ignored
//                who waits is refused;   starting again; else down
//                again: down
//   start due    killed, then as ended   -                            -
//   last return  -                       the idle clock starts        forgotten
//   idle due     -                       stopped and forgotten        -
//
// Down: its socket is closed, so that calls that still hold it go on closed; no later call finds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "broker/event.h"
#include "policy/model.h"

namespace loom::broker {

inline constexpr std::size_t kMostProxies = 16;
inline constexpr Duration kProxyIdle = seconds(60);
inline constexpr Duration kProxyStart = seconds(10);
inline constexpr std::size_t kMostRefusalsTold = 64;  // distinct ones, of one call

enum class ProxyPhase { kStarting, kReady, kDown };
[[nodiscard]] std::string_view to_text(ProxyPhase phase);

// What an observer may know of one proxy: nothing of its list but how long it is.
struct ProxyView {
  ProxyId id = 0;
  Pid pid = 0;
  ProxyPhase phase = ProxyPhase::kStarting;
  std::uint64_t entries = 0;
  std::uint64_t users = 0;
  std::uint64_t losses = 0;
};

// Waiters of this proxy may try again; `why` is set when it never became ready, and they are refused with it.
struct ProxyNews {
  ProxyId id = 0;
  std::optional<std::string> why;
};

struct ProxyStarting {
  ProxyId id = 0;
};
struct ProxyRefusal {
  std::string detail;
};

class Proxies {
 public:
  // `directory`: where their sockets lie. The outbox is borrowed and must outlive this.
  Proxies(const Path& directory, std::vector<Effect>& outbox) : directory_(directory), outbox_(outbox) {}

  // One use of the proxy for this list, to be given back; or the one to wait for; or why there is none.
  [[nodiscard]] std::variant<ProxyId, ProxyStarting, ProxyRefusal> borrow(const std::vector<std::string>& allow,
                                                                          TimePoint now);
  // The same of the capability endpoint, of which there is one.
  [[nodiscard]] std::variant<ProxyId, ProxyStarting, ProxyRefusal> borrow_endpoint(TimePoint now);
  void give_back(ProxyId id, TimePoint now);
  [[nodiscard]] Path socket_of(ProxyId id) const;
  [[nodiscard]] std::uint64_t losses_of(ProxyId id) const;

  void spawned(ProxyId id, Pid pid);
  void ready(ProxyId id, TimePoint now);
  void ended(ProxyId id, const std::string& how, TimePoint now);
  void refused(ProxyId id, const std::vector<EgressRefused>& refusals);
  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  void close();

  // What its proxy refused to one call: by the bridge that asked, or all of it where no other call used the proxy. Of
  // more than kMostRefusalsTold the last entry is "(others) refused: N", N tries.
  [[nodiscard]] std::vector<std::string> take_refused(ProxyId id, Pid bridge);
  [[nodiscard]] std::vector<ProxyNews> take_news() { return std::exchange(news_, {}); }
  [[nodiscard]] std::vector<ProxyView> views() const;
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

 private:
  struct Refused {
    std::vector<std::string> texts;  // distinct
    std::uint64_t untold = 0;        // those that found no place among them
  };
  struct Proxy {
    std::string list;
    std::vector<std::string> allow;
    ProxyPhase phase = ProxyPhase::kStarting;
    Pid pid = 0;
    std::uint64_t users = 0;
    std::uint64_t losses = 0;
    bool shared = false;  // by two calls at once, since it was last unused
    TimePoint since;
    std::optional<TimePoint> due;  // of the start, or of the idle clock
    std::map<Pid, Refused> refused;
    std::uint64_t untold = 0;  // of peers for which there was no place
  };

  [[nodiscard]] std::variant<ProxyId, ProxyStarting, ProxyRefusal> borrow_for(const std::string& list,
                                                                              const std::vector<std::string>& allow,
                                                                              TimePoint now);
  ProxyId start_new(std::string list, std::vector<std::string> allow, TimePoint now);
  void order_start(ProxyId id, Proxy& proxy, TimePoint now);
  void stop(ProxyId id);
  void forget_list(ProxyId id, const Proxy& proxy);
  void log(LogLevel level, const char* event, ProxyId id, Map more = {});
  [[nodiscard]] bool make_room();

  const Path& directory_;
  std::vector<Effect>& outbox_;
  std::map<ProxyId, Proxy> proxies_;
  std::map<std::string, ProxyId> by_list_;
  std::vector<ProxyNews> news_;
  std::uint64_t refusals_ = 0;
  ProxyId next_ = 1;
  bool closed_ = false;
};

}  // namespace loom::broker
