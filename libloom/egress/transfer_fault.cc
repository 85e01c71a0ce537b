// libcurl's errors in our words: what it or OpenSSL wrote is matched, never shown.
#include <cerrno>
#include <string_view>

#include "egress/transfer_curl.h"

namespace loom::egress {
namespace {

// OpenSSL's verdicts on a chain, by number (x509_vfy.h), so that its headers are not needed for five of them.
enum class Verdict : long {
  kNotYetValid = 9,
  kExpired = 10,
  kSelfSigned = 18,
  kSelfSignedInChain = 19,
  kNoIssuer = 20,
  kNoIssuerOfLeaf = 21,
  kNotForThisUse = 26,
};

bool says(const CurlParts& parts, std::string_view text) {
  return std::string_view(parts.error.data()).find(text) != std::string_view::npos;
}

Words verification_words(const CurlParts& parts) {
  long verdict = 0;
  ::curl_easy_getinfo(parts.easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
  switch (static_cast<Verdict>(verdict)) {
    case Verdict::kNotYetValid:
      return "the certificate is not valid yet";
    case Verdict::kExpired:
      return "the certificate has expired";
    case Verdict::kSelfSigned:
    case Verdict::kSelfSignedInChain:
    case Verdict::kNoIssuer:
    case Verdict::kNoIssuerOfLeaf:
      return "the certificate was issued by nobody who is trusted";
    case Verdict::kNotForThisUse:
      return "the certificate is not one for a server";
  }
  if (says(parts, "match")) return "the certificate is for another name";
  return "the certificate was not verified";
}

Words handshake_words(const CurlParts& parts) {
  if (says(parts, "unsupported protocol") || says(parts, "protocol version"))
    return "the server does not speak TLS 1.2 or newer";
  if (says(parts, "wrong version number") || says(parts, "packet length too long"))
    return "what the server speaks is not TLS";
  return "the handshake failed";
}

Words connect_words(const CurlParts& parts) {
  if (parts.socket_error == EMFILE || parts.socket_error == ENFILE) return "no descriptor is left for a connection";
  long error = 0;
  ::curl_easy_getinfo(parts.easy, CURLINFO_OS_ERRNO, &error);
  if (error == ECONNREFUSED) return "nobody listens there";
  if (error == EHOSTUNREACH || error == ENETUNREACH) return "no way there";
  if (error == ETIMEDOUT) return "nobody answered there";
  return "no connection";
}

}  // namespace

Failure fault_of(const CurlParts& parts, CURLcode code, Stage stage) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return {ConnectFailed{connect_words(parts)}, Stage::kConnect};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {TlsFailed{verification_words(parts)}, Stage::kTls};
    case CURLE_SSL_CONNECT_ERROR:
      return {TlsFailed{handshake_words(parts)}, Stage::kTls};
    case CURLE_SSL_CACERT_BADFILE:
      return {TlsFailed{"the trusted roots are of no use"}, Stage::kTls};
    case CURLE_GOT_NOTHING:
      return {UpstreamFailed{"closed without an answer"}, Stage::kResponse};
    case CURLE_PARTIAL_FILE:
      return {UpstreamFailed{"the body is shorter than was announced"}, Stage::kBody};
    case CURLE_OUT_OF_MEMORY:
      break;
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {UpstreamFailed{"the answer is not HTTP/1"}, Stage::kResponse};
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return {UpstreamFailed{"the head of the answer makes no sense"}, Stage::kResponse};
    default:
      break;
  }
  if (stage == Stage::kConnect) return {ConnectFailed{"no connection"}, stage};
  if (stage == Stage::kTls) return {TlsFailed{handshake_words(parts)}, stage};
  // A head that does not end is given up by libcurl at 100 KiB, before we see a line of it.
  if (code == CURLE_OUT_OF_MEMORY && stage == Stage::kResponse) return {ResponseTooLarge{kMaxResponseHead}, stage};
  if (stage == Stage::kBody) return {UpstreamFailed{"the connection broke before the end of the body"}, stage};
  return {UpstreamFailed{"the connection broke"}, stage};
}

}  // namespace loom::egress
