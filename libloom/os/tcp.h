// TCP connections begun without waiting, and where a socket of ours listens (spec/egress.md "The proxy"). Every
// descriptor is close-on-exec and non-blocking.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "os/unique_fd.h"

namespace loom {

struct TcpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  std::uint16_t port = 0;
};

// The socket becomes writable when the attempt is over; connect_error() then says how. Error: connect, for one that
// could not even begin.
[[nodiscard]] Result<UniqueFd> begin_connect(const TcpAddress& to);
// 0: connected; else the errno. Once.
[[nodiscard]] int connect_error(int fd);

// Listens on 127.0.0.1; port 0 is one that is free. Error: listen_failed.
[[nodiscard]] Result<UniqueFd> listen_loopback(std::uint16_t port);

// Where a TCP socket is bound; nothing for a socket of another family.
[[nodiscard]] std::optional<TcpAddress> bound_tcp(int fd);
// Whether it is a stream socket that listens, of any family.
[[nodiscard]] bool is_listening_stream(int fd);

}  // namespace loom
