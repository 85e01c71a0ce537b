#include "test/support/broker_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace loom::test {
namespace {

constexpr int kPatienceMs = 20'000;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "broker_process: %s\n", why.c_str());
  std::abort();
}

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::string make_folder() {
  std::string name = environment("TMPDIR", "/tmp") + "/door.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) give_up("cannot make " + name);
  ::mkdir((name + "/work").c_str(), 0755);
  return name;
}

// Starts one program; `out` and `err` become its descriptors 1 and 2, `ready` its 9.
pid_t start(std::vector<std::string> words, std::vector<std::string> added, int out, int err, int ready,
            const std::function<void()>& before_exec) {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).substr(0, 5) != "LOOM_") names.emplace_back(*entry);
  }
  names.insert(names.end(), added.begin(), added.end());
  const auto argv = pointers(words);
  const auto envp = pointers(names);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) give_up("cannot fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    // Last: 9 may be the number of one of the others.
    if (ready == 9) ::fcntl(9, F_SETFD, 0);
    if (ready >= 0) ::dup2(ready, 9);
    before_exec();
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(null);
  return pid;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool readable(int fd, int timeout_ms) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, timeout_ms) == 1;
}

}  // namespace

std::string tool_path(const std::string& name) {
  return environment("BIN", "bin") + "/" + name;
}
std::string peer_path(const std::string& name) {
  return environment("BUILT", "build/release") + "/test/peers/" + name;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The parent's death must kill it: a thread's end is no reason, so tests start brokers from threads that outlive them.
BrokerProcess::BrokerProcess(ServeSetup setup) : folder_(make_folder()) {
  const UniqueFd policy(::open(policy_file().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const UniqueFd log(::open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const std::vector<std::string> make = {tool_path("loom-policy"), "default", workspace(), "--fit"};
  int status = 0;
  if (::waitpid(start(make, {}, policy.get(), log.get(), -1, [] {}), &status, 0) < 0 || status != 0) {
    give_up("no base policy: " + this->log());
  }
  std::ofstream(folder_ + "/log").close();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("no pipe");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  std::vector<std::string> words = {tool_path("loom-broker")};
  words.insert(words.end(), setup.command.begin(), setup.command.end());
  words.insert(words.end(), {"--base-policy", policy_file(), "--socket", socket(), "--ready-fd", "9"});
  if (!setup.helper.empty()) words.insert(words.end(), {"--helper", setup.helper});
  words.insert(words.end(), setup.flags.begin(), setup.flags.end());
  pid_ = start(words, setup.environment, log.get(), log.get(), writing.get(), setup.before_exec);
  writing.reset();
  if (!setup.wait_ready) return;
  char byte = 0;
  if (!readable(reading.get(), kPatienceMs) || ::read(reading.get(), &byte, 1) != 1) {
    give_up("not ready (" + std::to_string(wait()) + "): " + this->log());
  }
}

BrokerProcess::~BrokerProcess() {
  if (status_ < 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string BrokerProcess::log() const {
  return read_text(folder_ + "/log");
}

void BrokerProcess::signal(int number) const {
  ::kill(pid_, number);
}

int BrokerProcess::wait() {
  if (status_ >= 0) return status_;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!readable(pidfd.get(), 3 * kPatienceMs)) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  return status_ = code_of(status);
}

long BrokerProcess::rss_kb() const {
  std::istringstream status(read_text("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    long kb = 0;
    status >> kb;
    return kb;
  }
  return -1;
}

std::size_t BrokerProcess::descriptors() const {
  std::size_t count = 0;
  DIR* folder = ::opendir(("/proc/" + std::to_string(pid_) + "/fd").c_str());
  if (folder == nullptr) return 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return count;
}

std::vector<pid_t> BrokerProcess::children() const {
  std::istringstream list(read_text("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children"));
  std::vector<pid_t> out;
  for (pid_t pid = 0; list >> pid;) out.push_back(pid);
  return out;
}

bool lives(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const auto after = stat.rfind(") ");
  return after != std::string::npos && stat[after + 2] != 'Z';
}

bool ends(pid_t pid) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return !pidfd || readable(pidfd.get(), kPatienceMs);
}

}  // namespace loom::test
