// The configuration of a running proxy: the file as it stands now, and not as it once stood (spec/egress.md "The
// proxy": a configuration that cannot be read closes the door).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config_file.h"
#include "egress/proxy_target.h"

namespace loom::egress_tool {

struct ProxySettings {
  std::shared_ptr<const egress::ProxyRules> rules;
  std::string resolver;               // as NameResolver::make takes it
  std::optional<std::string> record;  // the configuration's own; a flag wins
};

class ProxyConfig {
 public:
  // `path` "" stands for no file: what flags alone say.
  ProxyConfig(std::string path, AllowList allow, std::vector<egress::Listener> own);

  // The settings stand until the next call. Errors: those of ConfigFile.
  [[nodiscard]] Result<const ProxySettings*> current();

 private:
  std::optional<ConfigFile> file_;
  std::uint64_t generation_ = 0;
  AllowList allow_;
  std::vector<egress::Listener> own_;
  ProxySettings settings_;
};

}  // namespace loom::egress_tool
