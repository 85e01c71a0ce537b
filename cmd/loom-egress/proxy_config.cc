#include "proxy_config.h"

#include <utility>

namespace loom::egress_tool {

ProxyConfig::ProxyConfig(std::string path, AllowList allow, std::vector<egress::Listener> own)
    : allow_(std::move(allow)), own_(std::move(own)) {
  if (!path.empty()) {
    file_.emplace(std::move(path));
    return;
  }
  egress::ProxyRules rules;
  rules.allow = allow_;
  rules.addresses.own = own_;
  settings_ = {std::make_shared<const egress::ProxyRules>(std::move(rules)), "system", {}};
}

Result<const ProxySettings*> ProxyConfig::current() {
  if (!file_) return &settings_;
  LOOM_TRY(const egress::EgressConfig* config, file_->current());
  if (generation_ == file_->generation()) return &settings_;
  generation_ = file_->generation();
  egress::ProxyRules rules;
  rules.allow = allow_;
  rules.addresses.allow = config->policy.ip_allow;
  rules.addresses.own = own_;
  rules.upstream_patience = milliseconds(static_cast<std::int64_t>(config->policy.deadline_ms));
  settings_ = {std::make_shared<const egress::ProxyRules>(std::move(rules)),
               egress::render_resolver(config->policy.resolver), config->record};
  return &settings_;
}

}  // namespace loom::egress_tool
