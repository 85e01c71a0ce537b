// loom-broker serve: the daemon. Everything that may be refused is refused before the ready line.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "cli/output.h"
#include "control_client.h"
#include "embedded.h"
#include "log_writer.h"
#include "os/runtime_dir.h"
#include "policy/covers.h"
#include "serve_options.h"
#include "service/daemon.h"
#include "service/listener.h"
#include "service/readiness.h"
#include "verbs.h"

namespace loom::broker {
namespace {

class Serve final : public service::Daemon {
 public:
  Serve(Loop& loop, ServeOptions options)
      : loop_(loop), options_(std::move(options)), log_(options_.log_json ? LogFormat::kJson : LogFormat::kLogfmt) {}

  Status open() override;
  std::string serve(std::function<void(int)> finish) override;
  void close() override;

 private:
  Status take_socket();
  Result<std::unique_ptr<Shell>> open_shell();
  void on_peer(UniqueFd socket, const PeerCredentials& peer);
  void on_paused(bool paused);
  void on_lost(const Error& error);
  void on_closed(const Closed& closed);

  Loop& loop_;
  ServeOptions options_;
  LogWriter log_;
  OwnSocket socket_;
  bool inherited_ = false;  // a supervisor's socket: its file is not ours to remove
  std::unique_ptr<Shell> shell_;
  std::unique_ptr<service::Listener> listener_;
  std::unique_ptr<service::SocketWatch> watch_;
  std::function<void(int)> finish_;
  bool lost_ = false;
};

// One that a supervisor passed is taken as it is: where it lies is the supervisor's decision.
Status Serve::take_socket() {
  LOOM_TRY(std::optional<UniqueFd> passed, service::take_listen_fd());
  if (passed) {
    inherited_ = true;
    socket_.fd = std::move(*passed);
    socket_.path = service::bound_path(socket_.fd.get());
    return {};
  }
  LOOM_TRY(const std::string path, find_socket(options_.socket, options_.runtime_dir));
  // Others come this far only when the operator both named them and opened the directory to them; who they are is asked
  // of the kernel for each connection.
  LOOM_TRY(socket_, open_own_socket(path, options_.allowed_uids.empty() ? 0600 : 0666));
  return {};
}

// The socket's directory is hidden from every jail: a root inside it would be hidden, too.
Status check_roots(const Policy& base, const std::string& directory) {
  for (const auto* roots : {&base.writable_roots, &base.readable_roots}) {
    for (const Path& root : *roots) {
      if (!covers(directory, root)) continue;
      return fail("socket_hides_root", directory, "the socket's directory is hidden from jails and would hide " + root,
                  "give the socket a directory of its own");
    }
  }
  return {};
}

Status Serve::open() {
  LOOM_CHECK(check_executable(options_.helper));
  LOOM_CHECK(take_socket());
  auto shell = open_shell();
  if (shell) {
    shell_ = std::move(*shell);
    return {};
  }
  if (!inherited_) remove_own_socket(socket_);
  return fail(std::move(shell).error());
}

Result<std::unique_ptr<Shell>> Serve::open_shell() {
  BrokerConfig config = options_.config;
  config.control_dir = socket_.path.substr(0, socket_.path.find_last_of('/'));
  LOOM_CHECK(check_roots(config.base, config.control_dir));
  config.tools = tools_here();
  // A supervisor's socket may lie where we may make nothing.
  const std::string above = inherited_ ? std::string() : config.control_dir;
  ShellEvents events{[this](const LogLine& line) { log_.write(line); },
                     [this](const Closed& closed) { on_closed(closed); }};
  return Shell::open(loop_,
                     shell_options(std::move(config), options_.helper, options_.cgroup_base, options_.proxy, above),
                     std::move(events));
}

std::string Serve::serve(std::function<void(int)> finish) {
  finish_ = std::move(finish);
  service::ListenerEvents events{[this](UniqueFd fd, PeerCredentials peer) { on_peer(std::move(fd), peer); },
                                 [this](bool paused) { on_paused(paused); },
                                 [this](const Error& error) { on_lost(error); }};
  listener_ = std::make_unique<service::Listener>(loop_, socket_.fd.get(), std::move(events));
  if (!inherited_) {
    watch_ = std::make_unique<service::SocketWatch>(loop_, socket_.path, socket_.identity,
                                                    [this](const Error& error) { on_lost(error); });
  }
  shell_->boot();
  return "ready " + socket_.path;
}

void Serve::on_peer(UniqueFd socket, const PeerCredentials& peer) {
  const bool allowed = peer.uid == ::geteuid() || peer.uid == 0 || options_.allowed_uids.count(peer.uid) != 0;
  shell_->add_client(std::move(socket), allowed);
}

void Serve::on_paused(bool paused) {
  if (!paused) return log_.write(LogLine{LogLevel::kInfo, "listener.resumed", Map{}});
  log_.write(LogLine{LogLevel::kWarning, "listener.paused", Map{{"reason", "listener_paused"}}});
}

// Nobody can reach this broker any more: it ends, and says so by its status.
void Serve::on_lost(const Error& error) {
  if (std::exchange(lost_, true)) return;
  say_error(error);
  close();
}

void Serve::close() {
  shell_->close();
}

void Serve::on_closed(const Closed& closed) {
  if (!finish_) return;
  watch_.reset();
  listener_.reset();
  if (!inherited_) remove_own_socket(socket_);
  const int status = to_int(closed.clean && !lost_ ? ExitStatus::kOk : ExitStatus::kNo);
  // Clients that asked for the end are still reading its verdict.
  shell_->when_told([finish = std::exchange(finish_, nullptr), status] { finish(status); });
}

Result<int> try_serve(const cli::Parsed& parsed) {
  LOOM_TRY(ServeOptions options, read_serve_options(parsed));
  const service::DaemonOptions daemon_options{options.ready_fd};
  Loop loop;
  Serve serve(loop, std::move(options));
  return service::run_daemon(loop, serve, daemon_options);
}

}  // namespace

int serve_verb(const cli::Parsed& parsed) {
  const auto status = try_serve(parsed);
  if (status) return *status;
  say_error(status.error());
  return to_int(ExitStatus::kUsage);
}

}  // namespace loom::broker
