#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "plan/seccomp_filter.h"
#include "plan/seccomp_table.h"
#include "test/support/bpf_eval.h"
#include "test/support/seccomp_reference.h"

namespace loom {
namespace {

using test::eval_bpf;
using test::kAllow;
using test::refused_with;
using test::SeccompCall;

constexpr NetworkMode kModes[] = {NetworkMode::kOff, NetworkMode::kProxy, NetworkMode::kFull};
constexpr std::uint64_t kHighGarbage = 0xdeadbeef00000000;

std::uint32_t arch_of(Machine machine) {
  return machine == Machine::kX86_64 ? test::kArchX86_64 : test::kArchArm64;
}

class Filter {
 public:
  explicit Filter(NetworkMode mode = NetworkMode::kOff, Machine machine = Machine::kX86_64, bool pid_namespace = true)
      : machine_(machine), program_(compile_seccomp(seccomp_table({mode, pid_namespace}), machine)) {}

  std::uint32_t ask(std::uint32_t number, std::array<std::uint64_t, 6> args = {}) const {
    return ask_as(arch_of(machine_), number, args);
  }
  std::uint32_t ask_as(std::uint32_t arch, std::uint32_t number, std::array<std::uint64_t, 6> args = {}) const {
    const auto answer = eval_bpf(program_, SeccompCall{number, arch, args});
    EXPECT_TRUE(answer) << "the program has no answer";
    return answer.value_or(0);
  }

 private:
  Machine machine_;
  std::string program_;
};

// Arguments for which every test of the row holds.
std::array<std::uint64_t, 6> arguments_of(const SeccompRow& row) {
  std::array<std::uint64_t, 6> args{};
  for (const ArgTest& test : row.tests) {
    args[test.index] = test.in ? test.values.front() : (test.mask & ~test.values.back() & 0x7fffffff);
  }
  return args;
}

TEST(SeccompTable, EveryRowIsRefusedWithItsErrnoOnBothMachines) {
  for (const NetworkMode mode : kModes) {
    for (const Machine machine : {Machine::kX86_64, Machine::kArm64}) {
      const Filter filter(mode, machine);
      for (const SeccompRow& row : seccomp_table({mode, true})) {
        const int number = number_on(row, machine);
        if (number < 0) continue;
        auto args = arguments_of(row);
        EXPECT_EQ(filter.ask(static_cast<std::uint32_t>(number), args), refused_with(row.error)) << row.name;
        for (std::uint64_t& arg : args) arg |= kHighGarbage;
        EXPECT_EQ(filter.ask(static_cast<std::uint32_t>(number), args), refused_with(row.error))
            << row.name << ": the upper half of an argument must not matter";
      }
    }
  }
}

TEST(SeccompTable, ACallWithoutRowIsAllowed) {
  const Filter filter;
  std::set<int> named;
  for (const SeccompRow& row : seccomp_table({})) named.insert(row.x86_64);
  for (int number = 0; number <= static_cast<int>(kLastKnownSyscall); ++number) {
    if (named.count(number) == 0) {
      EXPECT_EQ(filter.ask(static_cast<std::uint32_t>(number), {~0ULL, ~0ULL, ~0ULL}), kAllow) << number;
    }
  }
}

TEST(SeccompTable, NamesAndNumbersAgreeWithLibseccompOnBothMachines) {
  int known = 0;
  for (const SeccompRow& row : seccomp_table({NetworkMode::kProxy, false})) {
    for (const Machine machine : {Machine::kX86_64, Machine::kArm64}) {
      const int theirs = test::number_by_name(row.name, machine);
      // What it does not know is one of the newest, whose numbers are the same everywhere.
      if (theirs < 0 && number_on(row, machine) >= 0) {
        EXPECT_GE(number_on(row, machine), 451) << row.name;
        EXPECT_EQ(row.x86_64, row.arm64) << row.name;
      } else {
        EXPECT_EQ(theirs, number_on(row, machine)) << row.name;
        ++known;
      }
    }
  }
  EXPECT_GT(known, 100);
  EXPECT_EQ(test::number_by_name("no_such_call", Machine::kX86_64), -1);
}

TEST(SeccompTable, EveryRowHasAReasonAndNoneIsAboveTheTable) {
  for (const NetworkMode mode : kModes) {
    for (const SeccompRow& row : seccomp_table({mode, false})) {
      EXPECT_FALSE(row.reason.empty()) << row.name;
      EXPECT_LE(row.x86_64, static_cast<int>(kLastKnownSyscall));
      EXPECT_GT(row.error, 0) << row.name;
      for (const ArgTest& test : row.tests) {
        EXPECT_FALSE(test.values.empty()) << row.name;
        EXPECT_LT(test.index, 6U) << row.name;
      }
    }
  }
}

TEST(SeccompFilter, ForeignArchitecturesDoNotExist) {
  const Filter x86;
  for (const std::uint32_t arch : {test::kArchI386, test::kArchArm64, 0U, 0xffffffffU}) {
    for (std::uint32_t number = 0; number < 500; ++number) {
      ASSERT_EQ(x86.ask_as(arch, number), refused_with(kEnosys)) << arch << " " << number;
    }
  }
  const Filter arm(NetworkMode::kFull, Machine::kArm64);
  EXPECT_EQ(arm.ask_as(test::kArchX86_64, 0), refused_with(kEnosys));
  EXPECT_EQ(arm.ask_as(0x40000028 /* 32-bit ARM */, 0), refused_with(kEnosys));
}

TEST(SeccompFilter, X32AndNumbersAboveTheTableDoNotExist) {
  const Filter filter;
  for (std::uint32_t number = 0; number < 600; ++number) {
    ASSERT_EQ(filter.ask(number | test::kX32Bit), refused_with(kEnosys)) << number;
  }
  EXPECT_EQ(filter.ask(kLastKnownSyscall), kAllow);
  for (const std::uint32_t number : {kLastKnownSyscall + 1, 1000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    EXPECT_EQ(filter.ask(number), refused_with(kEnosys)) << number;
  }
}

TEST(SeccompFilter, EachNetworkModeHasItsFamilies) {
  const std::set<std::uint32_t> allowed[] = {{1}, {1, 2, 10}, {1, 2, 10, 16}};
  for (std::size_t mode = 0; mode < 3; ++mode) {
    const Filter filter(kModes[mode]);
    for (std::uint32_t family = 0; family < 300; ++family) {
      const bool expected = allowed[mode].count(family) != 0;
      const std::uint32_t answer = expected ? kAllow : refused_with(kEafnosupport);
      ASSERT_EQ(filter.ask(41, {family, 1, 0}), answer) << family;
      ASSERT_EQ(filter.ask(53, {family, 1, 0}), answer) << family;
      ASSERT_EQ(filter.ask(41, {family | kHighGarbage, 1, 0}), answer) << family;
    }
  }
}

TEST(SeccompFilter, TheProxyModeHasStreamsOnly) {
  const Filter filter(NetworkMode::kProxy);
  for (const std::uint64_t family : {2U, 10U}) {
    EXPECT_EQ(filter.ask(41, {family, 1 | 02000000 | 04000, 0}), kAllow);
    EXPECT_EQ(filter.ask(41, {family, 1, 6}), kAllow);
    for (const std::uint64_t type : {0U, 2U, 3U, 5U, 10U}) {
      EXPECT_EQ(filter.ask(41, {family, type, 0}), refused_with(kEafnosupport)) << type;
    }
    for (const std::uint64_t protocol : {1U, 17U, 132U, 262U}) {
      EXPECT_EQ(filter.ask(41, {family, 1, protocol}), refused_with(kEafnosupport)) << protocol;
    }
  }
  EXPECT_EQ(filter.ask(41, {1, 2, 0}), kAllow) << "a datagram socket of the Unix family";
}

TEST(SeccompFilter, NetlinkIsForRoutesOnlyAndOnlyInTheFullMode) {
  const Filter filter(NetworkMode::kFull);
  EXPECT_EQ(filter.ask(41, {16, 3, 0}), kAllow);
  for (const std::uint64_t protocol : {4U, 9U, 12U, 15U}) {
    EXPECT_EQ(filter.ask(41, {16, 3, protocol}), refused_with(kEafnosupport)) << protocol;
  }
  EXPECT_EQ(filter.ask(41, {2, 3, 1}), kAllow) << "other families take any protocol here";
}

TEST(SeccompFilter, TerminalRequestsAreJudgedOnTheirLowHalf) {
  const Filter filter;
  EXPECT_EQ(filter.ask(16, {0, 0x5412}), refused_with(kEperm));
  EXPECT_EQ(filter.ask(16, {0, 0x541c}), refused_with(kEperm));
  EXPECT_EQ(filter.ask(16, {0, 0x100005412}), refused_with(kEperm));
  EXPECT_EQ(filter.ask(16, {0, 0x5413}), kAllow);
}

TEST(SeccompFilter, NamespaceFlagsAreJudgedOneByOneAndThreadsAreFree) {
  const Filter filter;
  constexpr std::uint64_t kThread = 0x3d0f00;  // what a C library makes a thread with
  EXPECT_EQ(filter.ask(56, {kThread}), kAllow);
  EXPECT_EQ(filter.ask(56, {17}), kAllow) << "fork";
  EXPECT_EQ(filter.ask(56, {0x4111}), kAllow) << "vfork";
  EXPECT_EQ(filter.ask(272, {0x400}), kAllow) << "unshare(CLONE_FILES)";
  EXPECT_EQ(filter.ask(272, {0x80}), refused_with(kEperm)) << "unshare(CLONE_NEWTIME)";
  for (const std::uint64_t flag :
       {0x20000ULL, 0x2000000ULL, 0x4000000ULL, 0x8000000ULL, 0x10000000ULL, 0x20000000ULL, 0x40000000ULL}) {
    EXPECT_EQ(filter.ask(56, {kThread | flag}), refused_with(kEperm)) << flag;
    EXPECT_EQ(filter.ask(272, {flag | kHighGarbage}), refused_with(kEperm)) << flag;
  }
  EXPECT_EQ(filter.ask(435, {1, 88}), refused_with(kEnosys)) << "clone3";
}

TEST(SeccompFilter, SetIdBitsAreRefusedWhereverAModeIsGivenAndOnlyThere) {
  const Filter filter;
  for (const std::uint64_t mode : {04755U, 02755U, 06000U}) {
    const auto no = refused_with(kEperm);
    EXPECT_EQ(filter.ask(90, {0, mode}), no);
    EXPECT_EQ(filter.ask(91, {0, mode}), no);
    EXPECT_EQ(filter.ask(268, {0, 0, mode}), no);
    EXPECT_EQ(filter.ask(452, {0, 0, mode}), no);
    EXPECT_EQ(filter.ask(85, {0, mode}), no);
    EXPECT_EQ(filter.ask(133, {0, mode | 0100000}), no);
    EXPECT_EQ(filter.ask(259, {0, 0, mode | 0100000}), no);
    EXPECT_EQ(filter.ask(2, {0, 0101, mode}), no);
    EXPECT_EQ(filter.ask(257, {0, 0, 0101, mode}), no);
    EXPECT_EQ(filter.ask(257, {0, 0, 020200002, mode}), no) << "O_TMPFILE";
    EXPECT_EQ(filter.ask(257, {0, 0, 2, mode}), kAllow) << "without O_CREAT the mode is not read";
  }
  EXPECT_EQ(filter.ask(90, {0, 0755}), kAllow);
  EXPECT_EQ(filter.ask(90, {0, 01777}), kAllow) << "the sticky bit is harmless";
  EXPECT_EQ(filter.ask(257, {0, 0, 0101, 0644}), kAllow);
  EXPECT_EQ(filter.ask(437, {}), refused_with(kEnosys)) << "openat2";
}

TEST(SeccompFilter, InitsLimitsAreOutOfReachAndOwnLimitsAreNot) {
  const Filter filter;
  EXPECT_EQ(filter.ask(302, {1, 7}), refused_with(kEperm));
  EXPECT_EQ(filter.ask(302, {1 | kHighGarbage, 7}), refused_with(kEperm));
  EXPECT_EQ(filter.ask(302, {0, 7}), kAllow);
  EXPECT_EQ(filter.ask(302, {2, 7}), kAllow);
}

TEST(SeccompFilter, InitsPriorityIsOutOfReachByProcessGroupAndUserAndOnesOwnIsNot) {
  const Filter filter;
  for (const std::uint64_t which : {0, 1}) {
    EXPECT_EQ(filter.ask(141, {which, 1 | kHighGarbage, 19}), refused_with(kEperm)) << which;
    for (const std::uint64_t who : {0, 2, 77}) EXPECT_EQ(filter.ask(141, {which, who, 19}), kAllow);
  }
  EXPECT_EQ(filter.ask(141, {2 | kHighGarbage, 0, 19}), refused_with(kEperm));
  for (const std::uint64_t which : {1, 2}) {
    EXPECT_EQ(filter.ask(251, {which, 1, 0}), refused_with(kEperm)) << which;
    EXPECT_EQ(filter.ask(251, {which, 0, 0}), kAllow) << which;
  }
  EXPECT_EQ(filter.ask(251, {3, 0, 0}), refused_with(kEperm));
  for (const int call : {142, 144, 203, 314}) {
    const auto number = static_cast<std::uint32_t>(call);
    EXPECT_EQ(filter.ask(number, {1 | kHighGarbage}), refused_with(kEperm)) << call;
    for (const std::uint64_t pid : {0, 2, 1000}) EXPECT_EQ(filter.ask(number, {pid}), kAllow) << call;
  }
  for (const int call : {140, 204, 145}) {
    EXPECT_EQ(filter.ask(static_cast<std::uint32_t>(call), {1, 1}), kAllow) << call;
  }
}

TEST(SeccompFilter, TracingStaysWhereAPidNamespaceBoundsIt) {
  const Filter bounded;
  const Filter unbounded(NetworkMode::kOff, Machine::kX86_64, false);
  for (const std::uint32_t number : {101U, 310U, 311U, 438U}) {
    EXPECT_EQ(bounded.ask(number), kAllow) << number;
    EXPECT_EQ(unbounded.ask(number), refused_with(kEperm)) << number;
  }
}

TEST(SeccompFilter, AgreesWithLibseccompOnEveryCallBothKnow) {
  if (kThisMachine != Machine::kX86_64) GTEST_SKIP() << "the calls below are numbered for x86-64";
  std::mt19937_64 random(20261129);
  const std::uint64_t interesting[] = {0,      1,      2,          6,          10,         16,        17,   21,    40,
                                       0x40,   0x5412, 0x541c,     04755,      02000,      0644,      0x80, 0x400, 63,
                                       0x4011, 262,    0x00020000, 0x10000000, 0x40000000, 0x1000001, ~0ULL};
  for (const NetworkMode mode : kModes) {
    const auto rows = seccomp_table({mode, true});
    const std::string ours = compile_seccomp(rows, kThisMachine);
    const std::string theirs = test::reference_seccomp(rows);
    ASSERT_FALSE(theirs.empty());
    for (int round = 0; round < 20000; ++round) {
      SeccompCall call;
      const bool of_table = random() % 2 == 0;
      call.number = of_table ? static_cast<std::uint32_t>(rows[random() % rows.size()].x86_64)
                             : static_cast<std::uint32_t>(random() % (kLastKnownSyscall + 1));
      for (std::uint64_t& arg : call.args) {
        arg = interesting[random() % std::size(interesting)] | (random() % 4 == 0 ? kHighGarbage : 0);
      }
      ASSERT_EQ(eval_bpf(ours, call), eval_bpf(theirs, call))
          << call.number << " " << call.args[0] << " " << call.args[1] << " " << call.args[2] << " " << call.args[3];
    }
  }
}

// In a child of its own: answers the probes' outcome under the real kernel.
int probe_in_child(NetworkMode mode, bool load) {
  const std::string program = compile_seccomp(seccomp_table({mode, true}), kThisMachine);
  const auto probes = seccomp_probes({mode, true}, kThisMachine);
  const pid_t child = ::fork();
  if (child == 0) {
    sock_fprog filter{static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
                      reinterpret_cast<sock_filter*>(const_cast<char*>(program.data()))};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (load && ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) ::_exit(100);
    int held = 0;
    for (const SeccompProbe& probe : probes) {
      const long answer = ::syscall(probe.number, probe.args[0], probe.args[1], probe.args[2], 0, 0, 0);
      if (answer == -1 && errno == probe.error) ++held;
    }
    ::_exit(held);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(SeccompProbes, AreRefusedUnderTheFilterAndAnsweredOtherwiseWithoutIt) {
  for (const NetworkMode mode : kModes) {
    const int all = static_cast<int>(seccomp_probes({mode, true}, kThisMachine).size());
    EXPECT_EQ(probe_in_child(mode, true), all);
    EXPECT_EQ(probe_in_child(mode, false), 0);
  }
}

TEST(SeccompProbes, ThereIsOneForEachActionOfEachLayer) {
  for (const NetworkMode mode : kModes) {
    std::set<std::pair<bool, int>> actions;
    std::set<std::pair<bool, int>> probed;
    for (const SeccompRow& row : seccomp_table({mode, true})) actions.emplace(row.net, row.error);
    for (const SeccompProbe& probe : seccomp_probes({mode, true}, kThisMachine)) probed.emplace(probe.net, probe.error);
    EXPECT_EQ(actions, probed);
  }
}

TEST(BpfEval, AMalformedProgramHasNoAnswer) {
  EXPECT_FALSE(eval_bpf("", {}));
  EXPECT_FALSE(eval_bpf("1234567", {}));
  EXPECT_FALSE(eval_bpf(std::string("\x05\0\0\0\x09\0\0\0", 8), {})) << "a jump past the end";
  EXPECT_FALSE(eval_bpf(std::string("\x20\0\0\0\x40\0\0\0", 8), {})) << "a load past the data";
  EXPECT_EQ(eval_bpf(std::string("\x06\0\0\0\x07\0\0\0", 8), {}), 7U);
}

}  // namespace
}  // namespace loom
