#include "plan/walk.h"

#include <string_view>
#include <utility>

#include "plan/path_index.h"

namespace loom {
namespace {

constexpr std::size_t kMaxLinks = 40;  // the kernel's own limit

struct Component {
  std::string name;
  bool asked = false;  // of the path that was asked for, not of a link's text
};

// Pushed so that the first component is popped first.
void push_components(std::vector<Component>& stack, std::string_view path, bool asked) {
  std::vector<Component> forward;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") forward.push_back({std::string(name), asked});
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
  }
  for (auto it = forward.rbegin(); it != forward.rend(); ++it) stack.push_back(std::move(*it));
}

void descend(Path& real, const std::string& name) {
  if (name != "..") {
    real = join(real, name);
  } else if (real != "/") {
    real = Path(parent_of(real));
  }
}

Walked& stop_missing(Walked& walked, std::vector<Component>& rest, std::string why) {
  for (; !rest.empty(); rest.pop_back()) descend(walked.real, rest.back().name);
  walked.facts = NodeFacts{};
  walked.missing_why = std::move(why);
  return walked;
}

std::string why_missing(const NodeFacts& facts) {
  return facts.missing_why.empty() ? "no such file or directory" : facts.missing_why;
}

}  // namespace

const NodeFacts& Walker::look(const Path& path) {
  const auto found = seen_.find(path);
  if (found != seen_.end()) return found->second;
  return seen_.emplace(path, host_.look(path)).first->second;
}

Walked Walker::walk(const Path& path) {
  Walked walked;
  walked.real = "/";
  walked.facts = look("/");
  std::vector<Component> rest;
  push_components(rest, path, true);
  std::size_t asked_left = rest.size();
  while (!rest.empty()) {
    if (walked.facts.kind != NodeKind::kDirectory) return stop_missing(walked, rest, "not a directory");
    const Component component = std::move(rest.back());
    rest.pop_back();
    if (component.asked) --asked_left;
    Path next = walked.real;
    descend(next, component.name);
    const NodeFacts& facts = look(next);
    if (facts.kind == NodeKind::kSymlink) {
      walked.links.push_back({next, facts.target, asked_left == 0});
      if (walked.links.size() > kMaxLinks || facts.target.empty()) {
        walked.real = std::move(next);
        return stop_missing(walked, rest, "too many links");
      }
      if (facts.target.front() == '/') {
        walked.real = "/";
        walked.facts = look("/");
      }
      push_components(rest, facts.target, false);
      continue;
    }
    walked.real = std::move(next);
    walked.facts = facts;
    if (facts.kind == NodeKind::kMissing) {
      walked.unseen = !facts.missing_why.empty();
      return stop_missing(walked, rest, why_missing(facts));
    }
  }
  return walked;
}

}  // namespace loom
