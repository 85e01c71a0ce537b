#include "daemon_parts.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "os/unique_fd.h"

namespace loom::egress_tool {

Result<std::optional<int>> descriptor_flag(const cli::Parsed& parsed, const char* flag) {
  constexpr std::uint64_t kMaxDescriptor = 65'535;
  const auto text = parsed.value(flag);
  if (!text) return std::optional<int>();
  const auto number = cli::parse_count(*text);
  if (!number || *number > kMaxDescriptor)
    return fail("bad_argument", flag, "want the number of a descriptor, got \"" + *text + "\"");
  return std::optional<int>(static_cast<int>(*number));
}

// The lowest free descriptor tells how many are in use.
std::size_t descriptor_room(std::size_t each, std::size_t spare, std::size_t most) {
  rlimit limit{};
  const UniqueFd lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!lowest || ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  const std::size_t used = static_cast<std::size_t>(lowest.get()) + spare;
  const std::size_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  return std::clamp<std::size_t>(left / each, 1, most);
}

std::int64_t wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace loom::egress_tool
