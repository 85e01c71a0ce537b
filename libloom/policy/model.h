// The policy document as a value (spec/policy.md, version 3). Decoded once, strictly; composed by pure functions;
// carried to the jail; answered by an enforcement report. Plain data: no invariants beyond what validate() says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loom {

// Absolute, canonical, any bytes but NUL. Not necessarily UTF-8.
using Path = std::string;

enum class Access { kReadOnly, kReadWrite };

struct Mount {  // one bind of a host path onto the same path: exact, never a subtree rule
  Path path;
  Access access = Access::kReadOnly;
  bool required = true;
  friend bool operator==(const Mount&, const Mount&) = default;
};

enum class NetworkMode { kOff, kProxy, kFull };  // in the order of the lattice

struct Network {
  NetworkMode mode = NetworkMode::kOff;
  std::vector<std::string> allow;  // ENTRY strings (spec/egress.md); proxy only
  std::string proxy;               // proxy only; "" is the broker's own, else an absolute socket path
  friend bool operator==(const Network&, const Network&) = default;
};

struct Limits {  // 0: no limit of this kind
  std::uint64_t cpu_s = 0;
  std::uint64_t wall_s = 0;
  std::uint64_t mem_bytes = 0;
  std::uint64_t pids = 0;
  std::uint64_t fsize_bytes = 0;
  std::uint64_t output_bytes = 0;
  friend bool operator==(const Limits&, const Limits&) = default;
};

// The six, in the document's order: whatever is done to each limit is done over this table.
struct LimitField {
  std::string_view name;
  std::uint64_t Limits::*member;
};
inline constexpr std::array<LimitField, 6> kLimitFields = {{{"cpu_s", &Limits::cpu_s},
                                                            {"wall_s", &Limits::wall_s},
                                                            {"mem_bytes", &Limits::mem_bytes},
                                                            {"pids", &Limits::pids},
                                                            {"fsize_bytes", &Limits::fsize_bytes},
                                                            {"output_bytes", &Limits::output_bytes}}};

struct Scratch {
  Path host_path;  // empty: "tmpfs", a fresh one at /tmp
  [[nodiscard]] bool is_tmpfs() const { return host_path.empty(); }
  friend bool operator==(const Scratch&, const Scratch&) = default;
};

struct Policy {
  std::vector<Path> writable_roots;
  std::vector<Path> readable_roots;
  std::vector<Path> frozen;
  std::vector<Path> protected_paths;  // "protected" in the document
  std::vector<Mount> mounts;
  Network network;
  Limits limits;
  std::vector<std::string> env_allow;
  Scratch scratch;
  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace loom
