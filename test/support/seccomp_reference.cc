#include "test/support/seccomp_reference.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "os/unique_fd.h"

namespace loom::test {
namespace {

// libseccomp compares one value under one mask; so "none of" becomes every other value a small number can have, and
// every bit above.
std::vector<scmp_arg_cmp> comparisons(const ArgTest& test) {
  std::vector<scmp_arg_cmp> all;
  const auto add = [&](std::uint32_t mask, std::uint32_t value) {
    all.push_back(scmp_arg_cmp{test.index, SCMP_CMP_MASKED_EQ, mask, value});
  };
  if (test.in) {
    for (const std::uint32_t value : test.values) add(test.mask, value);
    return all;
  }
  constexpr std::uint32_t kSmall = 64;
  const bool only_zero_passes = test.values.size() == 1 && test.values.front() == 0;
  for (std::uint32_t value = 0; value < kSmall && !only_zero_passes; ++value) {
    const bool passes = std::find(test.values.begin(), test.values.end(), value) != test.values.end();
    if (!passes && (value & ~test.mask) == 0) add(test.mask, value);
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t value = 1U << bit;
    if ((test.mask & value) != 0 && (only_zero_passes || value >= kSmall)) add(value, value);
  }
  return all;
}

// One rule for each combination of the tests' comparisons.
std::vector<std::vector<scmp_arg_cmp>> rules_of(const SeccompRow& row) {
  std::vector<std::vector<scmp_arg_cmp>> rules = {{}};
  for (const ArgTest& test : row.tests) {
    std::vector<std::vector<scmp_arg_cmp>> longer;
    for (const auto& rule : rules) {
      for (const scmp_arg_cmp& comparison : comparisons(test)) {
        longer.push_back(rule);
        longer.back().push_back(comparison);
      }
    }
    rules = std::move(longer);
  }
  return rules;
}

bool add_row(scmp_filter_ctx context, const SeccompRow& row) {
  const int number = number_on(row, kThisMachine);
  if (number < 0) return true;
  for (const auto& rule : rules_of(row)) {
    const int answer = seccomp_rule_add_array(context, SCMP_ACT_ERRNO(static_cast<unsigned>(row.error)), number,
                                              static_cast<unsigned>(rule.size()), rule.empty() ? nullptr : rule.data());
    if (answer != 0 && answer != -EEXIST) return false;
  }
  return true;
}

std::string exported(scmp_filter_ctx context) {
  const UniqueFd file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!file || seccomp_export_bpf(context, file.get()) != 0) return {};
  std::string bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  return got == static_cast<ssize_t>(bytes.size()) ? bytes : std::string();
}

}  // namespace

std::string reference_seccomp(const std::vector<SeccompRow>& rows) {
  const std::unique_ptr<void, void (*)(void*)> context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!context || seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(kEnosys)) != 0) return {};
  const bool added =
      std::all_of(rows.begin(), rows.end(), [&](const SeccompRow& row) { return add_row(context.get(), row); });
  return added ? exported(context.get()) : std::string();
}

int number_by_name(std::string_view name, Machine machine) {
  const std::uint32_t arch = machine == Machine::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
  return std::max(-1, seccomp_syscall_resolve_name_arch(arch, std::string(name).c_str()));
}

}  // namespace loom::test
