#include "doctor_look.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "os/doctor_facts.h"
#include "os/fds.h"
#include "service/questions.h"

namespace loom::census {
namespace {

namespace fs = std::filesystem;

constexpr char kBwrap[] = "/usr/bin/bwrap";

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code fault;
    std::string name = fs::temp_directory_path(fault).string() + "/loom-doctor.XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code fault;
    if (!path_.empty()) fs::remove_all(path_, fault);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  // "": there is none. Makes directories in it by name.
  [[nodiscard]] std::string make(const std::string& name) const {
    std::error_code fault;
    fs::create_directory(path_ + "/" + name, fault);
    return path_ + "/" + name;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? *text : "";
}

// As `loom-exec features --json` tells them, back in the words of a hello.
Result<Report> read_features(const std::string& helper, const std::string& said) {
  const auto answer = parse_json(said);
  const Value* list = answer ? answer->find("features") : nullptr;
  const auto* entries = list != nullptr ? list->get_if<Array>() : nullptr;
  if (entries == nullptr) return fail("bad_answer", helper, "does not tell its features", "is it a loom-exec?");
  Report features;
  for (const Value& entry : *entries) {
    const Value* held = entry.find("held");
    const bool* is_held = held != nullptr ? held->get_if<bool>() : nullptr;
    const std::string tag = text_at(entry, "tag");
    const std::string detail = text_at(entry, "detail");
    if (is_held != nullptr && *is_held)
      features.push_back(tag + (detail.empty() ? "" : ":" + detail));
    else
      features.push_back(skip_entry(tag, text_at(entry, "reason")));
  }
  return features;
}

// Why a call came to nothing, from its report.
std::string fault_of(const Value& report) {
  const Value* outcome = report.find("outcome");
  if (outcome == nullptr) return "loom-exec ended without a report";
  for (const char* key : {"refused", "failed"}) {
    const Value* what = outcome->find(key);
    if (what == nullptr) continue;
    const Value* detail = what->find("detail");
    const std::string message = detail != nullptr ? text_at(*detail, "msg") : "";
    return message.empty() ? render_json(*what) : message;
  }
  return render_json(*outcome);
}

// One jail with a demand for every layer that a plain policy asks for. A base that will not do has a row of its own.
void try_jail(const std::string& helper, DoctorFacts& facts) {
  const TemporaryDirectory directory;
  const std::string report = directory.path() + "/report";
  const auto ran =
      service::ask_output("/usr/bin/env", {"-u", "LOOM_CGROUP_BASE", helper, "run", "--quiet", "--workspace",
                                           directory.make("work"), "--report", report, "--", "/bin/true"});
  const auto text = read_file(report, 1U << 20U);
  const auto answer = parse_json(text.value_or(""));
  const Value* status = answer ? answer->find("status") : nullptr;
  facts.trial_ran = status != nullptr && *status == Value(std::uint64_t{0});
  if (facts.trial_ran) return;
  facts.trial_fault = !ran ? ran.error().text() : answer ? fault_of(*answer) : "loom-exec ended without a report";
}

bool says_seen(const std::string& script) {
  const auto said = service::ask_output("/bin/sh", {"-c", script});
  return said && said->find("seen") != std::string::npos;
}

// By behaviour, not by version: distributions mend old ones.
void try_bwrap(DoctorFacts& facts) {
  facts.bwrap = ::access(kBwrap, X_OK) == 0;
  if (!facts.bwrap) return;
  facts.bwrap_version = service::ask_output(kBwrap, {"--version"}).value_or("");
  while (!facts.bwrap_version.empty() && facts.bwrap_version.back() == '\n') facts.bwrap_version.pop_back();
  const TemporaryDirectory directory;
  const std::string work = directory.make("work");
  const std::string outside = directory.make("outside");
  std::error_code fault;
  fs::create_symlink("/oldroot" + outside, work + "/planted", fault);
  const auto ran = service::ask_output(
      kBwrap, {"--ro-bind", "/", "/", "--bind", work, work, "--tmpfs", work + "/planted/made", "/bin/true"});
  if (fs::exists(outside + "/made", fault))
    facts.bwrap_faults.emplace_back("makes directories on the host through links");
  const std::string inside = std::string(kBwrap) + " --ro-bind / / --proc /proc --dev /dev -- /bin/sh -c ";
  if (says_seen("exec 9</dev/null; exec " + inside + "'test -e /proc/self/fd/9 && echo seen'"))
    facts.bwrap_faults.emplace_back("passes descriptors on");
  if (says_seen("LOOM_DOCTOR=seen; export LOOM_DOCTOR; exec " + inside + "'echo $LOOM_DOCTOR'"))
    facts.bwrap_faults.emplace_back("passes its environment on");
}

}  // namespace

Result<DoctorFacts> look_for_doctor(const std::string& helper, const std::string& base) {
  std::vector<std::string> question{"features", "--json"};
  if (!base.empty()) question.insert(question.end(), {"--cgroup-base", base});
  LOOM_CHECK(check_executable(helper));
  LOOM_TRY(const std::string said, service::ask_output(helper, question));
  DoctorFacts facts = look_at_host_for_doctor();
  LOOM_TRY(facts.features, read_features(helper, said));
  facts.cgroup_base = base;
  try_jail(helper, facts);
  try_bwrap(facts);
  return facts;
}

}  // namespace loom::census
