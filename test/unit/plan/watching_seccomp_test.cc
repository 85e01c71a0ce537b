// The filter of a watched command (--why): what it refuses by itself, what it tells, and what it leaves alone.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plan/file_calls.h"
#include "plan/seccomp_filter.h"
#include "plan/seccomp_table.h"
#include "test/support/bpf_eval.h"

namespace loom {
namespace {

using test::eval_bpf;
using test::kAllow;
using test::refused_with;

constexpr std::uint32_t kNotify = 0x7fc00000;
constexpr Machine kMachines[] = {Machine::kX86_64, Machine::kArm64};

std::uint32_t arch_of(Machine machine) {
  return machine == Machine::kX86_64 ? test::kArchX86_64 : test::kArchArm64;
}

bool is_told(const std::vector<FileCall>& told, Machine machine, int number) {
  for (const FileCall& call : told) {
    if (number_on(call, machine) == number) return true;
  }
  return false;
}

std::array<std::uint64_t, 6> drawn_args(std::mt19937& random) {
  constexpr std::uint64_t kInteresting[] = {0,     1,     2,       10,       16,         17,   0x5412,     0x541c,
                                            04755, 02000, 0x20000, 0x400000, 0x10000000, 0x40, 0xffffffff, 0x80};
  std::array<std::uint64_t, 6> args{};
  for (std::uint64_t& arg : args) arg = kInteresting[random() % std::size(kInteresting)];
  return args;
}

// The rule, said once more in other words: whatever the plain filter lets through, this one lets through or tells; what
// that one refuses, this one refuses with the same errno or tells of a call that the supervisor refuses.
std::uint32_t expected(std::uint32_t plain, bool told) {
  if (plain == kAllow) return told ? kNotify : kAllow;
  return told || plain == refused_with(kEnosys) ? plain : kNotify;
}

TEST(WatchingSeccomp, TellsExactlyWhatThePlainFilterRefusesAndTheFileCalls) {
  std::mt19937 random(7);
  for (const Machine machine : kMachines) {
    const auto rows = seccomp_table({NetworkMode::kOff, true});
    const std::string plain = compile_seccomp(rows, machine);
    for (const std::vector<FileCall>& told : {std::vector<FileCall>(), file_calls()}) {
      const std::string watching = compile_watching_seccomp(rows, told, machine);
      unsigned notified = 0;
      for (int i = 0; i < 40000; ++i) {
        const test::SeccompCall call{static_cast<std::uint32_t>(random() % (kLastKnownSyscall + 5)), arch_of(machine),
                                     drawn_args(random)};
        const auto before = eval_bpf(plain, call);
        const auto now = eval_bpf(watching, call);
        ASSERT_TRUE(before && now);
        ASSERT_EQ(*now, expected(*before, is_told(told, machine, static_cast<int>(call.number)))) << call.number;
        notified += *now == kNotify ? 1 : 0;
      }
      EXPECT_GT(notified, 1000U);
    }
  }
}

TEST(WatchingSeccomp, ASetIdModeIsRefusedByTheKernelItselfWhereFileCallsAreTold) {
  const std::string watching =
      compile_watching_seccomp(seccomp_table({NetworkMode::kOff, true}), file_calls(), Machine::kX86_64);
  EXPECT_EQ(eval_bpf(watching, {90, test::kArchX86_64, {0, 04755}}), refused_with(kEperm));
  EXPECT_EQ(eval_bpf(watching, {90, test::kArchX86_64, {0, 0755}}), kNotify);
}

TEST(WatchingSeccomp, ForeignMachinesAndUnknownNumbersStayTheKernels) {
  const auto rows = seccomp_table({NetworkMode::kOff, true});
  const std::string watching = compile_watching_seccomp(rows, file_calls(), Machine::kX86_64);
  EXPECT_EQ(eval_bpf(watching, {5, test::kArchI386, {}}), refused_with(kEnosys));
  EXPECT_EQ(eval_bpf(watching, {kLastKnownSyscall + 1, test::kArchX86_64, {}}), refused_with(kEnosys));
  EXPECT_EQ(eval_bpf(watching, {257 | test::kX32Bit, test::kArchX86_64, {}}), refused_with(kEnosys));
}

// The supervisor knows one errno a call: the rows of one call must not differ.
TEST(WatchingSeccomp, TheRowsOfOneCallAgreeOnTheirErrno) {
  for (const NetworkMode mode : {NetworkMode::kOff, NetworkMode::kProxy, NetworkMode::kFull}) {
    for (const Machine machine : kMachines) {
      std::map<int, int> errors;
      for (const SeccompRow& row : seccomp_table({mode, false})) {
        const int number = number_on(row, machine);
        if (number < 0) continue;
        EXPECT_EQ(errors.emplace(number, row.error).first->second, row.error) << row.name;
      }
    }
  }
}

TEST(WatchingSeccomp, TheRefusingRowIsTheFiltersOwn) {
  std::mt19937 random(11);
  for (const Machine machine : kMachines) {
    const auto rows = seccomp_table({NetworkMode::kProxy, true});
    const std::string plain = compile_seccomp(rows, machine);
    for (int i = 0; i < 40000; ++i) {
      const test::SeccompCall call{static_cast<std::uint32_t>(random() % (kLastKnownSyscall + 1)), arch_of(machine),
                                   drawn_args(random)};
      std::array<std::uint32_t, 6> low{};
      for (std::size_t k = 0; k < low.size(); ++k) low[k] = static_cast<std::uint32_t>(call.args[k]);
      const SeccompRow* row = refusing_row(rows, machine, static_cast<int>(call.number), low);
      EXPECT_EQ(eval_bpf(plain, call), row == nullptr ? kAllow : refused_with(row->error)) << call.number;
    }
  }
}

TEST(FileCalls, EachHasANumberAndNoneIsListedTwice) {
  for (const Machine machine : kMachines) {
    std::map<int, std::string_view> numbers;
    for (const FileCall& call : file_calls()) {
      EXPECT_TRUE(call.x86_64 >= 0) << call.name;
      const int number = number_on(call, machine);
      if (number < 0) continue;
      EXPECT_TRUE(numbers.emplace(number, call.name).second) << call.name;
    }
  }
}

}  // namespace
}  // namespace loom
