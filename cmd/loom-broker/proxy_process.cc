#include "proxy_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/json.h"
#include "egress/tokens.h"
#include "os/socket.h"

namespace loom::broker {
namespace {

constexpr mode_t kSocketMode = 0666;               // a jail's host id is another one
constexpr std::size_t kLongestLine = 256U << 10U;  // of a record: a name may have thousands of addresses

off_t size_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

std::string text_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  if (found == nullptr) return {};
  if (const auto* text = found->get_if<std::string>()) return *text;
  if (const auto* number = found->get_if<std::uint64_t>()) return std::to_string(*number);
  return render_json(*found);
}

Pid number_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  const auto* number = found != nullptr ? found->get_if<std::uint64_t>() : nullptr;
  return number != nullptr ? static_cast<Pid>(*number) : 0;
}

std::string words_of(ChildEnd end) {
  if (end.signal != 0) return "killed by signal " + std::to_string(end.signal);
  return "exit status " + std::to_string(end.code);
}

}  // namespace

ProxyProcess::ProxyProcess(Loop& loop, Subreaper& reaper, const ProxyOptions& options, StartProxy order,
                           ProxyEvents events)
    : loop_(loop), reaper_(reaper), options_(options), order_(std::move(order)), events_(std::move(events)) {
  own_record_ = !options_.record;
  record_ = options_.record.value_or(order_.socket + ".records");
  read_ = own_record_ ? 0 : size_of(record_);
}

Result<std::unique_ptr<ProxyProcess>> ProxyProcess::open(Loop& loop, Subreaper& reaper, const ProxyOptions& options,
                                                         const StartProxy& order, ProxyEvents events) {
  std::unique_ptr<ProxyProcess> made(new ProxyProcess(loop, reaper, options, order, std::move(events)));
  if (!order.endpoint) {
    LOOM_TRY(made->listener_, listen_unix(order.socket, kSocketMode));
  }
  return made;
}

ProxyProcess::~ProxyProcess() {
  if (child_.pidfd) ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
  if (listener_ || order_.endpoint) ::unlink(order_.socket.c_str());
  if (own_record_) ::unlink(record_.c_str());
  if (order_.endpoint) ::rmdir(order_.socket.substr(0, order_.socket.rfind('/')).c_str());
}

std::vector<std::string> ProxyProcess::arguments() const {
  std::vector<std::string> args{"proxy", "--listen-fd", "3", "--ready-fd", "1", "--only-bridges"};
  if (own_record_) args.insert(args.end(), {"--record", record_});
  if (!options_.config.empty()) args.insert(args.end(), {"--config", options_.config});
  for (const std::string& entry : order_.allow) args.insert(args.end(), {"--allow", entry});
  return args;
}

// Its tokens come on descriptor 3, and it ends with them.
Status ProxyProcess::start_endpoint() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail("spawn_failed", options_.program, "cannot make a pipe");
  const UniqueFd theirs(ends[0]);
  notices_.reset(ends[1]);
  ::fcntl(notices_.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> args{"serve",       "--socket", order_.socket, "--config", options_.config,
                                "--tokens-fd", "3",        "--ready-fd",  "1"};
  LOOM_TRY(child_, spawn_child(SpawnRequest{options_.program, std::move(args), theirs.get()}));
  watch_child();
  for (const auto& [sha256, line] : tokens_) (void)tell(line);
  return {};
}

// A pipe takes a line whole or not at all.
bool ProxyProcess::tell(const std::string& line) const {
  return notices_ && ::write(notices_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void ProxyProcess::grant(const GrantToken& token) {
  const std::string line =
      egress::render_token_notice(egress::TokenGranted{token.sha256, token.caller, token.run, 0}) + "\n";
  tokens_[token.sha256] = line;
  (void)tell(line);  // an endpoint that has stopped reading knows one token less
}

void ProxyProcess::revoke(const std::string& sha256) {
  if (tokens_.erase(sha256) == 0) return;
  const bool told = tell(egress::render_token_notice(egress::TokenRevoked{sha256}) + "\n");
  // And never one more: it is ended, and the one that is started in its place is told what is left.
  if (!told && child_.pidfd) ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
}

Status ProxyProcess::start() {
  if (order_.endpoint) return start_endpoint();
  LOOM_TRY(child_, spawn_child(SpawnRequest{options_.program, arguments(), listener_.get()}));
  pids_.insert(child_.pid);
  watch_child();
  return {};
}

void ProxyProcess::watch_child() {
  reaper_.expect(child_.pid, [weak = std::weak_ptr<ProxyProcess*>(self_)](ChildEnd end) {
    if (const auto alive = weak.lock()) (*alive)->on_end(end);
  });
  hearing_ = loop_.watch(child_.from_child.get(), Readiness::kRead, [this] { hear(); });
}

// One line, once it serves; after that it has nothing to say there.
void ProxyProcess::hear() {
  std::array<char, 4096> block{};
  const ssize_t got = ::read(child_.from_child.get(), block.data(), block.size());
  if (got > 0 && std::string_view(block.data(), static_cast<std::size_t>(got)).find('\n') == std::string_view::npos)
    return;
  if (got < 0) return;
  hearing_.reset();
  // It has made its socket for its own user; who is in a jail may be another one, and comes by this way alone.
  if (got > 0 && order_.endpoint) ::chmod(order_.socket.c_str(), kSocketMode);
  if (got > 0) events_.ready();
}

void ProxyProcess::on_end(ChildEnd end) {
  hearing_.reset();
  child_ = SpawnedChild{};
  events_.ended(words_of(end));
}

std::vector<EgressRefused> ProxyProcess::read_refusals() {
  std::vector<EgressRefused> refusals;
  if (order_.endpoint) return refusals;
  const UniqueFd file(::open(record_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file) return refusals;
  std::array<char, 16384> block{};
  const off_t first = read_;
  for (ssize_t got = 0; (got = ::pread(file.get(), block.data(), block.size(), read_)) > 0; read_ += got) {
    rest_.append(block.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      read_line(rest_.substr(begin, end - begin), refusals);
    }
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine) rest_.clear();
  }
  // What was read is of no use to anybody: a proxy that lives long does not fill the directory.
  if (own_record_ && read_ > first) ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, read_);
  return refusals;
}

void ProxyProcess::read_line(const std::string& line, std::vector<EgressRefused>& into) const {
  const auto record = parse_json(line);
  if (!record || text_at(*record, "record") != "decision" || text_at(*record, "verdict") != "refused") return;
  // Another broker's proxies may write to the same file, under an equal list.
  if (text_at(*record, "list") != order_.list || pids_.count(number_at(*record, "proxy_pid")) == 0) return;
  into.push_back({number_at(*record, "peer_pid"), text_at(*record, "host") + ":" + text_at(*record, "port"),
                  text_at(*record, "code")});
}

}  // namespace loom::broker
