#include "helper/orders.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "helper/kernel.h"

namespace loom::helper {

Status fill_memory_file(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return fail(kernel_error("orders", "write them", errno));
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<UniqueFd> memory_file(std::string_view bytes) {
  UniqueFd fd(::memfd_create("loom-orders", MFD_CLOEXEC));
  if (!fd) return fail(kernel_error("orders", "make a memory file", errno));
  LOOM_CHECK(fill_memory_file(fd.get(), bytes));
  return fd;
}

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

}  // namespace loom::helper
