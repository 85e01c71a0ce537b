#include "proxy_config.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "egress/config_document.h"
#include "egress/url.h"
#include "os/fds.h"
#include "os/unique_fd.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMaxConfigBytes = 1U << 20U;

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}
// The change time cannot be set by anybody who can write the file.
bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim) &&
         same_time(a.st_ctim, b.st_ctim);
}

std::string resolver_text(const egress::Resolver& resolver) {
  if (!resolver.server) return "system";
  const std::string address = egress::render_address(resolver.server->address);
  const std::string port = ":" + std::to_string(resolver.server->port);
  return resolver.server->address.v6 ? "[" + address + "]" + port : address + port;
}

}  // namespace

ProxyConfig::ProxyConfig(std::string path, AllowList allow, std::vector<egress::Listener> own)
    : path_(std::move(path)), allow_(std::move(allow)), own_(std::move(own)) {
  egress::ProxyRules rules;
  rules.allow = allow_;
  rules.addresses.own = own_;
  settings_ = ProxySettings{std::make_shared<const egress::ProxyRules>(std::move(rules)), "system", {}};
}

Result<const ProxySettings*> ProxyConfig::current() {
  if (path_.empty()) return &*settings_;
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) return gone();
  if (!seen_ || !same_file(*seen_, facts)) {
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd || ::fstat(fd.get(), &facts) != 0) return gone();
    settings_ = read(fd.get());
    seen_ = facts;
  }
  if (!settings_) return fail(settings_.error());
  return &*settings_;
}

tl::unexpected<Error> ProxyConfig::gone() {
  const int error = errno;
  seen_.reset();
  return fail("unreadable", path_, errno_text(error));
}

Result<ProxySettings> ProxyConfig::read(int fd) const {
  LOOM_TRY(const std::string bytes, read_to_end(fd, kMaxConfigBytes, 0, path_));
  auto config = egress::decode_egress_config_bytes(bytes);
  if (!config) return fail(std::move(config).error().context(path_));
  const std::size_t slash = path_.rfind('/');
  egress::anchor(*config, slash == std::string::npos ? "." : path_.substr(0, slash + 1));
  egress::ProxyRules rules;
  rules.allow = allow_;
  rules.addresses.allow = config->policy.ip_allow;
  rules.addresses.own = own_;
  rules.upstream_patience = milliseconds(static_cast<std::int64_t>(config->policy.deadline_ms));
  return ProxySettings{std::make_shared<const egress::ProxyRules>(std::move(rules)),
                       resolver_text(config->policy.resolver), config->record};
}

}  // namespace loom::egress_tool
