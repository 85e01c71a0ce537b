// Policies at random over a handful of names, so that roots meet, nest and miss each other often.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "policy/compose.h"
#include "policy/decode.h"
#include "policy/upgrade.h"
#include "policy/validate.h"

namespace loom {

// How a counterexample is printed.
inline void showValue(const Policy& policy, std::ostream& out) {
  out << render_json(encode_policy(policy));
}
inline void showValue(const Grant& grant, std::ostream& out) {
  out << render_json(encode_grant(grant));
}

}  // namespace loom

namespace loom::test {

// Composition is the core that must not be wrong: twice the usual number of runs, unless RC_PARAMS says otherwise.
inline const bool kMoreRuns = ::setenv("RC_PARAMS", "seed=20261129 max_success=600", 0) == 0;

inline rc::Gen<Path> any_path() {
  const auto component = rc::gen::element<std::string>("a", "b", "ab", "a.b", "\xff");
  return rc::gen::map(rc::gen::resize(3, rc::gen::container<std::vector<std::string>>(component)),
                      [](const std::vector<std::string>& components) {
                        std::string path;
                        for (const std::string& name : components) path += "/" + name;
                        return path.empty() ? std::string("/") : path;
                      });
}

inline rc::Gen<std::vector<Path>> some_paths() {
  return rc::gen::resize(3, rc::gen::container<std::vector<Path>>(any_path()));
}

inline rc::Gen<std::string> any_entry() {
  return rc::gen::element<std::string>("a.test", "b.a.test", "*.a.test", "*.test", "*.b.a.test", "a.test:8443",
                                       "http://a.test", "http://*.test", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3",
                                       "10.1.2.3:80", "2001:db8::/32", "[2001:db8::1]:8443", "2001:db8::1",
                                       "0.0.0.0/0");
}

inline rc::Gen<Network> any_network() {
  return rc::gen::build<Network>(
      rc::gen::set(&Network::mode, rc::gen::element(NetworkMode::kOff, NetworkMode::kProxy, NetworkMode::kFull)),
      rc::gen::set(&Network::allow, rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(any_entry()))),
      rc::gen::set(&Network::proxy, rc::gen::element<std::string>("", "/run/p", "/run/q")));
}

inline rc::Gen<std::uint64_t> any_limit() {
  return rc::gen::element<std::uint64_t>(0, 1, 2, 127, 128, 65536, 1ULL << 32U, static_cast<std::uint64_t>(INT64_MAX));
}

inline rc::Gen<Mount> any_mount() {
  return rc::gen::build<Mount>(rc::gen::set(&Mount::path, any_path()),
                               rc::gen::set(&Mount::access, rc::gen::element(Access::kReadOnly, Access::kReadWrite)),
                               rc::gen::set(&Mount::required, rc::gen::arbitrary<bool>()));
}

// A sound document: what validation refuses in a draft is taken out of it.
inline Policy made_sound(Policy draft) {
  if (draft.network.mode != NetworkMode::kProxy) draft.network = Network{draft.network.mode, {}, ""};
  if (draft.scratch.host_path == "/") draft.scratch = Scratch{};
  draft.readable_roots = freeze_readable_inside_writable(draft).readable_roots;
  std::vector<Mount> mounts;
  mounts.swap(draft.mounts);
  for (const Mount& mount : mounts) {
    draft.mounts.push_back(mount);
    if (!validate_document(draft)) draft.mounts.pop_back();
  }
  return draft;
}

inline rc::Gen<Policy> any_policy() {
  const auto limits = rc::gen::build<Limits>(
      rc::gen::set(&Limits::cpu_s, any_limit()), rc::gen::set(&Limits::wall_s, any_limit()),
      rc::gen::set(&Limits::mem_bytes, any_limit()), rc::gen::set(&Limits::pids, any_limit()),
      rc::gen::set(&Limits::fsize_bytes, any_limit()), rc::gen::set(&Limits::output_bytes, any_limit()));
  const auto names = rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(
                                            rc::gen::element<std::string>("PATH", "HOME", "LANG", "A", "AB")));
  const auto scratch = rc::gen::build<Scratch>(
      rc::gen::set(&Scratch::host_path, rc::gen::element<std::string>("", "/a", "/a/b/ab", "/b")));
  const auto draft = rc::gen::build<Policy>(
      rc::gen::set(&Policy::writable_roots, some_paths()), rc::gen::set(&Policy::readable_roots, some_paths()),
      rc::gen::set(&Policy::frozen, some_paths()), rc::gen::set(&Policy::protected_paths, some_paths()),
      rc::gen::set(&Policy::mounts, rc::gen::resize(4, rc::gen::container<std::vector<Mount>>(any_mount()))),
      rc::gen::set(&Policy::network, any_network()), rc::gen::set(&Policy::limits, limits),
      rc::gen::set(&Policy::env_allow, names), rc::gen::set(&Policy::scratch, scratch));
  return rc::gen::map(draft, made_sound);
}

inline rc::Gen<Grant> any_grant() {
  const auto of = [](std::string kind, auto values) {
    return rc::gen::map(values, [kind](const auto& value) { return Grant{kind, "", Value(value)}; });
  };
  const auto path_value = rc::gen::map(any_path(), [](const Path& path) { return text_or_bytes(path); });
  const auto limit = rc::gen::map(rc::gen::pair(rc::gen::element<std::string>("cpu_s", "pids"), any_limit()),
                                  [](const std::pair<std::string, std::uint64_t>& pair) {
                                    return Grant{"limit", pair.first, Value(pair.second)};
                                  });
  const auto proxy = rc::gen::map(any_entry(), [](const std::string& entry) {
    return Value(Map{{"mode", "proxy"}, {"allow", Array{Value(entry)}}});
  });
  return rc::gen::oneOf(of("writable_root", path_value), of("readable_root", path_value),
                        of("env", rc::gen::element<std::string>("PATH", "A", "NEW")), of("network", proxy),
                        of("network", rc::gen::just(std::string("full"))),
                        of("scratch", rc::gen::just(std::string("/b/a"))), limit);
}

inline rc::Gen<std::vector<Grant>> some_grants() {
  return rc::gen::resize(3, rc::gen::container<std::vector<Grant>>(any_grant()));
}

}  // namespace loom::test
