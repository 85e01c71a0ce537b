#include "environment.h"

#include <cstdlib>

namespace loom::egress_tool {
namespace {

constexpr const char* kHeeded[] = {
    // OpenSSL
    "SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "RANDFILE", "CTLOG_FILE",
    // libcurl
    "http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    "ftp_proxy", "FTP_PROXY", "CURL_CA_BUNDLE", "CURL_HOME", "CURL_SSL_BACKEND", "NETRC", "SSL_DIR", "QLOGDIR",
    // c-ares
    "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "CARES_HOSTS", "CARES_MEMLIMIT"};

}  // namespace

void cleanse_environment() {
  for (const char* name : kHeeded) ::unsetenv(name);
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace loom::egress_tool
