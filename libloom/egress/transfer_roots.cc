#include "egress/transfer_roots.h"

#include "os/fds.h"

namespace loom::egress {
namespace {

constexpr std::size_t kMaxPem = 1U << 20U;

}  // namespace

Result<std::optional<std::string>> read_roots(const Trust& trust) {
  if (trust.system_roots) return std::optional<std::string>();
  std::string all;
  for (const std::string& file : trust.files) {
    LOOM_TRY(const std::string pem, read_file(file, kMaxPem));
    if (pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
      return fail("bad_trust", file, "no certificate in PEM form");
    all += pem + "\n";
  }
  if (all.empty()) return fail("bad_trust", "", "no root is trusted");
  return std::optional(std::move(all));
}

}  // namespace loom::egress
