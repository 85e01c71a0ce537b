#include "test/support/vectors.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "test/support/paths.h"

namespace loom::test {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "test vectors: %s\n", why.c_str());
  std::abort();
}

unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  give_up(std::string("not a hex digit: ") + c);
}

}  // namespace

std::string from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) give_up("an odd number of hex digits");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

std::vector<VectorRow> vector_rows(const std::string& file, std::string_view what) {
  const std::string path = tree_path("test/support/vectors/" + file);
  std::ifstream in(path);
  std::vector<VectorRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto first = line.find('\t');
    const auto last = line.rfind('\t');
    if (first == std::string::npos || first == last) give_up("want three columns: " + line);
    if (!what.empty() && line.substr(0, first) != what) continue;
    rows.push_back({line.substr(0, first), line.substr(first + 1, last - first - 1), from_hex(line.substr(last + 1))});
  }
  if (rows.empty()) give_up(path + ": no rows (run the tests from the root of the tree)");
  return rows;
}

}  // namespace loom::test
