// The configuration of a running proxy: the file as it stands now, and not as it once stood (spec/egress.md "The
// proxy": a configuration that cannot be read closes the door).
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "egress/policy_document.h"
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

  // Looks at the file each time, and reads it again when it is another one or was changed in anything, its mode
  // included. The settings stand until the next call. Errors: unreadable, and those of decoding.
  [[nodiscard]] Result<const ProxySettings*> current();

 private:
  [[nodiscard]] Result<ProxySettings> read(int fd) const;
  tl::unexpected<Error> gone();

  std::string path_;
  AllowList allow_;
  std::vector<egress::Listener> own_;
  std::optional<struct stat> seen_;
  Result<ProxySettings> settings_ = ProxySettings();
};

}  // namespace loom::egress_tool
