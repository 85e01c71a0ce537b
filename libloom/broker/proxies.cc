#include "broker/proxies.h"

#include <algorithm>

#include "broker/instant.h"
#include "policy/allow_list.h"

namespace loom::broker {

namespace {

constexpr const char* kEndpoint = "endpoint";  // in the place of a list's digest
constexpr std::size_t kMostPeers = 64;         // whose refusals are kept at once

std::uint64_t ms_between(TimePoint from, TimePoint to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(to - from), 0));
}

// False: it is not among them, and there is no place left for it.
bool add_distinct(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) != list.end()) return true;
  if (list.size() >= kMostRefusalsTold) return false;
  list.push_back(std::move(text));
  return true;
}

}  // namespace

std::string_view to_text(ProxyPhase phase) {
  switch (phase) {
    case ProxyPhase::kStarting:
      return "starting";
    case ProxyPhase::kReady:
      return "ready";
    case ProxyPhase::kDown:
      return "down";
  }
  return "down";
}

std::variant<ProxyId, ProxyStarting, ProxyRefusal> Proxies::borrow(const std::vector<std::string>& allow,
                                                                   TimePoint now) {
  auto list = AllowList::parse(allow);
  if (!list) return ProxyRefusal{list.error().text()};
  return borrow_for(list->digest(), allow, now);
}

std::variant<ProxyId, ProxyStarting, ProxyRefusal> Proxies::borrow_endpoint(TimePoint now) {
  return borrow_for(kEndpoint, {}, now);
}

std::variant<ProxyId, ProxyStarting, ProxyRefusal> Proxies::borrow_for(const std::string& list,
                                                                       const std::vector<std::string>& allow,
                                                                       TimePoint now) {
  if (directory_.empty()) return ProxyRefusal{"this broker has no egress proxy of its own"};
  if (closed_) return ProxyRefusal{"this broker is closing"};
  const auto known = by_list_.find(list);
  if (known == by_list_.end()) {
    if (!make_room()) return ProxyRefusal{std::to_string(kMostProxies) + " allow lists are in use"};
    return ProxyStarting{start_new(list, allow, now)};
  }
  Proxy& proxy = proxies_.at(known->second);
  if (proxy.phase == ProxyPhase::kStarting) return ProxyStarting{known->second};
  proxy.due.reset();
  proxy.shared = proxy.users++ > 0 || proxy.shared;
  return known->second;
}

// The one that has been idle longest makes place.
bool Proxies::make_room() {
  if (proxies_.size() < kMostProxies) return true;
  auto oldest = proxies_.end();
  for (auto at = proxies_.begin(); at != proxies_.end(); ++at) {
    const bool idle = at->second.phase == ProxyPhase::kReady && at->second.users == 0;
    if (idle && (oldest == proxies_.end() || at->second.due < oldest->second.due)) oldest = at;
  }
  if (oldest == proxies_.end()) return false;
  stop(oldest->first);
  return true;
}

ProxyId Proxies::start_new(std::string list, std::vector<std::string> allow, TimePoint now) {
  const ProxyId id = next_++;
  by_list_.emplace(list, id);
  Proxy& proxy = proxies_[id];
  proxy.list = std::move(list);
  proxy.allow = std::move(allow);
  order_start(id, proxy, now);
  return id;
}

void Proxies::order_start(ProxyId id, Proxy& proxy, TimePoint now) {
  proxy.phase = ProxyPhase::kStarting;
  proxy.pid = 0;
  proxy.since = now;
  proxy.due = now + kProxyStart;
  outbox_.push_back(StartProxy{id, proxy.allow, proxy.list, socket_of(id), proxy.list == kEndpoint});
}

// A newer one may stand for the same list.
void Proxies::forget_list(ProxyId id, const Proxy& proxy) {
  const auto at = by_list_.find(proxy.list);
  if (at != by_list_.end() && at->second == id) by_list_.erase(at);
}

void Proxies::stop(ProxyId id) {
  const auto at = proxies_.find(id);
  if (at == proxies_.end()) return;
  const bool down = at->second.phase == ProxyPhase::kDown;  // stopped already
  forget_list(id, at->second);
  proxies_.erase(at);
  if (down) return;
  outbox_.push_back(StopProxy{id});
  log(LogLevel::kInfo, "egress.stopped", id);
}

void Proxies::give_back(ProxyId id, TimePoint now) {
  const auto at = proxies_.find(id);
  if (at == proxies_.end() || at->second.users == 0) return;
  Proxy& proxy = at->second;
  if (--proxy.users > 0) return;
  proxy.shared = false;
  proxy.refused.clear();
  proxy.untold = 0;
  if (proxy.phase == ProxyPhase::kDown) {
    proxies_.erase(at);
  } else if (proxy.phase == ProxyPhase::kReady) {
    proxy.due = now + kProxyIdle;
  }
}

Path Proxies::socket_of(ProxyId id) const {
  const auto at = proxies_.find(id);
  // The endpoint makes its socket itself, and locks the directory while it does.
  if (at != proxies_.end() && at->second.list == kEndpoint) {
    return directory_ + "/endpoint-" + std::to_string(id) + "/s.sock";
  }
  return directory_ + "/proxy-" + std::to_string(id) + ".sock";
}

std::uint64_t Proxies::losses_of(ProxyId id) const {
  const auto at = proxies_.find(id);
  return at == proxies_.end() ? 0 : at->second.losses;
}

void Proxies::spawned(ProxyId id, Pid pid) {
  if (const auto at = proxies_.find(id); at != proxies_.end()) at->second.pid = pid;
}

void Proxies::ready(ProxyId id, TimePoint now) {
  const auto at = proxies_.find(id);
  if (at == proxies_.end() || at->second.phase != ProxyPhase::kStarting) return;
  Proxy& proxy = at->second;
  proxy.phase = ProxyPhase::kReady;
  proxy.due.reset();
  if (proxy.users == 0) proxy.due = now + kProxyIdle;
  log(LogLevel::kInfo, "egress.ready", id, {{"ms", ms_between(proxy.since, now)}});
  news_.push_back({id, std::nullopt});
}

// Only one that was ready, and is in use, is worth a second start: who has never been ready would not be now.
void Proxies::ended(ProxyId id, const std::string& how, TimePoint now) {
  const auto at = proxies_.find(id);
  if (at == proxies_.end() || at->second.phase == ProxyPhase::kDown) return;
  Proxy& proxy = at->second;
  const bool was_ready = proxy.phase == ProxyPhase::kReady;
  log(LogLevel::kWarning, "egress.lost", id, {{"kind", "egress_unavailable"}, {"how", how}, {"users", proxy.users}});
  if (was_ready || proxy.losses > 0) ++proxy.losses;
  if (was_ready && proxy.losses == 1 && proxy.users > 0) return order_start(id, proxy, now);
  news_.push_back({id, "loom-egress ended before it was ready: " + how});
  forget_list(id, proxy);
  outbox_.push_back(StopProxy{id});
  proxy.phase = ProxyPhase::kDown;
  proxy.due.reset();
  if (proxy.users == 0) proxies_.erase(at);
}

void Proxies::refused(ProxyId id, const std::vector<EgressRefused>& refusals) {
  refusals_ += refusals.size();
  const auto at = proxies_.find(id);
  if (at == proxies_.end() || at->second.users == 0) return;
  for (const EgressRefused& one : refusals) {
    Proxy& proxy = at->second;
    if (proxy.refused.size() >= kMostPeers && proxy.refused.count(one.peer) == 0) {
      ++proxy.untold;
      continue;
    }
    Refused& kept = proxy.refused[one.peer];
    if (!add_distinct(kept.texts, one.destination + " refused: " + one.code)) ++kept.untold;
  }
}

std::vector<std::string> Proxies::take_refused(ProxyId id, Pid bridge) {
  std::vector<std::string> out;
  const auto at = proxies_.find(id);
  if (at == proxies_.end()) return out;
  auto& kept = at->second.refused;
  std::uint64_t untold = at->second.shared ? 0 : std::exchange(at->second.untold, 0);
  for (auto entry = kept.begin(); entry != kept.end();) {
    if (at->second.shared && entry->first != bridge) {
      ++entry;
      continue;
    }
    untold += entry->second.untold;
    for (std::string& text : entry->second.texts) {
      if (!add_distinct(out, std::move(text))) ++untold;
    }
    entry = kept.erase(entry);
  }
  // Whoever asks for much must not be able to push one name out of sight.
  if (untold > 0) out.push_back("(others) refused: " + std::to_string(untold));
  return out;
}

void Proxies::tick(TimePoint now) {
  std::vector<ProxyId> due;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.due && *proxy.due <= now) due.push_back(id);
  }
  for (const ProxyId id : due) {
    if (proxies_.at(id).phase == ProxyPhase::kStarting) {
      ended(id, "it was not ready in time", now);
    } else {
      stop(id);
    }
  }
}

std::optional<TimePoint> Proxies::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& [id, proxy] : proxies_) next = earlier(next, proxy.due);
  return next;
}

void Proxies::close() {
  closed_ = true;
  std::vector<ProxyId> all;
  for (const auto& [id, proxy] : proxies_) all.push_back(id);
  for (const ProxyId id : all) stop(id);
}

std::vector<ProxyView> Proxies::views() const {
  std::vector<ProxyView> out;
  for (const auto& [id, proxy] : proxies_) {
    out.push_back({id, proxy.pid, proxy.phase, proxy.allow.size(), proxy.users, proxy.losses});
  }
  return out;
}

void Proxies::log(LogLevel level, const char* event, ProxyId id, Map more) {
  Map fields{{"proxy", id}};
  for (Member& member : more) fields.push_back(std::move(member));
  outbox_.push_back(LogLine{level, event, std::move(fields)});
}

}  // namespace loom::broker
