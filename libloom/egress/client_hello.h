// The first words of a TLS client: the name it asks for (spec/egress.md "The proxy": tunnels carry TLS only, the SNI
// equals the CONNECT host). The hello may lie across any segments and records; it is bounded. With ECH it is the outer
// hello that is read. Pure; nothing is decrypted, everything read is passed on unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/host.h"

namespace loom::egress {

inline constexpr std::size_t kMaxHelloBytes = 32U << 10U;

struct ClientHello {
  std::optional<std::string> server_name;  // as sent
};

// Fed with what arrives, in pieces of any size.
class HelloReader {
 public:
  // The hello, once whole; nothing while more is needed. Error: not_tls (not a TLS client's hello, malformed, or too
  // long), which stands.
  [[nodiscard]] Result<std::optional<ClientHello>> feed(std::string_view bytes);

 private:
  [[nodiscard]] Status begin_record();

  std::string record_head_;
  std::size_t record_left_ = 0;
  std::string message_;    // the handshake message, without the records' headers
  std::size_t taken_ = 0;  // bytes fed
  std::optional<Error> broken_;
};

// One ClientHello message, its handshake header included. Error: not_tls.
[[nodiscard]] Result<ClientHello> parse_client_hello(std::string_view message);

// Whether the hello asks for this host: by name exactly it; by address, it or nothing. Errors: sni_missing,
// sni_differs.
[[nodiscard]] Status judge_server_name(const ClientHello& hello, const Host& host);

}  // namespace loom::egress
