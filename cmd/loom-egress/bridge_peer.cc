#include "bridge_peer.h"

#include <sstream>
#include <string>
#include <vector>

#include "os/fds.h"
#include "plan/seccomp_table.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMostStatus = 16384;
constexpr const char* kNumbers = "\nNSpid:";  // outermost first

}  // namespace

bool is_bridge(pid_t pid) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/status", kMostStatus);
  const std::size_t at = status ? status->find(kNumbers) : std::string::npos;
  if (at == std::string::npos) return false;
  std::istringstream line(status->substr(at + std::string(kNumbers).size(), status->find('\n', at + 1) - at));
  std::vector<pid_t> numbers;
  for (std::string word; line >> word && word.find_first_not_of("0123456789") == std::string::npos;)
    numbers.push_back(std::stoi(word));
  return numbers.size() > 1 && numbers.back() == static_cast<pid_t>(kBridgePid);
}

}  // namespace loom::egress_tool
