// The proxies under random borrowings, ends and times: what is started is stopped once, never more than sixteen at a
// time, and a use is of its own list's.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "broker/proxies.h"
#include "test/property/broker/runs.h"
#include "test/support/property.h"

namespace loom::broker {
namespace {

constexpr int kMoves = 8;
constexpr int kFew = 3;
constexpr int kMany = 60;  // more than there may be proxies

struct Model {
  Path directory = "/run/loom/jail-1";
  std::vector<Effect> outbox;
  Proxies proxies{directory, outbox};
  TimePoint now{seconds(1)};
  int lists = *rc::gen::element(kFew, kMany);
  std::map<ProxyId, int> list_of;
  std::map<ProxyId, int> starts;
  std::set<ProxyId> running;
  std::set<ProxyId> stopped;
  std::vector<ProxyId> uses;
  int asked = 0;
  bool closed = false;

  std::size_t uses_of(ProxyId id) const { return static_cast<std::size_t>(std::count(uses.begin(), uses.end(), id)); }
  ProxyId any() const {
    if (!running.empty() && *rc::gen::inRange(0, 4) != 0)
      return *rc::gen::elementOf(std::vector<ProxyId>(running.begin(), running.end()));
    return *rc::gen::inRange<ProxyId>(0, static_cast<ProxyId>(starts.size()) + 2);
  }

  bool is_shown(ProxyId id) const {
    const auto views = proxies.views();
    return std::any_of(views.begin(), views.end(), [id](const ProxyView& view) { return view.id == id; });
  }

  void on(const StartProxy& e) {
    RC_ASSERT(stopped.count(e.proxy) == 0);
    RC_ASSERT(running.insert(e.proxy).second);
    RC_ASSERT(running.size() <= kMostProxies);
    const int times = ++starts[e.proxy];
    RC_ASSERT(times <= 2);
    if (times == 2) RC_ASSERT(uses_of(e.proxy) > 0);
    list_of.emplace(e.proxy, asked);
    RC_ASSERT(e.socket == proxies.socket_of(e.proxy));
  }
  void on(const StopProxy& e) {
    RC_ASSERT(stopped.insert(e.proxy).second);
    RC_ASSERT(closed || uses_of(e.proxy) == 0 || is_shown(e.proxy));  // in use only when it is down
    running.erase(e.proxy);
  }
  template <class Other>
  void on(const Other&) const {}
  void take() {
    for (const Effect& effect : std::exchange(outbox, {})) std::visit([this](const auto& e) { on(e); }, effect);
  }

  void borrow() {
    asked = *rc::gen::inRange(0, lists);
    const auto answer = proxies.borrow({"h" + std::to_string(asked) + ".test"}, now);
    take();
    if (const auto* id = std::get_if<ProxyId>(&answer)) {
      RC_ASSERT(list_of.at(*id) == asked);
      RC_ASSERT(running.count(*id) == 1);
      RC_ASSERT(!closed);
      uses.push_back(*id);
    } else if (const auto* starting = std::get_if<ProxyStarting>(&answer)) {
      RC_ASSERT(list_of.at(starting->id) == asked);
      RC_ASSERT(running.count(starting->id) == 1);
    } else {
      RC_ASSERT(closed || running.size() == kMostProxies);
    }
  }
  void give_back() {
    if (uses.empty()) return;
    const auto at = uses.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(uses.size()));
    const ProxyId id = *at;
    uses.erase(at);
    proxies.give_back(id, now);
  }
  void end_one(ProxyId id) {
    running.erase(id);
    proxies.ended(id, "killed", now);
  }
  void move(int what) {
    switch (what) {
      case 0:
      case 1:
        borrow();
        break;
      case 2:
        give_back();
        break;
      case 3:
        proxies.ready(any(), now);
        break;
      case 4:
        if (const ProxyId id = any(); running.count(id) == 1) end_one(id);
        break;
      case 5:
        now += seconds(*rc::gen::inRange(0, 70));
        proxies.tick(now);
        break;
      case 6:
        proxies.refused(any(), {EgressRefused{}});
        break;
      default:
        if (*rc::gen::inRange(0, 25) != 0) break;
        proxies.close();
        closed = true;
    }
    take();
  }
  void check() const {
    std::set<ProxyId> shown;
    for (const ProxyView& view : proxies.views()) {
      shown.insert(view.id);
      RC_ASSERT(view.users == uses_of(view.id));
      RC_ASSERT(view.phase == ProxyPhase::kDown || running.count(view.id) == 1);
      if (view.phase == ProxyPhase::kDown) RC_ASSERT(view.users > 0);
    }
    for (const ProxyId id : running) RC_ASSERT(shown.count(id) == 1);
    if (closed) RC_ASSERT(running.empty());
  }
  void end() {
    while (!uses.empty()) give_back();
    now += seconds(200);
    proxies.tick(now);
    take();
    now += seconds(200);
    proxies.tick(now);
    take();
    RC_ASSERT(running.empty());
    RC_ASSERT(proxies.views().empty());
    RC_ASSERT(!proxies.next_deadline());
    for (const auto& [id, times] : starts) RC_ASSERT(stopped.count(id) == 1);
  }
};

TEST(ProxiesProperty, WhatIsStartedIsStoppedOnceAndNeverMoreThanSixteen) {
  std::array<int, kMoves> drawn{};
  loom::test::property("proxies are shared by list, bounded, and gone when nobody uses them", [&drawn] {
    Model model;
    const int steps = *rc::gen::inRange(0, 240);
    for (int i = 0; i < steps; ++i) {
      const int what = *rc::gen::inRange(0, kMoves);
      ++drawn[static_cast<std::size_t>(what)];
      model.move(what);
      model.check();
    }
    model.end();
  });
  for (const int times : drawn) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace loom::broker
