#include "plan/environment.h"

#include <algorithm>
#include <array>

#include "plan/landlock_rules.h"
#include "plan/path_index.h"
#include "plan/walk.h"

namespace loom {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// curl ignores the upper-case HTTP_PROXY, wget both upper-case ones: so each name in both spellings.
constexpr std::array<std::string_view, 6> kProxyNames = {"http_proxy", "https_proxy", "all_proxy",
                                                         "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
constexpr std::array<std::string_view, 2> kNoProxyNames = {"no_proxy", "NO_PROXY"};
constexpr std::string_view kNodeUsesProxy = "NODE_USE_ENV_PROXY";

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// One way of writing a directory: no empty, "." or trailing components. "" when it is relative or climbs with "..".
Path canonical(std::string_view text) {
  if (text.empty() || text.front() != '/') return {};
  Path path = "/";
  while (!text.empty()) {
    const std::size_t end = text.find('/');
    const std::string_view name = text.substr(0, end);
    if (name == "..") return {};
    if (!name.empty() && name != ".") path = join(path, name);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return path;
}

class PathBuilder {
 public:
  PathBuilder(const MountPlan& plan, const HostFacts& host) : plan_(plan), walker_(host) {}

  void add(std::string_view list) {
    while (!list.empty()) {
      const std::size_t end = list.find(':');
      const Path directory = canonical(list.substr(0, end));
      if (!directory.empty() && !contains(found_, directory) && is_fit(directory)) found_.push_back(directory);
      list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
    }
  }
  [[nodiscard]] std::vector<Path> take() && { return std::move(found_); }

 private:
  [[nodiscard]] bool is_read_only(const Path& path) const {
    return judge_path(plan_, path).access == PathAccess::kRead;
  }
  // Also where it really lies, and every link on the way: a link that the command may turn would choose what runs.
  [[nodiscard]] bool is_fit(const Path& directory) {
    const Walked walked = walker_.walk(directory);
    return walked.facts.kind == NodeKind::kDirectory && is_read_only(directory) && is_read_only(walked.real) &&
           std::all_of(walked.links.begin(), walked.links.end(),
                       [this](const PassedLink& link) { return is_read_only(link.at); });
  }

  const MountPlan& plan_;
  Walker walker_;
  std::vector<Path> found_;
};

std::string joined(const std::vector<Path>& directories) {
  std::string text;
  for (const Path& directory : directories) text += (text.empty() ? "" : ":") + directory;
  return text;
}

std::string home_of(const MountPlan& plan, const std::map<std::string, std::string>& variables) {
  const auto asked = variables.find("HOME");
  const Path home = asked == variables.end() ? Path() : canonical(asked->second);
  if (home.empty()) return plan.scratch;
  const PathAccess access = judge_path(plan, home).access;
  const bool in_view = access == PathAccess::kRead || access == PathAccess::kWrite;
  return in_view ? asked->second : plan.scratch;
}

void set_proxy_variables(std::map<std::string, std::string>& variables) {
  for (const std::string_view name : kProxyNames) {
    variables[std::string(name)] = "http://127.0.0.1:" + std::to_string(kProxyPort);
  }
  for (const std::string_view name : kNoProxyNames) variables[std::string(name)] = "localhost,127.0.0.1,::1";
  variables[std::string(kNodeUsesProxy)] = "1";
}

}  // namespace

bool is_reserved_name(std::string_view name, NetworkMode network) {
  if (name.substr(0, 5) == "LOOM_") return true;
  if (network != NetworkMode::kProxy) return false;
  return contains(kProxyNames, name) || contains(kNoProxyNames, name) || name == kNodeUsesProxy;
}

Environment build_environment(const Policy& policy, const MountPlan& plan, const HostFacts& host,
                              const EnvironmentRequest& request) {
  Environment made;
  for (const auto& [name, value] : request.requested) {
    if (contains(policy.env_allow, name) && !is_reserved_name(name, policy.network.mode)) made.variables[name] = value;
  }
  PathBuilder path(plan, host);
  if (contains(policy.env_allow, "PATH")) {
    path.add(made.variables["PATH"]);
    path.add(request.helper_path);
  }
  path.add(kDefaultPath);
  made.search_path = std::move(path).take();
  made.variables["PATH"] = joined(made.search_path);
  made.variables["HOME"] = home_of(plan, made.variables);
  if (policy.network.mode == NetworkMode::kProxy) set_proxy_variables(made.variables);
  for (const auto& [name, value] : request.ours) made.variables[name] = value;
  made.variables["LOOM_SCRATCH_DIR"] = plan.scratch;
  return made;
}

}  // namespace loom
