#include "os/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace loom {
namespace {

// A background process that sets the terminal is stopped by TTOU; with it blocked the change is simply made.
void set_attributes(int fd, const termios& attributes) {
  sigset_t ttou;
  sigset_t before;
  ::sigemptyset(&ttou);
  ::sigaddset(&ttou, SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &ttou, &before);
  (void)::tcsetattr(fd, TCSANOW, &attributes);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

struct RawTerminal::Saved {
  termios attributes{};
};

std::optional<WindowSize> window_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return std::nullopt;
  return WindowSize{size.ws_row, size.ws_col};
}

std::unique_ptr<RawTerminal> RawTerminal::enter(int fd) {
  auto saved = std::make_unique<Saved>();
  if (::tcgetattr(fd, &saved->attributes) != 0) return nullptr;
  std::unique_ptr<RawTerminal> owner(new RawTerminal(fd, std::move(saved)));
  owner->make_raw();
  return owner;
}

RawTerminal::RawTerminal(int fd, std::unique_ptr<Saved> saved) : fd_(fd), saved_(std::move(saved)) {}
RawTerminal::~RawTerminal() {
  give_back();
}

void RawTerminal::make_raw() {
  termios raw = saved_->attributes;
  ::cfmakeraw(&raw);
  set_attributes(fd_, raw);
}

void RawTerminal::give_back() {
  set_attributes(fd_, saved_->attributes);
}

void stop_this_process() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  (void)::kill(::getpid(), SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // it acts here
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

void RawTerminal::stop_process() {
  give_back();
  stop_this_process();
  make_raw();
}

}  // namespace loom
