// What the jail's seccomp filter refuses, as rows with a reason each; everything else is allowed (spec/jail.md "The
// in-process layers", "seccomp"; "Set-uid planting"). Pure data: seccomp_filter.h compiles it, tests evaluate it.
//
// Above the rows the filter answers ENOSYS to foreign architectures, to x32, and to every number above
// kLastKnownSyscall: what we have not judged does not exist.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/small_list.h"
#include "policy/model.h"

namespace loom {

enum class Machine { kX86_64, kArm64 };
#if defined(__aarch64__)
inline constexpr Machine kThisMachine = Machine::kArm64;
#else
inline constexpr Machine kThisMachine = Machine::kX86_64;
#endif

// file_setattr. The numbers of the two machines are the same from 424 on.
inline constexpr std::uint32_t kLastKnownSyscall = 469;

// The bridge's process number in the jail: the first that init starts (spec/egress.md "How the jail reaches it").
inline constexpr std::uint32_t kBridgePid = 2;

// errno values, the same on both machines.
inline constexpr int kEperm = 1;
inline constexpr int kEnosys = 38;
inline constexpr int kEafnosupport = 97;

// Of the low 32 bits of one argument, which are all the kernel looks at where an int is meant: holds when
// ((argument & mask) is one of values) == in.
struct ArgTest {
  unsigned index = 0;
  std::uint32_t mask = 0xffffffff;
  bool in = true;
  SmallList<std::uint32_t, 4> values;
};

struct SeccompRow {
  std::string_view name;
  int x86_64 = -1;  // -1: the machine has no such call
  int arm64 = -1;
  int error = kEperm;
  bool net = false;             // layer seccomp-net; else seccomp-base
  SmallList<ArgTest, 2> tests;  // all must hold; none: always refused
  std::string_view reason;
};

[[nodiscard]] inline int number_on(const SeccompRow& row, Machine machine) {
  switch (machine) {
    case Machine::kX86_64:
      return row.x86_64;
    case Machine::kArm64:
      return row.arm64;
  }
  return -1;
}

struct SeccompScope {
  NetworkMode network = NetworkMode::kOff;
  bool pid_namespace = true;  // false: without one nothing bounds ptrace and its like, and they are refused
};

[[nodiscard]] std::vector<SeccompRow> seccomp_table(const SeccompScope& scope);

// The row that refuses this call, or nothing: as the compiled filter judges it. `args` are the low halves.
[[nodiscard]] const SeccompRow* refusing_row(const std::vector<SeccompRow>& rows, Machine machine, int number,
                                             const std::array<std::uint32_t, 6>& args);

// Calls that show from inside that the filter holds, one for each action of each layer: refused with `error` by it,
// harmless and answered differently by a kernel without it, whatever the caller's rights.
struct SeccompProbe {
  std::string_view name;
  bool net = false;
  int number = -1;
  int error = 0;
  std::uint64_t args[3] = {0, 0, 0};
};
[[nodiscard]] std::vector<SeccompProbe> seccomp_probes(const SeccompScope& scope, Machine machine);

}  // namespace loom
