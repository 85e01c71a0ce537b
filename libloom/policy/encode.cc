#include "policy/encode.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "base/msgpack.h"
#include "base/version.h"
#include "policy/decode.h"

namespace loom {

namespace {

Value encode_paths(const std::vector<Path>& paths) {
  Array array;
  array.reserve(paths.size());
  for (const Path& path : paths) array.push_back(text_or_bytes(path));
  return array;
}

Value encode_texts(const std::vector<std::string>& texts) {
  return Array(texts.begin(), texts.end());
}

Value encode_limits(const Limits& limits) {
  Map map;
  for (const LimitField& field : kLimitFields) map.emplace_back(field.name, limits.*field.member);
  return map;
}

// Whether some path below is not UTF-8, which JSON text cannot hold; then its place is appended to `where`.
bool find_bytes(const Value& value, std::string& where) {
  if (value.get_if<Binary>() != nullptr) return true;
  const std::size_t length = where.size();
  const auto found_in = [&](const Value& member, const std::string& name) {
    where.append("/").append(name);
    if (find_bytes(member, where)) return true;
    where.resize(length);
    return false;
  };
  if (const auto* array = value.get_if<Array>()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (found_in((*array)[i], std::to_string(i))) return true;
    }
  }
  if (const auto* map = value.get_if<Map>()) {
    for (const Member& member : *map) {
      if (found_in(member.second, member.first)) return true;
    }
  }
  return false;
}

void sort_and_deduplicate(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace

Value encode_mount(const Mount& mount) {
  return Map{{"path", text_or_bytes(mount.path)},
             {"access", mount.access == Access::kReadWrite ? "rw" : "ro"},
             {"required", mount.required}};
}

Value encode_network(const Network& network) {
  switch (network.mode) {
    case NetworkMode::kOff:
      return Map{{"mode", "off"}};
    case NetworkMode::kFull:
      return Map{{"mode", "full"}};
    case NetworkMode::kProxy:
      break;
  }
  return Map{{"mode", "proxy"}, {"allow", encode_texts(network.allow)}, {"proxy", text_or_bytes(network.proxy)}};
}

Value encode_scratch(const Scratch& scratch) {
  return scratch.is_tmpfs() ? Value("tmpfs") : text_or_bytes(scratch.host_path);
}

Value encode_policy(const Policy& policy) {
  Array mounts;
  for (const Mount& mount : policy.mounts) mounts.push_back(encode_mount(mount));
  return Map{{"v", kPolicyVersion},
             {"writable_roots", encode_paths(policy.writable_roots)},
             {"readable_roots", encode_paths(policy.readable_roots)},
             {"frozen", encode_paths(policy.frozen)},
             {"protected", encode_paths(policy.protected_paths)},
             {"mounts", std::move(mounts)},
             {"network", encode_network(policy.network)},
             {"limits", encode_limits(policy.limits)},
             {"env_allow", encode_texts(policy.env_allow)},
             {"scratch", encode_scratch(policy.scratch)}};
}

Result<std::string> render_policy_json(const Policy& policy) {
  const Value value = encode_policy(policy);
  std::string place;
  if (find_bytes(value, place))
    return fail("not_utf8", std::move(place), "a path that is not UTF-8, which JSON cannot hold",
                "the document as wire bytes keeps it: --msgpack, or convert --to msgpack");
  return render_json_pretty(value) + "\n";
}

std::string render_policy_msgpack(const Policy& policy) {
  return render_msgpack_sorted(encode_policy(policy));
}

std::string policy_digest(const Policy& policy) {
  Policy normal = policy;
  for (auto* list :
       {&normal.writable_roots, &normal.readable_roots, &normal.frozen, &normal.protected_paths, &normal.env_allow})
    sort_and_deduplicate(*list);
  return sha256_hex(render_policy_msgpack(normal));
}

}  // namespace loom
