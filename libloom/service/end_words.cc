#include "service/end_words.h"

#include <cstdint>
#include <utility>

#include "base/json.h"
#include "policy/compose.h"

namespace loom::service {
namespace {

// A line is for a person: what goes beyond this is counted, and stands in the report.
constexpr std::size_t kTold = 6;

std::string text_at(const Value& detail, std::string_view key) {
  const Value* found = detail.find(key);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : std::string();
}

std::string number_at(const Value& detail, std::string_view key) {
  const Value* found = detail.find(key);
  return found == nullptr ? "?" : render_json(*found);
}

std::string network(const Value& value, const std::string& mode);

std::string shown(const Value* value) {
  if (value == nullptr || value->is_nil()) return "nothing";
  const auto* text = value->get_if<std::string>();
  if (text != nullptr) return *text;
  const std::string mode = text_at(*value, "mode");
  return mode.empty() ? render_json(*value) : network(*value, mode);
}

const Array& list_at(const Value& detail, std::string_view key) {
  static const Array kNone;
  const Value* found = detail.find(key);
  const auto* list = found != nullptr ? found->get_if<Array>() : nullptr;
  return list != nullptr ? *list : kNone;
}

std::string joined(const Array& items, std::string_view separator, std::string (*text)(const Value&)) {
  std::string out;
  for (std::size_t i = 0; i < items.size() && i < kTold; ++i)
    out += (i == 0 ? "" : std::string(separator)) + text(items[i]);
  if (items.size() > kTold) out += " and " + std::to_string(items.size() - kTold) + " more";
  return out;
}

std::string layer(const Value& item) {
  return shown(&item);
}

// As --grant takes it: off, full, proxy:ENTRY,ENTRY. Two allow lists differ in their entries, not in their mode.
std::string network(const Value& value, const std::string& mode) {
  const Array& allow = list_at(value, "allow");
  return allow.empty() ? mode : mode + ":" + joined(allow, ",", layer);
}

std::string narrowing(const Value& item) {
  const std::string field = text_at(item, "field");
  return text_at(item, "kind") + (field.empty() ? "" : "." + field) + ": wanted " + shown(item.find("wanted")) +
         ", granted " + shown(item.find("granted"));
}

std::string words_of_short(const Value& detail) {
  std::string out;
  if (const Array& missing = list_at(detail, "missing"); !missing.empty())
    out = "missing: " + joined(missing, ", ", layer);
  if (const Array& skipped = list_at(detail, "skipped"); !skipped.empty()) {
    out += (out.empty() ? "" : "; ") + std::string("skipped: ") + joined(skipped, ", ", layer);
  }
  return out;
}

std::string words_of_fault(const Value* error) {
  if (error == nullptr) return {};
  const std::string where = text_at(*error, "where");
  return (where.empty() ? "" : where + ": ") + text_at(*error, "message");
}

std::string words_of_loss(const std::string& cause) {
  if (cause == "helper_down") return "helper_down: the helper ended under it";
  if (cause == "relay_down") return "relay_down: the helper's end was not seen";
  if (cause == "broker_closing") return "broker_closing: the broker closed before its end was known";
  return cause;
}

std::string words_of_text(const Value& detail) {
  for (const char* key : {"msg", "message", "detail", "error", "why", "cause", "what"}) {
    if (std::string text = text_at(detail, key); !text.empty()) return text;
  }
  const auto* map = detail.get_if<Map>();
  std::string out;
  for (const Member& member : map != nullptr ? *map : Map()) {
    out += (out.empty() ? "" : ", ") + member.first + " " + shown(&member.second);
  }
  return out;
}

}  // namespace

std::string words_of_detail(std::string_view name, const Value& detail) {
  if (name == "policy_refused") return joined(list_at(detail, "narrowings"), "; ", narrowing);
  if (name == "budget_exhausted") {
    return number_at(detail, "outstanding") + " calls of this step run, and it allows " + number_at(detail, "max");
  }
  if (name == "all_busy") {
    return "none of " + number_at(detail, "size") + " slots came free in " + number_at(detail, "waited_ms") + " ms";
  }
  if (name == "degraded_helper") return "the helper lacks " + joined(list_at(detail, "missing"), ", ", layer);
  if (name == "enforcement_short") return words_of_short(detail);
  if (name == "proto_mismatch" && detail.find("helper") != nullptr) {
    return "the helper speaks protocol " + number_at(detail, "helper") + ", this broker " + number_at(detail, "broker");
  }
  if (name == "execution_lost") return words_of_loss(text_at(detail, "cause"));
  if (name == "policy_invalid" && detail.find("error") != nullptr && detail.find("error")->get_if<Map>() != nullptr) {
    return words_of_fault(detail.find("error"));
  }
  return words_of_text(detail);
}

std::string words_of_wanted(const std::vector<Value>& wanted) {
  std::string grants;
  for (std::size_t i = 0; i < wanted.size() && i < kTold; ++i) {
    const auto grant = decode_grant(wanted[i]);
    if (grant) grants += " --grant " + render_grant(*grant);
  }
  if (grants.empty()) return {};
  if (wanted.size() > kTold) grants += " and " + std::to_string(wanted.size() - kTold) + " more";
  return "what is missing would be given by" + grants;
}

}  // namespace loom::service
