// The configuration of a running endpoint: the file as it stands now, never as it once stood (spec/egress.md: "A
// configuration that cannot be read closes the door; never open, never yesterday's").
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "egress/config_document.h"

namespace loom::egress_tool {

class ConfigFile {
 public:
  explicit ConfigFile(std::string path) : path_(std::move(path)) {}
  // Looks at the file each time, and reads it again when it is another one or was changed in anything, its mode
  // included. The answer stands until the next call. Errors: unreadable, document_too_large, and those of decoding,
  // with the file as their place.
  [[nodiscard]] Result<const egress::EgressConfig*> current();
  // Another number each time the file was read.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  tl::unexpected<Error> gone();

  std::string path_;
  std::uint64_t generation_ = 0;
  std::optional<struct stat> seen_;
  Result<egress::EgressConfig> config_ = egress::EgressConfig();
};

}  // namespace loom::egress_tool
