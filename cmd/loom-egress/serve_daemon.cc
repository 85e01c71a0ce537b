#include "serve_daemon.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "cli/output.h"
#include "daemon_parts.h"
#include "options.h"
#include "os/fds.h"
#include "os/tcp.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kMaxConnections = 1024;
// A caller, and of its call the connection and the sockets of its lookup.
constexpr std::size_t kDescriptorsEach = 3;
constexpr std::size_t kDescriptorsSpare = 6;  // the configuration, the record, the system's resolver
constexpr Duration kGrace = seconds(5);
constexpr Duration kSayAgain = seconds(60);
constexpr Duration kCrowded = seconds(1);  // for whoever has shown no token, while others wait to be accepted

}  // namespace

Status ServeDaemon::open() {
  if (options_.tcp) {
    LOOM_TRY(tcp_, listen_loopback(*options_.tcp));
    tcp_port_ = bound_tcp(tcp_.get()).value_or(TcpAddress{}).port;
  }
  LOOM_CHECK(open_endpoint());
  LOOM_CHECK(open_tokens());
  auto socket = open_own_socket(options_.socket, 0600);
  if (!socket && socket.error().code == "socket_live")
    return fail("socket_live", options_.socket, "somebody answers there already");
  if (!socket) return fail(std::move(socket).error());
  socket_ = std::move(*socket);
  room_ = descriptor_room(kDescriptorsEach, kDescriptorsSpare, kMaxConnections);
  return {};
}

Status ServeDaemon::open_endpoint() {
  Endpoint::Settings settings{options_.config, options_.record, {}, [this] {
                                if (feed_) feed_->catch_up();
                              }};
  if (tcp_) settings.own.push_back({egress::ipv4(127, 0, 0, 1), tcp_port_});
  endpoint_ = std::make_unique<Endpoint>(loop_, std::move(settings), [this] { on_changed(); });
  const auto config = endpoint_->refresh();
  if (!config) return fail(config.error());
  return {};
}

Status ServeDaemon::open_tokens() {
  if (options_.tokens_fd) {
    const int fd = *options_.tokens_fd;
    if (!is_open(fd) || !can_wait_for(fd))
      return fail("tokens_fd", "--tokens-fd " + std::to_string(fd), "want an open pipe or socket");
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    // Whoever tells the tokens owns this endpoint: it ends when there is nobody left to revoke one.
    TokenFeed::Callbacks callbacks{
        [this](const egress::TokenNotice& notice) {
          if (!endpoint_->tokens().apply(notice))
            cli::say_error(kTool, Error{"too_many_tokens", "--tokens-fd", "too many tokens: one was not taken", ""});
        },
        [this](const Status& how) {
          if (!how) cli::say_error(kTool, Error(how.error()).context("--tokens-fd"));
          end(to_int(how ? ExitStatus::kOk : ExitStatus::kNo));
        }};
    feed_ = std::make_unique<TokenFeed>(loop_, UniqueFd(fd), std::move(callbacks));
    return {};
  }
  LOOM_TRY(const egress::EgressConfig* config, endpoint_->refresh());
  LOOM_TRY(TokenFolder folder, TokenFolder::mint(*options_.token_dir, config->callers()));
  folder_ = std::make_unique<TokenFolder>(std::move(folder));
  for (const egress::TokenGranted& granted : folder_->granted()) endpoint_->tokens().apply(granted);
  return {};
}

std::string ServeDaemon::serve(std::function<void(int)> finish) {
  finish_ = std::move(finish);
  listen(unix_listener_, socket_.fd.get());
  if (tcp_) listen(tcp_listener_, tcp_.get());
  watch_ = std::make_unique<service::SocketWatch>(loop_, socket_.path, socket_.identity, [this](const Error& error) {
    cli::say_error(kTool, error);
    end(to_int(ExitStatus::kNo));
  });
  return "ready " + socket_.path + (tcp_ ? " 127.0.0.1:" + std::to_string(tcp_port_) : "");
}

void ServeDaemon::listen(std::unique_ptr<service::Listener>& listener, int fd) {
  service::ListenerEvents events{[this](UniqueFd caller, PeerCredentials) {
                                   endpoint_->add(std::move(caller));
                                   on_changed();
                                 },
                                 [this](bool paused) { on_paused(paused); },
                                 [this](const Error& error) {
                                   cli::say_error(kTool, error);
                                   end(to_int(ExitStatus::kNo));
                                 }};
  listener = std::make_unique<service::Listener>(loop_, fd, std::move(events));
}

// Who is not accepted waits in the queue. One line an episode, however often the queue fills in it.
void ServeDaemon::on_changed() {
  if (closing_) return end_if_done();
  const bool full = endpoint_->connections() >= room_;
  if (full) on_paused(true);
  if (full && !crowded_) {
    crowded_ = loop_.timer(loop_.now() + kCrowded, [this] {
      crowded_.reset();
      endpoint_->cut_nameless(loop_.now() - kCrowded);
      on_changed();
    });
  }
  if (unix_listener_) unix_listener_->hold(full);
  if (tcp_listener_) tcp_listener_->hold(full);
}

void ServeDaemon::on_paused(bool paused) {
  if (!paused || (said_full_ && loop_.now() - *said_full_ < kSayAgain)) return;
  said_full_ = loop_.now();
  cli::say_error(kTool, Error{"listener_paused", "", "out of descriptors: accepting pauses", ""});
}

void ServeDaemon::close() {
  end(to_int(ExitStatus::kOk));
}

void ServeDaemon::end(int status) {
  status_ = std::max(status_, status);
  const bool again = std::exchange(closing_, true);
  watch_.reset();
  // It may be a listener or a call that is telling.
  loop_.post([this, again] {
    unix_listener_.reset();
    tcp_listener_.reset();
    if (!again) remove_own_socket(socket_);
    endpoint_->cut(again);
    if (!again) patience_ = loop_.timer(loop_.now() + kGrace, [this] { endpoint_->cut(true); });
    end_if_done();
  });
}

void ServeDaemon::end_if_done() {
  if (endpoint_->connections() != 0 || !finish_) return;
  endpoint_->close_records();
  folder_.reset();
  std::exchange(finish_, nullptr)(status_);
}

}  // namespace loom::egress_tool
