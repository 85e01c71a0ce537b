#include "helper/orders.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "helper/kernel.h"

namespace loom::helper {

OrdersWriter::OrdersWriter() {
  const std::uint64_t head = stage2::kMagic;
  bytes_.append(bytes_of(head));
}

void OrdersWriter::add_bytes(stage2::Tag tag, std::string_view body) {
  const stage2::Record record{tag, static_cast<std::uint32_t>(body.size())};
  bytes_.append(bytes_of(record));
  bytes_.append(body);
  bytes_.append((8 - body.size() % 8) % 8, '\0');
}

Result<UniqueFd> OrdersWriter::finish() const {
  UniqueFd fd(::memfd_create("loom-orders", MFD_CLOEXEC));
  if (!fd) return fail(kernel_error("orders", "make a memory file", errno));
  std::string_view left = bytes_;
  while (!left.empty()) {
    const ssize_t wrote = ::write(fd.get(), left.data(), left.size());
    if (wrote < 0 && errno != EINTR) return fail(kernel_error("orders", "write them", errno));
    if (wrote > 0) left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return fd;
}

}  // namespace loom::helper
