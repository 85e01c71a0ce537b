#include "egress/tunnel_records.h"

#include "base/json.h"
#include "policy/host.h"

namespace loom::egress {
namespace {

// A name that was refused may be any 255 bytes, and a request line more: enough of it is kept to know it by.
constexpr std::size_t kMaxHost = 512;

Map begin(const char* kind, const RecordContext& context) {
  return {{"record", kind}, {"at_ms", context.at_ms}, {"id", context.id}};
}

}  // namespace

std::string render_record(const RecordContext& context, const Decision& decision) {
  Map map = begin("decision", context);
  Array addresses;
  for (const Address& address : decision.addresses) addresses.emplace_back(render_address(address));
  map.emplace_back("list", context.list);
  map.emplace_back("peer_pid", context.peer_pid);
  map.emplace_back("proxy_pid", context.proxy_pid);
  map.emplace_back("front", render_front(decision.asked.front));
  map.emplace_back("host", text_or_bytes(decision.asked.host.substr(0, kMaxHost)));
  // A number where it is one.
  const auto port = parse_port(decision.asked.port);
  map.emplace_back("port", port ? Value(std::uint32_t{*port}) : text_or_bytes(decision.asked.port.substr(0, kMaxHost)));
  map.emplace_back("verdict", decision.allowed ? "allowed" : "refused");
  map.emplace_back("code", decision.code);
  map.emplace_back("rule", decision.rule);
  map.emplace_back("addresses", std::move(addresses));
  map.emplace_back("ms", decision.ms);
  return render_json(map) + "\n";
}

std::string render_record(const RecordContext& context, const Closing& closing) {
  Map map = begin("closing", context);
  map.emplace_back("address", closing.address ? render_address(*closing.address) : "");
  map.emplace_back("up_bytes", closing.up);
  map.emplace_back("down_bytes", closing.down);
  map.emplace_back("ms", closing.ms);
  map.emplace_back("error", closing.error);
  return render_json(map) + "\n";
}

}  // namespace loom::egress
