#include "egress/transfer_trust.h"

#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <utility>

#include "os/fds.h"

namespace loom::egress {
namespace {

constexpr std::size_t kMaxPem = 1U << 20U;

struct FreeBio {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
};
struct FreeInfos {
  void operator()(STACK_OF(X509_INFO) * infos) const { sk_X509_INFO_pop_free(infos, X509_INFO_free); }
};

// Every certificate of the file; a file with anything that does not parse is not half believed.
Status add_file(X509_STORE* store, const std::string& file) {
  LOOM_TRY(const std::string pem, read_file(file, kMaxPem));
  const std::unique_ptr<BIO, FreeBio> bytes(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const std::unique_ptr<STACK_OF(X509_INFO), FreeInfos> infos(
      ::PEM_X509_INFO_read_bio(bytes.get(), nullptr, nullptr, nullptr));
  ::ERR_clear_error();
  if (!infos) return fail("bad_trust", file, "not all of it is certificates in PEM form");
  int added = 0;
  for (int i = 0; i < sk_X509_INFO_num(infos.get()); ++i) {
    X509* certificate = sk_X509_INFO_value(infos.get(), i)->x509;
    if (certificate == nullptr) continue;
    if (::X509_STORE_add_cert(store, certificate) != 1) return fail("bad_trust", file, "a certificate is of no use");
    ++added;
  }
  if (added == 0) return fail("bad_trust", file, "no certificate in PEM form");
  return {};
}

// Where this machine's libcurl was built to look, and nothing that an environment says.
Status add_system(X509_STORE* store) {
  const curl_version_info_data* built = ::curl_version_info(CURLVERSION_NOW);
  const bool file = built->cainfo != nullptr && ::X509_STORE_load_file(store, built->cainfo) == 1;
  const bool folder = built->capath != nullptr && ::X509_STORE_load_path(store, built->capath) == 1;
  ::ERR_clear_error();
  if (file || folder) return {};
  return fail("bad_trust", "", "the system's roots cannot be read", "they are in the package ca-certificates");
}

// libcurl takes a connection that was cut for the end of a body without a length: whoever sits between could shorten
// it.
void note_alert(const SSL* tls, int where, int alert) {
  const bool close_notify = where == SSL_CB_READ_ALERT && (alert & 0xff) == SSL3_AD_CLOSE_NOTIFY;
  if (close_notify) static_cast<TlsState*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(tls)))->ended = true;
}

}  // namespace

Result<TrustStore> TrustStore::read(const Trust& trust) {
  std::shared_ptr<void> store(::X509_STORE_new(),
                              [](void* held) { ::X509_STORE_free(static_cast<X509_STORE*>(held)); });
  auto* roots = static_cast<X509_STORE*>(store.get());
  if (roots == nullptr) return fail("bad_trust", "", "no memory for the roots");
  // A named certificate is trusted as it stands, also when somebody else issued it.
  ::X509_STORE_set_flags(roots, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  if (trust.system_roots) {
    LOOM_CHECK(add_system(roots));
  } else if (trust.files.empty()) {
    return fail("bad_trust", "", "no root is trusted");
  }
  for (const std::string& file : trust.files) LOOM_CHECK(add_file(roots, file));
  return TrustStore(std::move(store));
}

void prepare_tls(void* context, TlsState& state) {
  state.began = true;
  auto* tls = static_cast<SSL_CTX*>(context);
  ::SSL_CTX_set1_cert_store(tls, static_cast<X509_STORE*>(state.roots));
  SSL_CTX_set_app_data(tls, &state);
  ::SSL_CTX_set_info_callback(tls, note_alert);
  ::SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
}

}  // namespace loom::egress
