#include "helper/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "helper/kernel.h"

namespace loom::helper {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kChunk = 256U << 10U;
constexpr char kEndOfTransmission = '\x04';

// One buffer for the whole single-threaded process: what is read is delivered before the next read.
char* chunk() {
  static std::array<char, kChunk> buffer;
  return buffer.data();
}

bool holds_data(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace

Result<PipeEnds> make_pipe(HelperEnd ours, std::uint32_t owner) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(kernel_error("streams", "make a pipe", errno));
  PipeEnds pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  const int mine = ours == HelperEnd::kRead ? pipe.read.get() : pipe.write.get();
  ::fcntl(mine, F_SETFL, O_NONBLOCK);
  ::fcntl(mine, F_SETPIPE_SZ, kPipeBytes);
  if (owner != ::getuid() && ::fchown(mine, owner, owner) != 0) {
    const int reason = errno;
    Error error = kernel_error("streams", "give the pipe to the command's user", reason);
    if (reason == EINVAL) {
      error.what = "the host id " + std::to_string(owner) + " of the command's user does not exist here: ";
      error.what += "loom-exec runs as root of a user namespace without it";
      error.hint = "start it as an ordinary user, or name a block of ids that is mapped there (--jail-uid)";
    }
    return fail(std::move(error));
  }
  return pipe;
}

OutputStream::OutputStream(Loop& loop, std::uint64_t limit, Deliver deliver)
    : loop_(loop), limit_(limit), deliver_(std::move(deliver)) {}

void OutputStream::open(UniqueFd fd) {
  fd_ = std::move(fd);
  watch();
}

void OutputStream::watch() {
  if (watch_ || !fd_) return;
  watch_ = loop_.watch(fd_.get(), Readiness::kRead, [this] {
    switch (read_some()) {
      case Step::kMore:
      case Step::kEmpty:
        break;
      case Step::kEnd:
        close();
        break;
      case Step::kNoCredit:
        watch_.reset();
        break;
    }
  });
}

void OutputStream::allow(std::uint64_t upto) {
  allowed_ = std::max(allowed_, upto);
  watch();
}

// Past the limit data is read and dropped, whatever the credit says. One byte more than fits is asked for, so that a
// stream that is exactly as long as its limit is not called cut.
OutputStream::Step OutputStream::read_some() {
  const bool limited = limit_ != 0;
  const std::uint64_t credit = allowed_ - std::min(allowed_, delivered_);
  const bool at_limit = limited && delivered_ >= limit_;
  if (!at_limit && credit == 0) return Step::kNoCredit;
  std::uint64_t want = at_limit ? kChunk : std::min<std::uint64_t>(credit, kChunk);
  if (limited && !at_limit && want >= limit_ - delivered_)
    want = std::min<std::uint64_t>(limit_ - delivered_ + 1, kChunk);
  const ssize_t got = ::read(fd_.get(), chunk(), want);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Step::kEmpty;
  if (got <= 0) return Step::kEnd;  // EIO: the last peer of a terminal is gone
  take({chunk(), static_cast<std::size_t>(got)});
  return Step::kMore;
}

void OutputStream::take(std::string_view data) {
  const std::uint64_t room = limit_ == 0 ? data.size() : limit_ - std::min(limit_, delivered_);
  const bool cut = data.size() > room;
  if (cut && truncated_) return;
  data = data.substr(0, room);
  delivered_ += data.size();
  truncated_ = truncated_ || cut;
  deliver_(data, delivered_, cut);
}

bool OutputStream::drain() {
  while (fd_) {
    switch (read_some()) {
      case Step::kMore:
        break;
      case Step::kEmpty:  // a writer outside the jail holds the other end: not the command's any more
      case Step::kEnd:
        close();
        break;
      case Step::kNoCredit:
        watch_.reset();
        if (holds_data(fd_.get())) return false;
        close();
        break;
    }
  }
  return true;
}

void OutputStream::close() {
  watch_.reset();
  fd_.reset();
}

void InputStream::open(UniqueFd fd, bool terminal) {
  fd_ = std::move(fd);
  terminal_ = terminal;
  pump();
}

void InputStream::write(std::string data, bool eof) {
  if (closed_) return note(data.size());
  if (!data.empty()) queue_.push_back(std::move(data));
  eof_ = eof_ || eof;
  pump();
}

void InputStream::note(std::uint64_t bytes) {
  total_ += bytes;
  if (bytes > 0) consumed_(total_);
}

void InputStream::pump() {
  if (!fd_) return;
  while (!queue_.empty()) {
    const std::string& front = queue_.front();
    const ssize_t wrote = ::write(fd_.get(), front.data() + offset_, front.size() - offset_);
    if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!watch_) watch_ = loop_.watch(fd_.get(), Readiness::kWrite, [this] { pump(); });
      return;
    }
    if (wrote < 0) return close();
    offset_ += static_cast<std::size_t>(wrote);
    const bool whole = offset_ == front.size();
    if (whole) {
      queue_.pop_front();
      offset_ = 0;
    }
    note(static_cast<std::uint64_t>(wrote));
  }
  watch_.reset();
  if (!eof_) return;
  // A terminal stays open; its end of input is a character, which its reader takes for one.
  if (!terminal_) return close();
  closed_ = true;
  [[maybe_unused]] const ssize_t told = ::write(fd_.get(), &kEndOfTransmission, 1);
}

void InputStream::close() {
  closed_ = true;
  watch_.reset();
  fd_.reset();
  std::uint64_t dropped = 0;
  for (const std::string& data : queue_) dropped += data.size();
  dropped -= std::min<std::uint64_t>(dropped, offset_);
  queue_.clear();
  offset_ = 0;
  note(dropped);
}

}  // namespace loom::helper
