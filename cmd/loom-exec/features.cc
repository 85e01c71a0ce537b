// loom-exec features: what this host can enforce, each with the reason when it cannot.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/version.h"
#include "cli/output.h"
#include "helper/host_context.h"
#include "verbs.h"

namespace loom::exec {
namespace {

constexpr std::string_view kSkip = "skip:";

struct Feature {
  std::string tag;
  bool held = false;
  std::string detail;  // of a held one what follows its name, else the reason
};

// "landlock:abi=7", "skip:cgroup-v2: not delegated"
Feature parse_feature(const std::string& entry) {
  Feature feature;
  feature.held = entry.compare(0, kSkip.size(), kSkip) != 0;
  const std::string text = feature.held ? entry : entry.substr(kSkip.size());
  const std::size_t end = text.find_first_of(feature.held ? ":=" : ":");
  feature.tag = text.substr(0, end);
  if (end == std::string::npos) return feature;
  const std::size_t detail = text.find_first_not_of(' ', end + 1);
  if (detail != std::string::npos) feature.detail = text.substr(detail);
  return feature;
}

Value as_json(const std::vector<Feature>& features) {
  Array list;
  for (const auto& feature : features) {
    list.emplace_back(
        Map{{"tag", feature.tag}, {"held", feature.held}, {feature.held ? "detail" : "reason", feature.detail}});
  }
  return Map{{"ok", true}, {"peer", tool().name + "/" + std::string(kVersion)}, {"features", std::move(list)}};
}

std::string as_text(const std::vector<Feature>& features) {
  std::vector<std::vector<std::string>> rows{{"LAYER", "HELD", "DETAIL"}};
  for (const auto& feature : features) rows.push_back({feature.tag, feature.held ? "yes" : "no", feature.detail});
  return cli::table(rows, cli::stdout_is_terminal());
}

}  // namespace

int features_verb(const cli::Parsed& parsed, JailFlags flags) {
  flags.host.cgroup_use = helper::CgroupUse::kLook;
  flags.host.allow_unenforced = true;  // it is asked what there is, and not for more
  const auto host = helper::make_host_context(std::move(flags.host));
  if (!host) {
    cli::say_error(tool().name, host.error());
    return to_int(ExitStatus::kUsage);
  }
  std::vector<Feature> features;
  for (const auto& entry : host->features) features.push_back(parse_feature(entry));
  const std::string text = parsed.has("--json") ? render_json(as_json(features)) + "\n" : as_text(features);
  return to_int(cli::answer(tool().name, text));
}

}  // namespace loom::exec
