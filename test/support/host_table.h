// The one table of host spellings (test/support/vectors/hosts.tsv) that every front end of loom-egress is held to.
#pragma once

#include <string>
#include <vector>

namespace loom::test {

struct HostRow {
  std::string authority;  // host, or host:port; the bytes themselves
  std::string verdict;    // "name", "public", "host_syntax", "address_refused"
  std::string why;        // of address_refused: "loopback"
  std::string canonical;  // of all but host_syntax
  [[nodiscard]] bool has_port() const;
  // Host alone, as a front end gets it that takes host and port apart; only of rows without has_port().
  [[nodiscard]] bool refused() const { return verdict == "host_syntax" || verdict == "address_refused"; }
};

// Ends the program with a line on stderr when the table cannot be read: a test over an empty table would pass.
[[nodiscard]] std::vector<HostRow> host_rows();

}  // namespace loom::test
