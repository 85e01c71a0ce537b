#include "service/front_report.h"

#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/runbook.h"
#include "service/end_words.h"

namespace loom::service {
namespace {

constexpr std::uint64_t kReportVersion = 1;

Array texts(const std::vector<std::string>& lines) {
  Array out;
  for (const auto& line : lines) out.emplace_back(line);
  return out;
}

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

const ExecExit* exit_of(const CallEnd& end) {
  const auto* settled = std::get_if<CallSettled>(&end);
  return settled != nullptr && settled->exited ? &*settled->exited : nullptr;
}

Value outcome(const CallEnd& end) {
  if (const auto* refused = std::get_if<CallRefused>(&end)) {
    Map body{{"reason", refused->reason}, {"detail", refused->detail}, {"wanted", Array(refused->wanted)}};
    return Map{{"refused", Value(std::move(body))}};
  }
  const auto& settled = std::get<CallSettled>(end);
  if (settled.exited) return Map{{"exited", encode(*settled.exited)}};
  if (!settled.failed) return Map{};
  return Map{{"failed", Value(Map{{"kind", settled.failed->kind}, {"detail", settled.failed->detail}})}};
}

std::string stopped_by(const CallEnd& end) {
  const auto* settled = std::get_if<CallSettled>(&end);
  return settled != nullptr ? settled->stopped_by : "none";
}

constexpr std::string_view kEgress = "denied:egress: ";
constexpr std::string_view kRefused = " refused: ";

bool is_refusal(std::string_view entry) {
  return !begins_with(entry, kEgress) && (begins_with(entry, "denied:") || begins_with(entry, "attempt:"));
}
bool is_egress(std::string_view entry) {
  return begins_with(entry, kEgress);
}

Array entries(const CallEnd& end, bool (*wanted)(std::string_view)) {
  Array out;
  if (const ExecExit* exit = exit_of(end)) {
    for (const auto& entry : exit->enforcement) {
      if (wanted(entry)) out.emplace_back(entry);
    }
  }
  return out;
}

// {destination, reason} of each entry.
Array egress(const CallEnd& end) {
  Array out;
  for (const Value& entry : entries(end, &is_egress)) {
    const std::string text = entry.get_if<std::string>()->substr(kEgress.size());
    const std::size_t at = text.rfind(kRefused);
    if (at == std::string::npos) continue;
    out.emplace_back(Map{{"destination", text.substr(0, at)}, {"reason", text.substr(at + kRefused.size())}});
  }
  return out;
}

void add_facts(Map& map, const CallFacts& facts) {
  map.emplace_back("policy_digest", facts.policy_digest);
  map.emplace_back("narrowings", Array(facts.narrowings));
}

std::string text_at(const Value& detail, std::string_view key) {
  const Value* found = detail.find(key);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : std::string();
}

// What there is to do about what came over the wire without a hint.
std::string remedy_of(std::string_view code) {
  if (code == "layer_refused" || code == "degraded_helper") {
    return "loom-census doctor tells what this host lacks; "
           "loom-policy default DIR --fit leaves out ceilings that it cannot hold";
  }
  if (code == "missing_path") return "make it, or take it out of the policy";
  return {};
}

Error failure_error(const CallFailure& failure) {
  std::string code = text_at(failure.detail, "code");
  if (code.empty()) code = failure.kind;
  std::string words = words_of_detail(failure.kind, failure.detail);
  const bool ran = failure.kind != "helper_refused" && failure.kind != "proto_mismatch";
  std::string hint = ran ? "the command may have run" : text_at(failure.detail, "hint");
  if (hint.empty()) hint = remedy_of(code);
  Error error{code, code, words.empty() ? "the call failed" : words, std::move(hint)};
  // A command that is not there or may not be run is the caller's matter: there is nothing to look up.
  const bool own = code.compare(0, 5, "exec_") == 0;
  return own ? error : with_runbook_entry(std::move(error), failure.kind);
}

Error refusal_error(const CallRefused& refused) {
  std::string words = words_of_detail(refused.reason, refused.detail);
  std::string hint = text_at(refused.detail, "hint");
  if (hint.empty()) hint = remedy_of(refused.reason);
  if (!refused.wanted.empty()) hint = words_of_wanted(refused.wanted);
  return with_runbook_entry(
      Error{refused.reason, refused.reason, words.empty() ? "nothing was run" : words, std::move(hint)});
}

}  // namespace

Value render_report(const CallFacts& facts, const CallEnd& end, int status, const std::vector<std::string>& notes) {
  Map report{{"v", kReportVersion}};
  add_facts(report, facts);
  report.emplace_back("outcome", outcome(end));
  report.emplace_back("stopped_by", stopped_by(end));
  report.emplace_back("status", static_cast<std::int64_t>(status));
  report.emplace_back("enforcement",
                      entries(end, [](std::string_view entry) { return !is_refusal(entry) && !is_egress(entry); }));
  report.emplace_back("denied", entries(end, &is_refusal));
  report.emplace_back("egress", egress(end));
  report.emplace_back("notes", texts(notes));
  return report;
}

Value started_line(const CallFacts& facts) {
  Map line{{"type", "started"}};
  if (facts.execution) {
    line.emplace_back("execution", Map{{"incarnation", facts.execution->incarnation}, {"seq", facts.execution->seq}});
  }
  add_facts(line, facts);
  return line;
}

Value settled_line(const CallEnd& end, int status) {
  return Map{{"type", "settled"},
             {"outcome", outcome(end)},
             {"stopped_by", stopped_by(end)},
             {"status", static_cast<std::int64_t>(status)}};
}

std::vector<std::string> egress_told(const CallEnd& end) {
  std::vector<std::string> told;
  for (const Value& entry : entries(end, &is_egress)) {
    if (const auto* text = entry.get_if<std::string>()) told.push_back("egress: " + text->substr(kEgress.size()));
  }
  return told;
}

std::vector<std::string> ceilings_told(const CallEnd& end) {
  constexpr std::string_view kMemory = "event:oom-kill=";
  constexpr std::string_view kProcesses = "event:pids-max=";
  std::vector<std::string> told;
  const ExecExit* exit = exit_of(end);
  if (exit == nullptr) return told;
  for (const std::string& entry : exit->enforcement) {
    if (begins_with(entry, kMemory))
      told.push_back("memory ran out: killed at mem_bytes: " + entry.substr(kMemory.size()));
    if (begins_with(entry, kProcesses))
      told.push_back("processes ran out: refused at pids: " + entry.substr(kProcesses.size()));
  }
  return told;
}

std::vector<std::string> refusals_told(const CallEnd& end) {
  std::vector<std::string> told;
  for (const Value& entry : entries(end, &is_refusal)) {
    if (const auto* text = entry.get_if<std::string>()) told.push_back(*text);
  }
  return told;
}

std::vector<Error> explain_end(const CallEnd& end) {
  if (const auto* refused = std::get_if<CallRefused>(&end)) return {refusal_error(*refused)};
  const auto& settled = std::get<CallSettled>(end);
  if (settled.failed) return {failure_error(*settled.failed)};
  return {};
}

}  // namespace loom::service
