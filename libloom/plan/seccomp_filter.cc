#include "plan/seccomp_filter.h"

#include <algorithm>
#include <cstdint>

namespace loom {
namespace {

struct Instruction {
  std::uint16_t code;
  std::uint8_t if_true;
  std::uint8_t if_false;
  std::uint32_t k;
};
using Code = std::vector<Instruction>;

constexpr std::uint16_t kLoad = 0x20;         // BPF_LD | BPF_W | BPF_ABS
constexpr std::uint16_t kAnd = 0x54;          // BPF_ALU | BPF_AND | BPF_K
constexpr std::uint16_t kJumpEqual = 0x15;    // BPF_JMP | BPF_JEQ | BPF_K
constexpr std::uint16_t kJumpAtLeast = 0x35;  // BPF_JMP | BPF_JGE | BPF_K
constexpr std::uint16_t kReturn = 0x06;       // BPF_RET | BPF_K

constexpr std::uint32_t kReturnAllow = 0x7fff0000;
constexpr std::uint32_t kReturnErrno = 0x00050000;
constexpr std::uint32_t kReturnNotify = 0x7fc00000;
constexpr std::uint32_t kNumberAt = 0;  // offsets in struct seccomp_data
constexpr std::uint32_t kArchAt = 4;
constexpr std::uint32_t kArgsAt = 16;

std::uint32_t arch_of(Machine machine) {
  switch (machine) {
    case Machine::kX86_64:
      return 0xc000003e;
    case Machine::kArm64:
      return 0xc00000b7;
  }
  return 0;
}

Instruction refuse_with(int error) {
  return {kReturn, 0, 0, kReturnErrno | static_cast<std::uint32_t>(error)};
}

// Marks a jump out of the row, whose distance is known once the row stands.
constexpr std::uint8_t kLeave = 0xff;

// Falls through when the test holds, leaves the row when not.
void emit_test(Code& code, const ArgTest& test) {
  code.push_back({kLoad, 0, 0, kArgsAt + 8 * test.index});  // little-endian: the low half comes first
  if (test.mask != 0xffffffff) code.push_back({kAnd, 0, 0, test.mask});
  for (std::size_t i = 0; i < test.values.size(); ++i) {
    const auto to_end = static_cast<std::uint8_t>(test.values.size() - i - 1);
    const bool last = to_end == 0;
    if (test.in) {
      code.push_back({kJumpEqual, to_end, last ? kLeave : std::uint8_t{0}, test.values[i]});
    } else {
      code.push_back({kJumpEqual, kLeave, 0, test.values[i]});
    }
  }
}

void emit_row(Code& code, const SeccompRow& row, const Instruction& answer) {
  const std::size_t first = code.size();
  for (const ArgTest& test : row.tests) emit_test(code, test);
  code.push_back(answer);
  for (std::size_t i = first; i < code.size(); ++i) {
    const auto to_end = static_cast<std::uint8_t>(code.size() - i - 1);
    if (code[i].if_true == kLeave) code[i].if_true = to_end;
    if (code[i].if_false == kLeave) code[i].if_false = to_end;
  }
}

struct Answers {
  bool notify = false;                     // the supervisor refuses
  const std::vector<int>* told = nullptr;  // the supervisor hears of these calls, and lets them go on
  [[nodiscard]] bool tells(int number) const {
    return told != nullptr && std::find(told->begin(), told->end(), number) != told->end();
  }
  [[nodiscard]] Instruction refusal(int number, int error) const {
    if (!notify || error == kEnosys || tells(number)) return refuse_with(error);
    return {kReturn, 0, 0, kReturnNotify};
  }
};

// All rows of one call: the first that holds answers.
void emit_call(Code& code, const std::vector<SeccompRow>& rows, Machine machine, int number, const Answers& answers) {
  const std::size_t question = code.size();
  code.push_back({kJumpEqual, 0, 0, static_cast<std::uint32_t>(number)});
  bool closed = false;  // by a row without tests
  for (const SeccompRow& row : rows) {
    if (closed || number_on(row, machine) != number) continue;
    emit_row(code, row, answers.refusal(number, row.error));
    closed = row.tests.empty();
  }
  if (!closed) code.push_back({kReturn, 0, 0, answers.tells(number) ? kReturnNotify : kReturnAllow});
  code[question].if_false = static_cast<std::uint8_t>(code.size() - question - 1);
}

std::vector<int> numbers_in_order(const std::vector<SeccompRow>& rows, Machine machine) {
  std::vector<int> numbers;
  for (const SeccompRow& row : rows) {
    const int number = number_on(row, machine);
    if (number >= 0 && std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  return numbers;
}

void put(std::string& bytes, std::uint32_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

std::string to_bytes(const Code& code) {
  std::string bytes;
  bytes.reserve(code.size() * 8);
  for (const Instruction& i : code) {
    put(bytes, i.code, 2);
    put(bytes, i.if_true, 1);
    put(bytes, i.if_false, 1);
    put(bytes, i.k, 4);
  }
  return bytes;
}

std::string compile(const std::vector<SeccompRow>& rows, Machine machine, const Answers& answers) {
  Code code = {
      {kLoad, 0, 0, kArchAt},   {kJumpEqual, 1, 0, arch_of(machine)},        refuse_with(kEnosys),
      {kLoad, 0, 0, kNumberAt}, {kJumpAtLeast, 0, 1, kLastKnownSyscall + 1}, refuse_with(kEnosys),
  };
  const std::vector<int> numbers = numbers_in_order(rows, machine);
  for (const int number : numbers) emit_call(code, rows, machine, number, answers);
  if (answers.told != nullptr) {
    for (const int number : *answers.told) {
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        emit_call(code, rows, machine, number, answers);
    }
  }
  code.push_back({kReturn, 0, 0, kReturnAllow});
  return to_bytes(code);
}

}  // namespace

std::string compile_seccomp(const std::vector<SeccompRow>& rows, Machine machine) {
  return compile(rows, machine, {});
}

std::string compile_watching_seccomp(const std::vector<SeccompRow>& rows, const std::vector<FileCall>& told,
                                     Machine machine) {
  std::vector<int> numbers;
  for (const FileCall& call : told) {
    if (number_on(call, machine) >= 0) numbers.push_back(number_on(call, machine));
  }
  return compile(rows, machine, {true, &numbers});
}

}  // namespace loom
