#include "helper/why.h"

#include <algorithm>
#include <cstring>

#include "os/fds.h"
#include "plan/file_calls.h"
#include "plan/seccomp_table.h"

namespace loom::helper {
namespace {

constexpr std::size_t kMostEntries = 64;

// What a command chose goes into a report that people read: bytes that could steer a terminal are written out.
std::string shown(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out.append("\\x") += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

template <std::size_t N>
std::string name_from(const char (&name)[N]) {
  return shown(std::string_view(name, ::strnlen(name, N)));
}

// "socket(2, _, 0)": the arguments that the table judges.
std::string call_text(const SeccompRow& row, const stage2::Denied& denied) {
  std::uint32_t looked_at = 0;
  unsigned last = 0;
  for (const ArgTest& test : row.tests) {
    looked_at |= 1U << test.index;
    last = std::max(last, test.index);
  }
  std::string text = std::string(row.name) + "(";
  for (unsigned i = 0; looked_at != 0 && i <= last; ++i) {
    if (i > 0) text += ", ";
    text += (looked_at & (1U << i)) != 0 ? std::to_string(denied.args[i]) : "_";
  }
  return text + ")";
}

// The plan alone says yes to what a file's own mode refused.
bool plan_allows(PathAccess access, stage2::PathUse use) {
  switch (use) {
    case stage2::PathUse::kLook:
    case stage2::PathUse::kRead:
      return access == PathAccess::kRead || access == PathAccess::kWrite;
    case stage2::PathUse::kWrite:
    case stage2::PathUse::kChange:
      return access == PathAccess::kWrite;
  }
  return false;
}

// Lexically: what lies under links was resolved by init's own look, whose error stands beside.
Path canonical(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  Path path;
  for (const std::string_view part : parts) path.append("/").append(part);
  return path.empty() ? "/" : path;
}

}  // namespace

std::optional<Why> parse_why(std::string_view text) {
  if (text == "calls") return Why::kCalls;
  if (text == "paths") return Why::kPaths;
  return std::nullopt;
}

std::string plan_op_text(const PlanOp& op) {
  std::string text{static_cast<char>('a' + static_cast<int>(op.op)), op.access == Access::kReadWrite ? 'w' : 'r'};
  return text + op.entry + '\n' + op.path;
}

std::string plan_link_text(const FollowedLink& link) {
  return std::to_string(link.from.size()) + '\n' + link.from + link.to;
}

void add_plan_op(MountPlan& plan, std::string_view text) {
  const std::size_t line = text.find('\n');
  if (text.size() < 2 || line == std::string_view::npos) return;
  PlanOp op;
  op.op = static_cast<OpClass>(text[0] - 'a');
  op.access = text[1] == 'w' ? Access::kReadWrite : Access::kReadOnly;
  op.entry = text.substr(2, line - 2);
  op.path = text.substr(line + 1);
  if (op.path == "/") plan.host_view = true;
  plan.ops.push_back(std::move(op));
}

void add_plan_link(MountPlan& plan, std::string_view text) {
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return;
  const std::size_t size = std::strtoul(std::string(text.substr(0, line)).c_str(), nullptr, 10);
  const std::string_view both = text.substr(line + 1);
  if (size > both.size()) return;
  plan.links.push_back({Path(both.substr(0, size)), Path(both.substr(size))});
}

WhyLog::SeenAttempt WhyLog::attempt_of(const stage2::Attempt& attempt) {
  return {attempt.number, attempt.use, attempt.error,
          std::string(attempt.path, ::strnlen(attempt.path, sizeof attempt.path)), name_from(attempt.name)};
}

// Said when first seen, and again with the count at the end.
void WhyLog::add(const stage2::Denied& denied) {
  const auto known = std::find_if(denied_.begin(), denied_.end(), [&](const stage2::Denied& d) {
    return d.number == denied.number && std::memcmp(d.args, denied.args, sizeof d.args) == 0;
  });
  if (known != denied_.end()) {
    *known = denied;
  } else if (denied_.size() < kMostEntries) {
    denied_.push_back(denied);
  }
}

void WhyLog::add(const stage2::Attempt& attempt) {
  attempts_lost_ = std::max(attempts_lost_, attempt.lost);
  if (attempt.number != stage2::kNoCall) attempts_.push_back(attempt_of(attempt));
}

void WhyLog::add_denied(loom::Report& report, const Policy& policy, bool container) const {
  const std::vector<SeccompRow> rows = seccomp_table({policy.network.mode, container});
  std::uint32_t lost = 0;
  for (const stage2::Denied& denied : denied_) {
    lost = std::max(lost, denied.lost);
    std::array<std::uint32_t, 6> args{};
    std::copy(std::begin(denied.args), std::end(denied.args), args.begin());
    const SeccompRow* row = refusing_row(rows, kThisMachine, static_cast<int>(denied.number), args);
    if (row == nullptr) continue;
    std::string text = "denied:" + std::string(row->net ? layer::kSeccompNet : layer::kSeccompBase) + ": " +
                       call_text(*row, denied) + ": " + errno_text(row->error) + ": " + std::string(row->reason);
    report.push_back(text + " (" + name_from(denied.name) + ", " + std::to_string(denied.count) + "x)");
  }
  if (lost > 0) report.push_back("denied:more: " + std::to_string(lost) + " further refusals of other kinds");
}

void WhyLog::add_attempts(loom::Report& report) const {
  std::size_t told = 0;
  std::size_t more = attempts_lost_;
  for (const SeenAttempt& attempt : attempts_) {
    const auto call = std::find_if(file_calls().begin(), file_calls().end(), [&](const FileCall& c) {
      return number_on(c, kThisMachine) == static_cast<int>(attempt.number);
    });
    if (call == file_calls().end()) continue;
    if (told == kMostEntries) {
      ++more;
      continue;
    }
    const Path path = canonical(attempt.path);
    const PathVerdict verdict = judge_path(plan_, path);
    std::string text = "attempt:" + std::string(call->name) + " " + shown(path) + ": " + errno_text(attempt.error) +
                       ": " + (verdict.entry.empty() ? "" : verdict.entry + ": ") + verdict.reason;
    if (attempt.error == EACCES && plan_allows(verdict.access, attempt.use))
      text += "; here the file's own mode refuses";
    report.push_back(text + " (" + attempt.who + ")");
    ++told;
  }
  if (more > 0) report.push_back("attempt:more: " + std::to_string(more) + " further attempts");
}

loom::Report WhyLog::entries(const Policy& policy, bool container) const {
  loom::Report report;
  add_denied(report, policy, container);
  add_attempts(report);
  return report;
}

}  // namespace loom::helper
