#include "flatten.h"

#include "base/json.h"
#include "cli/output.h"

namespace loom::broker {
namespace {

using Rows = std::vector<std::vector<std::string>>;

bool is_plain(const Value& value) {
  return value.get_if<Map>() == nullptr && value.get_if<Array>() == nullptr;
}

std::string cell(const Value& value) {
  if (value.is_nil()) return "-";
  const auto* text = value.get_if<std::string>();
  return cli::escape(text != nullptr ? *text : render_json(value));
}

bool all_plain(const Array& array) {
  for (const Value& item : array) {
    if (!is_plain(item)) return false;
  }
  return true;
}

void add(Rows& rows, const std::string& name, const Value& value) {
  if (const auto* map = value.get_if<Map>()) {
    for (const auto& [key, member] : *map)
      add(rows, name.empty() ? cli::escape(key) : name + "." + cli::escape(key), member);
    return;
  }
  const auto* array = value.get_if<Array>();
  if (array == nullptr) {
    rows.push_back({name, cell(value)});
  } else if (array->empty()) {
    rows.push_back({name, "none"});
  } else if (all_plain(*array)) {
    for (const Value& item : *array) rows.push_back({name, cell(item)});
  } else {
    for (std::size_t i = 0; i < array->size(); ++i) add(rows, name + "[" + std::to_string(i) + "]", (*array)[i]);
  }
}

}  // namespace

std::vector<std::vector<std::string>> flatten(const Value& value) {
  Rows rows{{"NAME", "VALUE"}};
  add(rows, "", value);
  return rows;
}

}  // namespace loom::broker
