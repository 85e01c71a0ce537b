#include "environment.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

namespace loom::egress_tool {
namespace {

constexpr const char* kHeeded[] = {
    // OpenSSL
    "SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES", "OPENSSL_ENGINES", "RANDFILE",
    "CTLOG_FILE",
    // libcurl
    "http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    "ftp_proxy", "FTP_PROXY", "CURL_CA_BUNDLE", "CURL_HOME", "CURL_SSL_BACKEND", "NETRC", "SSL_DIR", "QLOGDIR",
    // c-ares
    "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "CARES_HOSTS", "CARES_MEMLIMIT"};

constexpr std::string_view kRoots = "SSL_CERT_";

}  // namespace

void cleanse_environment() {
  for (const char* name : kHeeded) ::unsetenv(name);
  std::vector<std::string> roots;  // unsetenv moves what stands behind
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.substr(0, kRoots.size()) == kRoots) roots.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : roots) ::unsetenv(name.c_str());
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace loom::egress_tool
