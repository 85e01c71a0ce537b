#include "proxy_daemon.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/hash.h"
#include "bridge_peer.h"
#include "cli/output.h"
#include "daemon_parts.h"
#include "egress/tunnel_records.h"
#include "options.h"
#include "os/fds.h"
#include "os/tcp.h"
#include "service/readiness.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMaxTunnels = 256;
// Beyond the tunnels: so many may ask at once, and be told that there are too many.
constexpr std::size_t kMaxConnections = kMaxTunnels + 32;
// A client, its upstream, and the sockets of its lookup.
constexpr std::size_t kDescriptorsEach = 3;
constexpr std::size_t kDescriptorsSpare = 4;  // the configuration, a record that is opened anew
constexpr std::size_t kIdBytes = 6;
constexpr Duration kQuiet = seconds(60);

}  // namespace

Status ProxyDaemon::open() {
  id_ = to_hex(random_bytes(kIdBytes));
  LOOM_CHECK(take_owner());
  LOOM_CHECK(take_socket());
  std::vector<egress::Listener> own;
  if (const auto bound = bound_tcp(socket_.fd.get()))
    own.push_back(egress::Listener{egress::Address{bound->v6, bound->bytes}, bound->port});
  config_ = std::make_unique<ProxyConfig>(options_.config, options_.allow, std::move(own));
  auto settings = refresh();
  if (!settings) {
    if (options_.socket) remove_own_socket(socket_);
    return fail(std::move(settings).error());
  }
  room_ = descriptor_room(kDescriptorsEach, kDescriptorsSpare, kMaxConnections);
  return {};
}

// Whoever passes the socket owns the proxy: it ends with it.
Status ProxyDaemon::take_owner() const {
  if (!options_.listen_fd) return {};
  const pid_t owner = ::getppid();
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || ::getppid() != owner)
    return fail("owner_gone", "", "whoever started this has gone");
  return {};
}

Status ProxyDaemon::take_socket() {
  if (options_.socket) {
    LOOM_TRY(socket_, open_own_socket(*options_.socket, 0600));
    return {};
  }
  const int fd = *options_.listen_fd;
  if (!is_listening_stream(fd))
    return fail("listen_fd", "--listen-fd " + std::to_string(fd), "the descriptor is no listening stream socket");
  socket_.fd.reset(fd);
  socket_.path = service::bound_path(fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return {};
}

std::string ProxyDaemon::serve(std::function<void(int)> finish) {
  finish_ = std::move(finish);
  service::ListenerEvents events{[this](UniqueFd fd, const PeerCredentials& peer) { on_peer(std::move(fd), peer.pid); },
                                 [this](bool paused) {
                                   if (paused) say_full();
                                 },
                                 [this](const Error& error) { on_lost(error); }};
  listener_ = std::make_unique<service::Listener>(loop_, socket_.fd.get(), std::move(events));
  if (options_.socket) {
    watch_ = std::make_unique<service::SocketWatch>(loop_, socket_.path, socket_.identity,
                                                    [this](const Error& error) { on_lost(error); });
  }
  return socket_.path.empty() ? "ready" : "ready " + socket_.path;
}

void ProxyDaemon::on_peer(UniqueFd client, pid_t pid) {
  // A jail's bridge is known and bounded; what the command of the jail opens by itself is neither.
  if (options_.only_bridges && !is_bridge(pid)) return;
  const std::uint64_t number = next_++;
  ProxySide side{[this] { return context(); }, [this]() -> const egress::NameResolver& { return *resolver_; },
                 [this, number, pid](const egress::Decision& decision) { return record(number, pid, decision); },
                 [this, number, pid](const egress::Closing& closing) { record_closing(number, pid, closing); },
                 [this, number] { on_finished(number); }};
  connections_.emplace(number, std::make_unique<ProxyConnection>(loop_, std::move(client), std::move(side)));
  hold_or_take();
}

// The connection is the one that tells: it goes in a later turn.
void ProxyDaemon::on_finished(std::uint64_t number) {
  loop_.post([this, number] {
    connections_.erase(number);
    if (closing_) {
      if (connections_.empty() && finish_)
        std::exchange(finish_, nullptr)(to_int(lost_ ? ExitStatus::kNo : ExitStatus::kOk));
      return;
    }
    hold_or_take();
  });
}

// Who is not accepted waits in the queue.
void ProxyDaemon::hold_or_take() {
  const bool full = connections_.size() >= room_;
  if (full && room_ < kMaxConnections) say_full();
  if (listener_) listener_->hold(full);
}

// Short of descriptors it pauses and resumes with each connection: one line tells of all that.
void ProxyDaemon::say_full() {
  if (said_full_ && loop_.now() - *said_full_ < kQuiet) return;
  said_full_ = loop_.now();
  cli::say_error(kTool, Error{"listener_paused", "", "out of descriptors: accepting pauses until one is free", {}});
}

void ProxyDaemon::say_once(bool& said, const Error& error) {
  if (!std::exchange(said, true)) cli::say_error(kTool, error);
}

void ProxyDaemon::on_lost(const Error& error) {
  cli::say_error(kTool, error);
  lost_ = true;
  close();
}

void ProxyDaemon::close() {
  if (std::exchange(closing_, true)) return;
  watch_.reset();
  // It may be the listener that is calling.
  loop_.post([this] {
    listener_.reset();
    if (options_.socket) remove_own_socket(socket_);
    if (connections_.empty() && finish_) {
      std::exchange(finish_, nullptr)(to_int(lost_ ? ExitStatus::kNo : ExitStatus::kOk));
      return;
    }
    for (const auto& [number, connection] : connections_) connection->stop();
  });
}

Result<const ProxySettings*> ProxyDaemon::refresh() {
  LOOM_TRY(const ProxySettings* settings, config_->current());
  if (!resolver_ || resolver_text_ != settings->resolver) {
    LOOM_TRY(resolver_, egress::NameResolver::make(loop_, settings->resolver));
    resolver_text_ = settings->resolver;
  }
  LOOM_CHECK(refresh_record(*settings));
  return settings;
}

Status ProxyDaemon::refresh_record(const ProxySettings& settings) {
  const std::string path = options_.record ? *options_.record : settings.record.value_or("");
  if (path == record_path_ && (!record_ || record_->in_place())) return {};
  record_.reset();
  record_path_.clear();
  if (path.empty()) return {};
  LOOM_TRY(record_, AppendFile::open(path));
  record_path_ = path;
  return {};
}

egress::TunnelContext ProxyDaemon::context() {
  egress::TunnelContext context;
  context.now = loop_.now();
  const auto open = [](const auto& each) { return each.second->open_tunnel(); };
  context.full = static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), open)) >= kMaxTunnels;
  const auto settings = refresh();
  if (settings) {
    context.rules = (*settings)->rules;
    said_config_ = false;
    return context;
  }
  say_once(said_config_, settings.error());
  const bool unrecorded = settings.error().code == "record_failed";
  context.closed = unrecorded ? egress::ProxyRefusal{"record_failed", "", "the file of records cannot be opened"}
                              : egress::ProxyRefusal{"config_unreadable", "", "the configuration cannot be read"};
  return context;
}

Status ProxyDaemon::record(std::uint64_t number, pid_t pid, const egress::Decision& decision) {
  const egress::RecordContext context{id_ + "-" + std::to_string(number), options_.allow.digest(), pid, wall_clock_ms(),
                                      ::getpid()};
  return write(egress::render_record(context, decision));
}

void ProxyDaemon::record_closing(std::uint64_t number, pid_t pid, const egress::Closing& closing) {
  const egress::RecordContext context{id_ + "-" + std::to_string(number), options_.allow.digest(), pid, wall_clock_ms(),
                                      ::getpid()};
  // The tunnel is over already: there is nobody left to refuse anything to.
  static_cast<void>(write(egress::render_record(context, closing)));
}

Status ProxyDaemon::write(const std::string& line) {
  if (!record_) return {};
  // A tunnel is opened far more often than a request made: a disk's answer for each would be most of its time.
  auto written = record_->append(line, Durability::kWritten);
  if (!written)
    say_once(said_record_, written.error());
  else
    said_record_ = false;
  return written;
}

}  // namespace loom::egress_tool
