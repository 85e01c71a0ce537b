// One egress proxy: its listening socket, which outlives its process, its record, and the process (spec/egress.md "How
// the jail reaches it"). It tells what happened; what follows from that is the core's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/event.h"
#include "os/loop.h"
#include "os/spawn.h"
#include "os/subreaper.h"
#include "os/unique_fd.h"

namespace loom::broker {

struct ProxyOptions {
  std::string program;                // loom-egress; "": there is none
  std::string config;                 // --config; "": none
  std::vector<std::string> roots;     // PEM files that the configuration trusts
  std::optional<std::string> record;  // where its decisions go when the configuration names a file
  std::vector<std::string> callers;   // who has a grant at the endpoint
};

struct ProxyEvents {
  std::function<void()> ready;
  std::function<void(std::string how)> ended;  // once for each start
};

class ProxyProcess {
 public:
  // Binds and listens. Errors: those of listen_unix.
  [[nodiscard]] static Result<std::unique_ptr<ProxyProcess>> open(Loop& loop, Subreaper& reaper,
                                                                  const ProxyOptions& options, const StartProxy& order,
                                                                  ProxyEvents events);
  ~ProxyProcess();  // KILL, and the socket and its own record are gone; the process is reaped by its reaper
  ProxyProcess(const ProxyProcess&) = delete;
  ProxyProcess& operator=(const ProxyProcess&) = delete;

  // Again, when it has ended. Errors: spawn_failed.
  [[nodiscard]] Status start();
  [[nodiscard]] pid_t pid() const { return child_.pid; }
  [[nodiscard]] int pidfd() const { return child_.pidfd.get(); }
  // Of the endpoint: a token it is to know, also when it is started again, and that it is nobody's any more.
  void grant(const GrantToken& token);
  void revoke(const std::string& sha256);
  // What it has refused since the last call.
  [[nodiscard]] std::vector<EgressRefused> read_refusals();

 private:
  ProxyProcess(Loop& loop, Subreaper& reaper, const ProxyOptions& options, StartProxy order, ProxyEvents events);
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] Status start_endpoint();
  [[nodiscard]] bool tell(const std::string& line) const;
  void watch_child();
  void hear();
  void on_end(ChildEnd end);
  void read_line(const std::string& line, std::vector<EgressRefused>& into) const;

  Loop& loop_;
  Subreaper& reaper_;
  const ProxyOptions& options_;
  StartProxy order_;
  ProxyEvents events_;
  UniqueFd listener_;                          // of a proxy
  UniqueFd notices_;                           // to the endpoint
  std::map<std::string, std::string> tokens_;  // lines, by digest
  std::string record_;
  bool own_record_ = true;
  off_t read_ = 0;
  std::string rest_;  // of a line that is not whole yet
  SpawnedChild child_;
  std::set<Pid> pids_;  // of all its starts: whose records are its own
  Loop::Watch hearing_;
  std::shared_ptr<ProxyProcess*> self_ = std::make_shared<ProxyProcess*>(this);  // what the reaper holds weakly
};

}  // namespace loom::broker
