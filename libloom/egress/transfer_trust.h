// The roots that a policy trusts, read and parsed once: with the system's, that takes longer than all the rest of a
// request. Internal to transfer*.cc; the OpenSSL adapter is transfer_trust.cc.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "egress/policy_document.h"

namespace loom::egress {

class TrustStore {
 public:
  // Errors: unreadable and bad_trust, with the file as their place (a file without a certificate, or with what is none;
  // no root at all).
  [[nodiscard]] static Result<TrustStore> read(const Trust& trust);
  // An X509_STORE. Borrowed.
  [[nodiscard]] void* get() const { return store_.get(); }

 private:
  explicit TrustStore(std::shared_ptr<void> store) : store_(std::move(store)) {}
  std::shared_ptr<void> store_;
};

// What OpenSSL tells of one connection, as libcurl does not.
struct TlsState {
  void* roots = nullptr;  // the X509_STORE that alone is trusted
  bool began = false;     // the handshake: there is a connection
  bool ended = false;     // by the other side, in good order (close_notify)
};
// Called for an SSL_CTX before its handshake. `state` outlives the connection.
void prepare_tls(void* context, TlsState& state);

}  // namespace loom::egress
