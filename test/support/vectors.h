// The tables of bytes the codec is held to (test/support/vectors/*.tsv): three columns, the last in hex.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loom::test {

struct VectorRow {
  std::string what;   // wire.tsv: value, policy or frame; malformed.tsv: helper or broker
  std::string value;  // wire.tsv: what the bytes mean; malformed.tsv: why they are refused
  std::string bytes;
};

// Every row of one kind ("" for all). Ends the program with a line on stderr when the table cannot be read: a test over
// an empty table would pass.
[[nodiscard]] std::vector<VectorRow> vector_rows(const std::string& file, std::string_view what = {});

// Ends the program likewise on anything but pairs of hex digits.
[[nodiscard]] std::string from_hex(std::string_view hex);

}  // namespace loom::test
