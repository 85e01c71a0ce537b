// What a probe said of its deeds (helper/probes/deeds.h), read. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loom::helper {

struct Record {
  std::vector<std::string> did;        // allowed, and worked
  std::vector<std::string> could_not;  // allowed, and did not work
  std::vector<std::string> misdeeds;   // forbidden, and worked
  std::vector<std::string> refused;    // forbidden, and did not work
  bool ended = false;                  // came to its end, and it is the probe that was started: it has the number
};

[[nodiscard]] Record read_record(std::string_view said, std::string_view nonce);

}  // namespace loom::helper
