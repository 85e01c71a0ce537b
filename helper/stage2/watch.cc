#include "helper/stage2/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "helper/stage2/sys.h"
#include "helper/stage2/talk.h"

namespace loom::stage2 {
namespace {

constexpr unsigned kMostKinds = 64;       // of refused calls
constexpr unsigned kMostAttempts = 1024;  // told, each path once a call
constexpr unsigned kSlots = 4096;         // of the table that knows them again
constexpr unsigned kMostWatched = 256;
constexpr std::size_t kPage = 4096;

// Larger than this build's structures: a newer kernel may have more to say.
union Notification {
  seccomp_notif said;
  char room[512];
};
union Answer {
  seccomp_notif_resp said;
  char room[512];
};

Denied kinds[kMostKinds];
unsigned kind_count = 0;
unsigned kinds_lost = 0;
std::uint64_t seen[kSlots];
unsigned seen_count = 0;
unsigned attempts_lost = 0;
const Watched* watched[kMostWatched];
unsigned watched_count = 0;

void read_table(const Orders& orders) {
  watched_count = 0;
  for (const Record* r = next_record(orders.policy, nullptr); r != nullptr; r = next_record(orders.policy, r)) {
    if (r->tag == Tag::kWatched && watched_count < kMostWatched) watched[watched_count++] = body<Watched>(r);
  }
}

const Watched* find(unsigned number) {
  for (unsigned i = 0; i < watched_count; ++i) {
    if (watched[i]->number == number) return watched[i];
  }
  return nullptr;
}

char* put_text(char* to, char* end, const char* from) {
  while (*from != '\0' && to + 1 < end) *to++ = *from++;
  *to = '\0';
  return to;
}

char* put_number(char* to, std::uint64_t value) {
  char digits[20];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
  return to;
}

// "/proc/PID/WHAT"
void proc_path(char (&path)[64], unsigned pid, const char* what) {
  char* at = put_text(path, path + sizeof path, "/proc/");
  at = put_number(at, pid);
  put_text(at, path + sizeof path, what);
}

void name_of(unsigned pid, char (&name)[16]) {
  char path[64];
  proc_path(path, pid, "/comm");
  name[0] = '\0';
  const long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  const long got = call(__NR_read, fd, name, sizeof name);
  call(__NR_close, fd);
  name[got > 0 ? got - 1 : 0] = '\0';  // the last byte is the line's end
}

void remember_refusal(const Watched& row, const seccomp_notif& call_made) {
  Denied made{};
  made.type = static_cast<std::uint32_t>(FromStage2::kDenied);
  made.number = row.number;
  for (unsigned i = 0; i < 4; ++i) {
    if ((row.looked_at & (1U << i)) != 0) made.args[i] = static_cast<std::uint32_t>(call_made.data.args[i]);
  }
  for (unsigned i = 0; i < kind_count; ++i) {
    Denied& known = kinds[i];
    bool alike = known.number == made.number;
    for (unsigned k = 0; k < 4; ++k) alike = alike && known.args[k] == made.args[k];
    if (!alike) continue;
    ++known.count;
    return;
  }
  if (kind_count == kMostKinds) {
    ++kinds_lost;
    return;
  }
  made.pid = call_made.pid;
  made.count = 1;
  name_of(made.pid, made.name);
  kinds[kind_count++] = made;
  say(&made, sizeof made);
}

// The text at an address of another process: up to the end of its page, then on. False: it cannot be read, or is no
// path.
bool read_text(unsigned pid, std::uint64_t address, char* text, std::size_t room) {
  const std::size_t first = kPage - address % kPage;
  iovec here{text, room - 1};
  const iovec there[2] = {{reinterpret_cast<void*>(address), first < room - 1 ? first : room - 1},
                          {reinterpret_cast<void*>(address + first), first < room - 1 ? room - 1 - first : 0}};
  const long got = call(__NR_process_vm_readv, pid, &here, 1, there, 2, 0);
  if (got <= 0) return false;
  text[got] = '\0';
  return length(text) < static_cast<std::size_t>(got);
}

// The path that an argument names, made absolute: the directory it starts from is read off /proc.
bool path_of(const seccomp_notif& made, unsigned argument, unsigned directory, char* path, std::size_t room) {
  char text[kPage];
  if (!read_text(made.pid, made.data.args[argument], text, sizeof text) || text[0] == '\0') return false;
  char* at = path;
  if (text[0] != '/') {
    char from[64];
    const int fd = directory == kNoArgument ? AT_FDCWD : static_cast<int>(made.data.args[directory]);
    if (fd == AT_FDCWD) {
      proc_path(from, made.pid, "/cwd");
    } else {
      proc_path(from, made.pid, "/fd/");
      put_number(from + length(from), static_cast<unsigned>(fd));
    }
    const long got = call(__NR_readlinkat, AT_FDCWD, from, path, room - 2);
    if (got <= 0 || path[0] != '/') return false;
    at = path + got;
    if (at[-1] != '/') *at++ = '/';
  }
  if (length(text) >= room - static_cast<std::size_t>(at - path)) return false;  // cut, it would be another path
  put_text(at, path + room, text);
  return true;
}

int try_access(const char* path, int mode) {
  return static_cast<int>(-call(__NR_faccessat, AT_FDCWD, path, mode, 0));
}

// Cuts the last component off; false at the root.
bool to_parent(char* path) {
  std::size_t size = length(path);
  while (size > 1 && path[size - 1] == '/') --size;
  while (size > 0 && path[size - 1] != '/') --size;
  if (size == 0) return false;
  while (size > 1 && path[size - 1] == '/') --size;
  const bool moved = path[size] != '\0';
  path[size] = '\0';
  return moved;
}

std::uint64_t device_of(const char* path) {
  struct statx node;
  if (call(__NR_statx, AT_FDCWD, path, 0, STATX_INO, &node) != 0) return 0;
  return (std::uint64_t{node.stx_dev_major} << 32U) | node.stx_dev_minor;
}

// Absent from the view, as against absent from a place that is in it: the nearest directory that is there belongs to
// the jail's own skeleton, or to a mask.
bool outside_the_view(const Setup& setup, char* path) {
  while (to_parent(path)) {
    const std::uint64_t device = device_of(path);
    if (device == 0) continue;
    if (setup.mask_device != 0 && device == setup.mask_device) return true;
    return setup.host_view == 0 && device == device_of("/");
  }
  return false;
}

constexpr int kMayRead = 4;   // R_OK
constexpr int kMayWrite = 2;  // W_OK

int look_for(PathUse use, char* path) {
  switch (use) {
    case PathUse::kLook:
      return try_access(path, 0);
    case PathUse::kRead:
      return try_access(path, kMayRead);
    case PathUse::kWrite:
      return try_access(path, kMayWrite);
    case PathUse::kChange:
      to_parent(path);
      return try_access(path, kMayWrite);
  }
  return 0;
}

// What the call would meet, as far as a look from here can tell: 0, or an errno worth telling.
int look_at(const Setup& setup, PathUse& use, bool creates, const char* path) {
  char copy[kPage];
  copy_text(copy, sizeof copy, path);
  int error = look_for(use, copy);
  if (error == ENOENT && creates) {
    use = PathUse::kChange;
    copy_text(copy, sizeof copy, path);
    error = look_for(use, copy);
  }
  if (error == EACCES || error == EPERM || error == EROFS) return error;
  if (error != ENOENT && error != ENOTDIR) return 0;
  copy_text(copy, sizeof copy, path);
  return outside_the_view(setup, copy) ? error : 0;
}

bool first_time(unsigned number, const char* path) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ number;
  for (const char* at = path; *at != '\0'; ++at) hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3U;
  if (hash == 0) hash = 1;
  for (std::uint64_t slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
    if (seen[slot] == hash) return false;
    if (seen[slot] != 0) continue;
    if (seen_count == kMostAttempts) {
      ++attempts_lost;
      return false;
    }
    ++seen_count;
    seen[slot] = hash;
    return true;
  }
}

PathUse use_of(const Watched& row, const seccomp_notif& made, bool& creates) {
  if (row.flags == kNoArgument) return row.use;
  const auto flags = static_cast<unsigned>(made.data.args[row.flags]);
  creates = (flags & O_CREAT) != 0;
  if ((flags & O_PATH) != 0) return PathUse::kLook;
  return (flags & O_ACCMODE) == O_RDONLY && (flags & O_TRUNC) == 0 ? PathUse::kRead : PathUse::kWrite;
}

void remember_attempt(const Orders& orders, int listener, const Watched& row, const seccomp_notif& made) {
  bool creates = false;
  for (unsigned i = 0; i < 2; ++i) {
    Attempt attempt;
    attempt.type = static_cast<std::uint32_t>(FromStage2::kAttempt);
    if (row.path[i] == kNoArgument) continue;
    if (!path_of(made, row.path[i], row.directory[i], attempt.path, sizeof attempt.path)) continue;
    PathUse use = use_of(row, made, creates);
    const int error = look_at(*orders.setup, use, creates, attempt.path);
    // A process that ended meanwhile may have been followed by another of its number: what was read may be that one's.
    if (error == 0 || call(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &made.id) != 0) continue;
    if (!first_time(row.number, attempt.path)) continue;
    attempt.number = row.number;
    attempt.error = error;
    attempt.pid = made.pid;
    attempt.lost = attempts_lost;
    attempt.use = use;
    name_of(made.pid, attempt.name);
    say(&attempt, sizeof attempt - sizeof attempt.path + length(attempt.path) + 1);
  }
}

}  // namespace

void answer_one(const Orders& orders, int listener, Remember remember) {
  Notification made{};
  if (call(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &made) != 0) return;
  const Watched* row = find(static_cast<unsigned>(made.said.data.nr));
  Answer answer{};
  answer.said.id = made.said.id;
  if (row != nullptr && row->error == 0) {
    if (remember == Remember::kYes) remember_attempt(orders, listener, *row, made.said);
    answer.said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    if (row != nullptr && remember == Remember::kYes) remember_refusal(*row, made.said);
    answer.said.error = row == nullptr ? -EPERM : -row->error;
  }
  call(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int answer_until_exec(const Orders& orders, int handoff) {
  read_table(orders);
  pollfd news[2] = {{handoff, POLLIN, 0}, {-1, POLLIN, 0}};
  for (;;) {
    call(__NR_ppoll, news, 2, nullptr, nullptr, 0);
    if ((news[0].revents & POLLIN) != 0 && news[1].fd < 0) {
      const int listener = take_passed(handoff);
      if (listener >= 0) {
        news[1].fd = listener;
        continue;
      }
    }
    // Looked at before the listener: a call that came with the exec is the command's, and is to be remembered.
    if ((news[0].revents & (POLLHUP | POLLERR)) != 0) return news[1].fd;
    if ((news[1].revents & POLLIN) != 0) answer_one(orders, news[1].fd, Remember::kNo);
  }
}

void say_counts() {
  for (unsigned i = 0; i < kind_count; ++i) {
    kinds[i].lost = kinds_lost;
    if (kinds[i].count > 1 || (kinds_lost > 0 && i == 0)) say(&kinds[i], sizeof kinds[i]);
  }
  if (attempts_lost == 0) return;
  Attempt none{};
  none.type = static_cast<std::uint32_t>(FromStage2::kAttempt);
  none.number = kNoCall;
  none.lost = attempts_lost;
  say(&none, sizeof none - sizeof none.path + 1);
}

}  // namespace loom::stage2
