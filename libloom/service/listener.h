// Accepts on a listening Unix socket and never spins: out of descriptors or memory it pauses and resumes
// (spec/broker.md "The socket"). It also watches that the socket's file stays the one we made.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/loop.h"
#include "os/peer.h"
#include "os/runtime_dir.h"
#include "os/unique_fd.h"

namespace loom::service {

struct ListenerEvents {
  std::function<void(UniqueFd, PeerCredentials)> peer;
  // The listener waits for descriptors or memory, and takes peers again.
  std::function<void(bool paused)> paused;
  // The listening socket is of no use any more.
  std::function<void(const Error&)> broken;
};

class Listener {
 public:
  // The listening descriptor is borrowed.
  Listener(Loop& loop, int listening_fd, ListenerEvents events);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Takes nobody while its owner has no room; peers wait in the queue. paused() is not told of it.
  void hold(bool held);

 private:
  void accept_some();
  void take(UniqueFd fd) const;
  void pause();
  void resume();

  Loop& loop_;
  int fd_;
  ListenerEvents events_;
  bool paused_ = false;
  bool held_ = false;
  Loop::Watch watch_;
  Loop::Timer retry_;
};

// Tells, once, that the file of `socket` has vanished or is another one now: at once where the kernel says so, within
// two seconds otherwise. `lost` gets socket_lost.
class SocketWatch {
 public:
  SocketWatch(Loop& loop, std::string path, FileIdentity identity, std::function<void(const Error&)> lost);
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

 private:
  void look();
  void look_later();
  void drain();

  Loop& loop_;
  std::string path_;
  FileIdentity identity_;
  std::function<void(const Error&)> lost_;
  bool told_ = false;
  UniqueFd inotify_;
  Loop::Watch watch_;
  Loop::Timer timer_;
};

}  // namespace loom::service
