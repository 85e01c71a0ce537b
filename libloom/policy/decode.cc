#include "policy/decode.h"

#include <algorithm>

#include "base/json.h"
#include "base/msgpack.h"
#include "base/version.h"
#include "policy/fields.h"
#include "policy/upgrade.h"
#include "policy/validate.h"

namespace loom {

namespace {

constexpr std::size_t kMaxDocumentBytes = 1U << 20U;
constexpr std::size_t kMaxDepth = 32;

// The version comes first: a document of another version is told so, not that a key of its own is unknown.
Result<std::uint64_t> version_of(const Value& value) {
  if (value.get_if<Map>() == nullptr) return fields::wrong_type("", "map", value);
  const Value* version = value.find("v");
  if (version == nullptr) return fail("missing_key", "/v", "missing key: every key is required");
  const auto* number = version->get_if<std::uint64_t>();
  if (number == nullptr) return fields::wrong_type("/v", "integer", *version);
  return *number;
}

tl::unexpected<Error> unsupported_version(std::uint64_t got) {
  return fail(
      "unsupported_version", "/v",
      "unsupported version " + std::to_string(got) + ": this build reads version " + std::to_string(kPolicyVersion),
      got == 2 ? "loom-policy convert --to json upgrades version 2" : "");
}

Result<Mount> decode_mount(const Value& value, const std::string& where) {
  LOOM_CHECK(fields::exact_map(value, where, {"path", "access", "required"}));
  Mount mount;
  LOOM_TRY(mount.path, fields::path(*value.find("path"), where + "/path"));
  const Value& access = *value.find("access");
  if (access == Value("rw")) {
    mount.access = Access::kReadWrite;
  } else if (access != Value("ro")) {
    return fields::wrong_type(where + "/access", "\"ro\" or \"rw\"", access);
  }
  LOOM_TRY(mount.required, fields::boolean(*value.find("required"), where + "/required"));
  return mount;
}

Status refuse_extra_network_keys(const Map& map, const std::string& where, const std::string& mode) {
  const bool proxy = mode == "proxy";
  const auto extra = std::find_if(map.begin(), map.end(), [&](const Member& member) {
    return member.first != "mode" && !(proxy && (member.first == "allow" || member.first == "proxy"));
  });
  if (extra == map.end()) return {};
  const std::string place = where + "/" + extra->first;
  if (extra->first == "allow" || extra->first == "proxy")
    return fail("unexpected_key_for_mode", place, "unexpected key for mode \"" + mode + "\"",
                "only mode \"proxy\" has an allow list and a proxy");
  return fail("unknown_key", place, "unknown key: it could be a restriction that would not be enforced");
}

Result<Network> decode_network(const Value& value, const std::string& where) {
  const auto* map = value.get_if<Map>();
  if (map == nullptr) return fields::wrong_type(where, "map", value);
  const Value* mode_value = value.find("mode");
  if (mode_value == nullptr) return fail("missing_key", where + "/mode", "missing key: every key is required");
  LOOM_TRY(const std::string mode, fields::text(*mode_value, where + "/mode"));
  Network network;
  if (mode == "proxy") {
    network.mode = NetworkMode::kProxy;
  } else if (mode == "full") {
    network.mode = NetworkMode::kFull;
  } else if (mode != "off") {
    return fail("unknown_network_mode", where + "/mode", "unknown network mode: want \"off\", \"proxy\" or \"full\"");
  }
  const bool proxy = network.mode == NetworkMode::kProxy;
  LOOM_CHECK(refuse_extra_network_keys(*map, where, mode));
  if (!proxy) return network;
  LOOM_CHECK(fields::exact_map(value, where, {"mode", "allow", "proxy"}));
  LOOM_TRY(network.allow, fields::list<std::string>(*value.find("allow"), where + "/allow", fields::network_entry));
  const Value& socket = *value.find("proxy");
  if (socket != Value("")) {
    LOOM_TRY(network.proxy, fields::path(socket, where + "/proxy"));
  }
  return network;
}

Result<Limits> decode_limits(const Value& value, const std::string& where) {
  LOOM_CHECK(fields::exact_map(value, where, {"cpu_s", "wall_s", "mem_bytes", "pids", "fsize_bytes", "output_bytes"}));
  Limits limits;
  for (const LimitField& field : kLimitFields) {
    LOOM_TRY(limits.*field.member, fields::limit(*value.find(field.name), where + "/" + std::string(field.name)));
  }
  return limits;
}

Result<Scratch> decode_scratch(const Value& value, const std::string& where) {
  Scratch scratch;
  if (value == Value("tmpfs")) return scratch;
  LOOM_TRY(scratch.host_path, fields::path(value, where));
  return scratch;
}

// Everything but the version and `frozen`, which version 2 does not have.
Result<Policy> decode_common(const Value& value) {
  Policy policy;
  LOOM_TRY(policy.writable_roots, fields::list<Path>(*value.find("writable_roots"), "/writable_roots", fields::path));
  LOOM_TRY(policy.readable_roots, fields::list<Path>(*value.find("readable_roots"), "/readable_roots", fields::path));
  LOOM_TRY(policy.protected_paths, fields::list<Path>(*value.find("protected"), "/protected", fields::path));
  LOOM_TRY(policy.mounts, fields::list<Mount>(*value.find("mounts"), "/mounts", decode_mount));
  LOOM_TRY(policy.network, decode_network(*value.find("network"), "/network"));
  LOOM_TRY(policy.limits, decode_limits(*value.find("limits"), "/limits"));
  LOOM_TRY(policy.env_allow, fields::list<std::string>(*value.find("env_allow"), "/env_allow", fields::env_name));
  LOOM_TRY(policy.scratch, decode_scratch(*value.find("scratch"), "/scratch"));
  return policy;
}

bool is_limit_place(std::string_view where) {
  for (const LimitField& field : kLimitFields) {
    if (where == "/limits/" + std::string(field.name)) return true;
  }
  return false;
}

// What only JSON can write, an integer no 64 bits hold, gets the name the same fault has in msgpack.
Error name_for_policy(Error error) {
  const bool large = error.code == "integer_too_large";
  if (!large && error.code != "integer_too_small") return error;
  if (!is_limit_place(error.where)) {
    error.code = "wrong_type";
    error.what = "wrong type: " + error.what;
  } else {
    error.code = large ? "limit_too_large" : "negative_limit";
    error.what = large ? "limit is over 2^63-1" : "negative limit";
    error.hint = "0 means no limit of this kind";
  }
  return error;
}

bool looks_like_msgpack(std::string_view bytes) {
  if (bytes.empty()) return false;
  const auto first = static_cast<unsigned char>(bytes.front());
  return (first >= 0x80 && first <= 0x8f) || first == 0xde || first == 0xdf;
}

Result<Value> parse_document(std::string_view bytes) {
  if (looks_like_msgpack(bytes)) return parse_msgpack(bytes, MsgpackLimits{kMaxDocumentBytes, kMaxDepth});
  auto value = parse_json(bytes, JsonLimits{kMaxDocumentBytes, kMaxDepth});
  if (!value) return fail(name_for_policy(std::move(value).error()));
  return value;
}

Result<Policy> decode_version_2(const Value& value) {
  LOOM_CHECK(fields::exact_map(
      value, "",
      {"v", "writable_roots", "readable_roots", "protected", "mounts", "network", "limits", "env_allow", "scratch"}));
  LOOM_TRY(Policy policy, decode_common(value));
  policy = freeze_readable_inside_writable(std::move(policy));
  LOOM_CHECK(validate_document(policy));
  return policy;
}

}  // namespace

Result<Policy> decode_policy(const Value& value) {
  LOOM_TRY(const std::uint64_t version, version_of(value));
  if (version != kPolicyVersion) return unsupported_version(version);
  LOOM_CHECK(fields::exact_map(value, "",
                               {"v", "writable_roots", "readable_roots", "frozen", "protected", "mounts", "network",
                                "limits", "env_allow", "scratch"}));
  LOOM_TRY(Policy policy, decode_common(value));
  LOOM_TRY(policy.frozen, fields::list<Path>(*value.find("frozen"), "/frozen", fields::path));
  LOOM_CHECK(validate_document(policy));
  return policy;
}

Result<Policy> decode_policy_bytes(std::string_view bytes) {
  LOOM_TRY(const Value value, parse_document(bytes));
  return decode_policy(value);
}

Result<Policy> decode_policy_upgrading(std::string_view bytes) {
  LOOM_TRY(const Value value, parse_document(bytes));
  LOOM_TRY(const std::uint64_t version, version_of(value));
  return version == 2 ? decode_version_2(value) : decode_policy(value);
}

}  // namespace loom
