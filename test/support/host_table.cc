#include "test/support/host_table.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "test/support/paths.h"
#include "test/support/vectors.h"

namespace loom::test {
namespace {

std::string unescape(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\\x") != 0) {
      bytes += text[i];
      continue;
    }
    bytes += from_hex(text.substr(i + 2, 2));
    i += 3;
  }
  return bytes;
}

}  // namespace

bool HostRow::has_port() const {
  const std::size_t bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string::npos ? 0 : bracket) != std::string::npos;
}

std::vector<HostRow> host_rows() {
  std::ifstream in(tree_path("test/support/vectors/hosts.tsv"));
  std::vector<HostRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    if (second == std::string::npos) {
      std::fprintf(stderr, "host table: a row without three columns: %s\n", line.c_str());
      std::abort();
    }
    HostRow row;
    row.authority = unescape(line.substr(0, first));
    row.verdict = line.substr(first + 1, second - first - 1);
    row.canonical = line.substr(second + 1);
    const std::size_t blank = row.verdict.find(' ');
    if (blank != std::string::npos) {
      row.why = row.verdict.substr(blank + 1);
      row.verdict.resize(blank);
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() < 100) {
    std::fprintf(stderr, "host table: cannot be read\n");
    std::abort();
  }
  return rows;
}

}  // namespace loom::test
