#include "helper/self_test/trial.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/fds.h"
#include "os/loop.h"

namespace loom::helper {
namespace {

constexpr std::uint64_t kWallSeconds = 20;
constexpr std::uint64_t kMebibyte = 1U << 20U;
constexpr std::size_t kMostTold = 3;  // faults in one reason
constexpr std::array<std::string_view, 5> kKept{"secret", "secrets/key", "hooks/run", "a/b/secret", "beside"};

std::string fresh_number() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return std::to_string(number);
}

bool put(const Path& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  return file.valid() && write_all(file.get(), text, path).has_value();
}

UniqueFd listener(const std::string& path, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(path.size(), sizeof address.sun_path - 2);
  std::memcpy(address.sun_path + (abstract ? 1 : 0), path.data(), length);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (!fd || ::bind(fd.get(), name, size) != 0 || ::listen(fd.get(), 8) != 0) return {};
  return fd;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size() && i < kMostTold; ++i) text.append(i == 0 ? "" : "; ").append(parts[i]);
  if (parts.size() > kMostTold) text.append("; and ").append(std::to_string(parts.size() - kMostTold)).append(" more");
  return text;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEnforced:
      return "ENFORCED";
    case Verdict::kSkipped:
      return "SKIPPED";
    case Verdict::kFailed:
      return "FAILED";
  }
  return "";
}

Trial::Trial(const TrialGround& ground, const std::string& name)
    : ground_(ground),
      nonce_(fresh_number()),
      workspace_(ground.path() + "/" + name + "/work"),
      outside_(ground.path() + "/" + name + "/out"),
      abstract_name_("loom-self-test-" + nonce_) {
  prepare();
}

std::string Trial::in_workspace(std::string_view name) const {
  return workspace_ + "/" + std::string(name);
}

// Something to protect, to freeze, to be found and to be talked to.
void Trial::prepare() {
  for (const char* name : {"", "/secrets", "/hooks", "/a", "/a/b", "/inner"}) {
    std::error_code failed;
    std::filesystem::create_directories(workspace_ + name, failed);
    want(!failed, "no directory could be made in " + workspace_);
  }
  ::mkdir(outside_.c_str(), 0755);
  bool made = put(outside_ + "/canary", content("canary"));
  for (const std::string_view name : kKept) made = put(in_workspace(name), content(name)) && made;
  listeners_.push_back(listener(outside_ + "/socket", false));
  listeners_.push_back(listener(abstract_name_, true));
  want(made && listeners_[0].valid() && listeners_[1].valid(), "its files and sockets could not be made");
}

ExecRequest Trial::probe(const std::string& name, std::vector<std::string> more) const {
  ExecRequest request;
  request.argv = {ground_.program(), name, nonce_, outside_};
  request.argv.insert(request.argv.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  request.cwd = workspace_;
  Policy& policy = request.policy;
  policy.writable_roots = {workspace_};
  policy.readable_roots = {workspace_, ground_.programs()};
  policy.frozen = {in_workspace("hooks")};
  policy.protected_paths = {in_workspace("secret"), in_workspace("secrets"), in_workspace("a/b/secret")};
  policy.env_allow = {"PATH", "LANG"};
  policy.limits.wall_s = kWallSeconds;
  // What this host lacks is what the probes that rest on it say.
  request.demand = Demand::kBestEffort;
  return request;
}

TrialOutcome Trial::run(ExecRequest request, const std::function<void(Execution&, const TrialOutcome&)>& on_output) {
  TrialOutcome outcome;
  Loop loop;
  std::unique_ptr<Execution> execution;
  ExecEvents events;
  events.output = [&](Stream stream, std::string_view data, std::uint64_t, bool) {
    (stream == Stream::kStdout ? outcome.out : outcome.err).append(data);
    if (on_output) on_output(*execution, outcome);
    execution->allow_output(stream, ~0ULL);
  };
  events.stdin_consumed = [](std::uint64_t) {};
  events.exited = [&](const ExecExit& exit) {
    outcome.exit = exit;
    loop.stop();
  };
  events.failed = [&](const Error& error) {
    outcome.error = error;
    loop.stop();
  };
  execution = start_execution(loop, ground_.host(), std::move(request), std::move(events));
  execution->allow_output(Stream::kStdout, kMebibyte);
  execution->allow_output(Stream::kStderr, kMebibyte);
  execution->write_stdin("", true);
  loop.run();
  execution.reset();
  said_ += outcome.out + outcome.err;
  return outcome;
}

TrialOutcome Trial::attempt(const std::string& name, std::vector<std::string> more) {
  TrialOutcome outcome = run(probe(name, std::move(more)));
  judge(outcome);
  return outcome;
}

void Trial::want(bool holds, const std::string& fault) {
  if (!holds) faults_.push_back(fault);
}

void Trial::judge(const TrialOutcome& outcome) {
  if (outcome.error) return want(false, "nothing ran: " + outcome.error->text());
  look_at_layers(*outcome.exit);
  want(outcome.exit->code == 0, "the probe left " + std::to_string(outcome.exit->code));
  judge_record(record_of(outcome.out));
}

void Trial::judge_record(const Record& record, bool must_end) {
  want(record.ended || !must_end, "the probe did not come to its end");
  want(!record.did.empty(), "the probe did nothing that it may: what it was refused shows nothing");
  for (const std::string& deed : record.could_not) want(false, "what is allowed did not work: " + deed);
  for (const std::string& deed : record.misdeeds) want(false, "it worked: " + deed);
  witnessed_ = witnessed_ || ((record.ended || !must_end) && !record.did.empty());
}

void Trial::look_at_layers(const ExecExit& exit) {
  for (const std::string_view layer : layers_) {
    const bool held = std::any_of(exit.enforcement.begin(), exit.enforcement.end(), [&](const std::string& entry) {
      return layer_of(entry) == layer || (layer == layer::kNamespaces && layer_of(entry) == layer::kBwrap);
    });
    want(held, "the report does not have " + std::string(layer));
  }
}

void Trial::look_for_survivors() {
  const UniqueFd alive(::open(in_workspace("alive").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!alive) return;
  want(::flock(alive.get(), LOCK_EX | LOCK_NB) == 0, "a process of it still lives");
}

void Trial::look_for_set_ids() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(workspace_, ignored)) {
    struct stat facts {};
    if (::lstat(entry.path().c_str(), &facts) != 0 || entry.path().filename() == "set-id-of-the-host") continue;
    want((facts.st_mode & (S_ISUID | S_ISGID)) == 0, "a set-id file was made: " + entry.path().filename().string());
  }
}

void Trial::look_at_host() {
  const auto holds = [](const Path& path, const std::string& text) {
    const auto read = read_file(path, 4096);
    return read && *read == text;
  };
  for (const std::string_view name : kKept) {
    want(holds(in_workspace(name), content(name)), "it was changed: " + std::string(name));
  }
  want(holds(outside_ + "/canary", content("canary")), "a file of the host was changed");
  for (const Path& directory : {outside_, outside_.substr(0, outside_.rfind('/'))}) {
    std::error_code failed;
    const auto entries = std::filesystem::directory_iterator(directory, failed);
    const bool two = !failed && std::distance(begin(entries), end(entries)) == 2;
    want(two, "something was made in a directory of the host, or removed");
  }
  for (const std::string_view name : {"secret", "secrets/key", "a/b/secret", "canary"}) {
    want(said_.find(content(name)) == std::string::npos, "it was read: " + std::string(name));
  }
  for (const UniqueFd& socket : listeners_) {
    const UniqueFd peer(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    want(!peer.valid(), "it talked to a program of the host");
  }
  look_for_survivors();
  look_for_set_ids();
}

Verdict Trial::conclude() {
  if (!skipped_.empty()) return Verdict::kSkipped;
  look_at_host();
  want(witnessed_ || !faults_.empty(), "no probe told what it did");
  return faults_.empty() ? Verdict::kEnforced : Verdict::kFailed;
}

std::string Trial::reason() const {
  return !skipped_.empty() ? skipped_ : joined(faults_);
}

}  // namespace loom::helper
