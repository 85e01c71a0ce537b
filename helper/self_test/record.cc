#include "helper/self_test/record.h"

namespace loom::helper {
namespace {

std::vector<std::string>* list_of(Record& record, char sign) {
  switch (sign) {
    case '+':
      return &record.did;
    case '-':
      return &record.could_not;
    case '!':
      return &record.misdeeds;
    case '.':
      return &record.refused;
    default:
      return nullptr;
  }
}

}  // namespace

Record read_record(std::string_view said, std::string_view nonce) {
  Record record;
  while (!said.empty()) {
    const std::size_t end = said.find('\n');
    std::string_view line = said.substr(0, end);
    said = end == std::string_view::npos ? std::string_view() : said.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);  // a terminal's
    if (line.substr(0, 4) == "end ") record.ended = record.ended || line.substr(4) == nonce;
    if (line.size() < 3 || line[1] != ' ') continue;
    if (auto* list = list_of(record, line[0])) list->emplace_back(line.substr(2));
  }
  return record;
}

}  // namespace loom::helper
