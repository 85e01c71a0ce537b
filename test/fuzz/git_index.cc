// Any bytes as a git index: nothing, or names that lie in it.
#include "plan/git_index.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto links = loom::gitlinks_of(bytes);
  if (!links) return 0;
  for (const std::string& link : *links) {
    if (link.empty() || link.find('\0') != std::string::npos) std::abort();
  }
  return links->size() <= size / 62 ? 0 : (std::abort(), 0);
}
