#include "test/support/bpf_eval.h"

#include <cstring>

namespace loom::test {
namespace {

struct Instruction {
  std::uint16_t code;
  std::uint8_t if_true;
  std::uint8_t if_false;
  std::uint32_t k;
};
static_assert(sizeof(Instruction) == 8);

constexpr std::uint32_t kDataBytes = 64;  // struct seccomp_data

std::array<unsigned char, kDataBytes> lay_out(const SeccompCall& call) {
  std::array<unsigned char, kDataBytes> data{};
  std::memcpy(data.data(), &call.number, 4);
  std::memcpy(data.data() + 4, &call.arch, 4);
  std::memcpy(data.data() + 16, call.args.data(), 48);
  return data;
}

// The jump to take, or nothing for another kind of instruction.
std::optional<std::uint32_t> jump(const Instruction& in, std::uint32_t a) {
  const auto branch = [&in](bool taken) { return std::uint32_t{taken ? in.if_true : in.if_false}; };
  switch (in.code) {
    case 0x05:
      return in.k;
    case 0x15:
      return branch(a == in.k);
    case 0x25:
      return branch(a > in.k);
    case 0x35:
      return branch(a >= in.k);
    case 0x45:
      return branch((a & in.k) != 0);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::uint32_t> eval_bpf(std::string_view program, const SeccompCall& call) {
  if (program.size() % sizeof(Instruction) != 0) return std::nullopt;
  const auto data = lay_out(call);
  std::uint32_t a = 0;
  const std::size_t count = program.size() / sizeof(Instruction);
  for (std::size_t at = 0; at < count; ++at) {
    Instruction in{};
    std::memcpy(&in, program.data() + at * sizeof(Instruction), sizeof in);
    if (const auto distance = jump(in, a)) {
      at += *distance;
    } else if (in.code == 0x20 && in.k % 4 == 0 && in.k < kDataBytes) {
      std::memcpy(&a, data.data() + in.k, 4);
    } else if (in.code == 0x54) {
      a &= in.k;
    } else if (in.code == 0x06) {
      return in.k;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace loom::test
