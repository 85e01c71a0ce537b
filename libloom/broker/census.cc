#include "broker/census.h"

#include <algorithm>
#include <string_view>

namespace loom::broker {
namespace {

Result<std::string> text_at(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  if (value == nullptr) return fail("missing_key", "/" + std::string(key), "missing key");
  if (const auto* text = value->get_if<std::string>()) return *text;
  return fail("wrong_type", "/" + std::string(key), "want text, got " + std::string(value->type_name()));
}

Result<std::uint64_t> count_at(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  if (value == nullptr) return fail("missing_key", "/" + std::string(key), "missing key");
  if (const auto* count = value->get_if<std::uint64_t>()) return *count;
  return fail("wrong_type", "/" + std::string(key), "want integer, got " + std::string(value->type_name()));
}

Result<const Value*> map_at(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  if (value == nullptr) return fail("missing_key", "/" + std::string(key), "missing key");
  if (value->get_if<Map>() == nullptr)
    return fail("wrong_type", "/" + std::string(key), "want map, got " + std::string(value->type_name()));
  return value;
}

Status decode_tools(const Value& map, Census& census) {
  LOOM_TRY(const Value* tools, map_at(map, "tools"));
  for (const auto& [name, version] : *tools->get_if<Map>()) {
    if (const auto* text = version.get_if<std::string>()) {
      census.tools.emplace_back(name, *text);
    } else if (version.is_nil()) {
      census.tools.emplace_back(name, std::nullopt);
    } else {
      return fail("wrong_type", "/tools/" + name, "want text or nil, got " + std::string(version.type_name()));
    }
  }
  return {};
}

Status decode_helper(const Value& map, Census& census) {
  LOOM_TRY(const Value* helper, map_at(map, "helper"));
  auto peer = text_at(*helper, "peer");
  if (!peer) return fail(std::move(peer).error().context("/helper"));
  census.helper_peer = std::move(*peer);
  const Value* features = helper->find("features");
  const Array* list = features == nullptr ? nullptr : features->get_if<Array>();
  if (list == nullptr) return fail("wrong_type", "/helper/features", "want array");
  for (const Value& feature : *list) {
    const auto* text = feature.get_if<std::string>();
    if (text == nullptr) return fail("wrong_type", "/helper/features", "want text in each place");
    census.helper_features.push_back(*text);
  }
  return {};
}

// "0.1.0" of "loom-exec/0.1.0".
std::string version_of(const std::string& peer) {
  const std::size_t slash = peer.find('/');
  return slash == std::string::npos ? peer : peer.substr(slash + 1);
}

std::string tool_version(const Census& census, const std::string& name) {
  const auto it =
      std::find_if(census.tools.begin(), census.tools.end(), [&](const auto& tool) { return tool.first == name; });
  return it == census.tools.end() ? "" : it->second.value_or("");
}

}  // namespace

const std::vector<std::string>& tool_names() {
  static const std::vector<std::string> kNames = {"loom-policy", "loom-exec", "loom-broker", "loom-egress",
                                                  "loom-census"};
  return kNames;
}

Value encode(const Census& census) {
  Map tools;
  for (const auto& [name, version] : census.tools) tools.emplace_back(name, version ? Value(*version) : Value());
  Array features;
  for (const std::string& feature : census.helper_features) features.emplace_back(feature);
  return Map{{"service", census.service},
             {"exec_proto", census.exec_proto},
             {"control_proto", census.control_proto},
             {"cap_proto", census.cap_proto},
             {"policy_v", census.policy_v},
             {"tools", std::move(tools)},
             {"helper", Map{{"peer", census.helper_peer}, {"features", std::move(features)}}}};
}

Result<Census> decode_census(const Value& value) {
  if (value.get_if<Map>() == nullptr)
    return fail("wrong_type", "", "want a census, a map; got " + std::string(value.type_name()));
  Census census;
  LOOM_TRY(census.service, text_at(value, "service"));
  LOOM_TRY(census.exec_proto, count_at(value, "exec_proto"));
  LOOM_TRY(census.control_proto, count_at(value, "control_proto"));
  LOOM_TRY(census.cap_proto, count_at(value, "cap_proto"));
  LOOM_TRY(census.policy_v, count_at(value, "policy_v"));
  LOOM_CHECK(decode_tools(value, census));
  LOOM_CHECK(decode_helper(value, census));
  return census;
}

std::vector<Skew> skew(const Census& ours, const Census& theirs) {
  std::vector<Skew> found;
  const auto compare = [&](const std::string& name, const std::string& a, const std::string& b) {
    if (a != b) found.push_back({name, a, b});
  };
  const auto compare_known = [&](const std::string& name, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty()) compare(name, version_of(a), version_of(b));
  };
  compare_known("service", ours.service, theirs.service);
  compare("exec_proto", std::to_string(ours.exec_proto), std::to_string(theirs.exec_proto));
  compare("control_proto", std::to_string(ours.control_proto), std::to_string(theirs.control_proto));
  compare("cap_proto", std::to_string(ours.cap_proto), std::to_string(theirs.cap_proto));
  compare("policy_v", std::to_string(ours.policy_v), std::to_string(theirs.policy_v));
  std::vector<std::string> names;
  for (const Census* census : {&ours, &theirs}) {
    for (const auto& tool : census->tools) {
      if (std::find(names.begin(), names.end(), tool.first) == names.end()) names.push_back(tool.first);
    }
  }
  for (const std::string& name : names) compare(name, tool_version(ours, name), tool_version(theirs, name));
  compare_known("helper", ours.helper_peer, theirs.helper_peer);
  return found;
}

}  // namespace loom::broker
