// What the broker's proxies mean for calls: who waited for one goes on, and the end of a call tells what its proxy did.
#include <cstdlib>
#include <string_view>
#include <utility>

#include "broker/broker_state.h"
#include "plan/report.h"

namespace loom::broker {

namespace {

// "egress-proxy:bridge=4711": the bridge's process number, as the helper and this broker see it.
Pid bridge_of(const ExecExit& exit) {
  constexpr std::string_view kKey = "egress-proxy:bridge=";
  for (const std::string& entry : exit.enforcement) {
    if (entry.compare(0, kKey.size(), kKey) == 0) return std::strtoll(entry.c_str() + kKey.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

void BrokerCore::Impl::wake_waiting() {
  bool any = false;
  for (ProxyNews& news : proxies.take_news()) {
    any = true;
    if (!news.why) {
      for (const auto& waiting : queue) {
        if (waiting->awaits == news.id) waiting->awaits.reset();
      }
      continue;
    }
    refuse_waiting([&](const Clearance& waiting) {
      return waiting.awaits == news.id ? std::optional(egress_unavailable(*news.why)) : std::nullopt;
    });
  }
  if (any && closing.phase == ClosePhase::kServing) pump();
}

void BrokerCore::Impl::tell_of_egress(CallRow& row, Settlement& settlement) {
  if (!row.proxy) return;
  auto* exit = std::get_if<ExecExit>(&settlement.outcome);
  const std::vector<std::string> refused = proxies.take_refused(*row.proxy, exit != nullptr ? bridge_of(*exit) : 0);
  if (exit == nullptr) return;
  const std::uint64_t lost = proxies.losses_of(*row.proxy) - row.losses;
  if (lost > 0) exit->enforcement.push_back("event:egress-lost=" + std::to_string(lost));
  for (const std::string& text : refused) exit->enforcement.push_back("denied:egress: " + text);
}

}  // namespace loom::broker
