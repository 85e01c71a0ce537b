// The orders for stage 2, written: tagged records in a memfd (helper/stage2/protocol.h says what each holds).
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "helper/stage2/protocol.h"
#include "os/unique_fd.h"

namespace loom::helper {

// `bytes` in a memory file of their own. Error: spawn_failed.
[[nodiscard]] Result<UniqueFd> memory_file(std::string_view bytes);
[[nodiscard]] Status fill_memory_file(int fd, std::string_view bytes);

class OrdersWriter {
 public:
  OrdersWriter();

  // A structure alone, or with text (NUL-terminated here) behind it.
  template <class T>
  void add(stage2::Tag tag, const T& structure) {
    static_assert(std::is_trivially_copyable_v<T>);
    add_bytes(tag, bytes_of(structure));
  }
  template <class T>
  void add(stage2::Tag tag, const T& structure, std::string_view text) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::string body(bytes_of(structure));
    body.append(text);
    body += '\0';
    add_bytes(tag, body);
  }
  void add_bytes(stage2::Tag tag, std::string_view body);

  [[nodiscard]] Result<UniqueFd> finish() const { return memory_file(bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  static std::string_view bytes_of(const T& structure) {
    return {reinterpret_cast<const char*>(&structure), sizeof structure};
  }
  std::string bytes_;
};

}  // namespace loom::helper
