// What git's configuration file syntax says, as far as this project asks: which keys have which values. Pure and total;
// what git itself would refuse is skipped line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loom {

struct GitSetting {
  std::string section;  // lower case, without a subsection: "core", "includeif"
  std::string key;      // lower case
  std::string value;    // unquoted; "" for a key without a value
};

[[nodiscard]] std::vector<GitSetting> parse_git_config(std::string_view text);

}  // namespace loom
