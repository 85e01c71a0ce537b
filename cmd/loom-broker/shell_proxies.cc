// The shell's egress proxies: their start, their records, their end.
#include <fcntl.h>
#include <poll.h>

#include <utility>

#include "shell.h"

namespace loom::broker {
namespace {

constexpr int kEndMs = 2000;
constexpr Duration kBetweenLooks = milliseconds(500);

}  // namespace

void Shell::start_proxy(const StartProxy& order) {
  const ProxyId id = order.proxy;
  Status started = jail_dir_.make();
  if (started && proxies_.count(id) == 0) {
    ProxyEvents events{[this, id] { handle(ProxyReady{id}); },
                       [this, id](std::string how) {
                         handle(ProxyEnded{id, std::move(how)});
                       }};
    auto opened = ProxyProcess::open(loop_, *reaper_, options_.proxy, order, std::move(events));
    if (opened) {
      proxies_.emplace(id, std::move(*opened));
    } else {
      started = fail(std::move(opened).error());
    }
  }
  if (started) started = proxies_.at(id)->start();
  if (!reading_) look_at_proxy_records();
  if (!started) return handle(ProxyEnded{id, started.error().text()});
  handle(ProxySpawned{id, proxies_.at(id)->pid()});
}

void Shell::stop_proxy(ProxyId proxy) {
  const auto found = proxies_.find(proxy);
  if (found == proxies_.end()) return;
  bury(std::move(found->second));
  proxies_.erase(found);
}

// A proxy has written what it refused before whoever asked has heard it: what a call's end is to tell is there by then.
void Shell::read_proxy_records() {
  for (const auto& [id, proxy] : proxies_) {
    auto refusals = proxy->read_refusals();
    if (!refusals.empty()) handle(ProxyRefusals{id, std::move(refusals)});
  }
}

// A call that asks without end must fill neither the directory nor, at its own end, the time of all others.
void Shell::look_at_proxy_records() {
  reading_.reset();
  if (proxies_.empty()) return;
  read_proxy_records();
  reading_ = loop_.timer(loop_.now() + kBetweenLooks, [this] { look_at_proxy_records(); });
}

void Shell::end_proxies() {
  reading_.reset();
  std::vector<UniqueFd> ends;
  for (const auto& [id, proxy] : proxies_) ends.emplace_back(::fcntl(proxy->pidfd(), F_DUPFD_CLOEXEC, 0));
  proxies_.clear();
  for (const UniqueFd& end : ends) {
    pollfd entry{end.get(), POLLIN, 0};
    if (end) ::poll(&entry, 1, kEndMs);
  }
  if (reaper_) reaper_->reap();
  jail_dir_.remove();
}

}  // namespace loom::broker
