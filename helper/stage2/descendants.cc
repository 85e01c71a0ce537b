#include "helper/stage2/descendants.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstdint>

#include "helper/stage2/sys.h"

namespace loom::stage2 {
namespace {

constexpr unsigned kMost = 65536;

struct Process {
  int pid;
  int parent;
  bool below;
};

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

int number(const char*& text) {
  int value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + (*text++ - '0');
  return value;
}

// The state letter and the parent of a process, from its stat file; a zombie or a vanished one is not living.
bool living(const char* name, int& parent) {
  char path[32] = "/proc/";
  std::size_t at = 6 + copy_text(path + 6, 16, name);
  copy_text(path + at, sizeof path - at, "/stat");
  const long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  char text[512] = {};
  const long got = call(__NR_read, fd, text, sizeof text - 1);
  call(__NR_close, fd);
  long close = got - 1;
  while (close > 0 && text[close] != ')') --close;
  if (close <= 0) return false;
  const char state = text[close + 2];
  const char* rest = text + close + 4;
  parent = number(rest);
  return state != 'Z' && state != 'X';
}

template <class Each>
void each_process(Each each) {
  const long fd = call(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return;
  alignas(DirectoryEntry) char block[8192];
  long got = 0;
  while ((got = call(__NR_getdents64, fd, block, sizeof block)) > 0) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(block + at);
      at += entry->size;
      const char* digits = entry->name;
      const int pid = number(digits);
      int parent = 0;
      if (pid > 0 && *digits == '\0' && living(entry->name, parent)) each(pid, parent);
    }
  }
  call(__NR_close, fd);
}

// Marks the tree below this process until nothing is added; the count of the marked.
unsigned mark_tree(Process* all, unsigned count) {
  const int self = static_cast<int>(call(__NR_getpid));
  unsigned marked = 0;
  for (bool grew = true; grew;) {
    grew = false;
    for (unsigned i = 0; i < count; ++i) {
      bool below = all[i].parent == self;
      for (unsigned k = 0; k < count && !below; ++k) below = all[k].below && all[k].pid == all[i].parent;
      if (!below || all[i].below) continue;
      all[i].below = grew = true;
      ++marked;
    }
  }
  return marked;
}

template <class Deed>
unsigned with_tree(Deed deed) {
  const long room =
      call(__NR_mmap, nullptr, kMost * sizeof(Process), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room < 0 && room > -4096) return 0;
  auto* all = reinterpret_cast<Process*>(room);
  unsigned count = 0;
  each_process([&](int pid, int parent) {
    if (count < kMost) all[count++] = {pid, parent, false};
  });
  const unsigned marked = mark_tree(all, count);
  for (unsigned i = 0; i < count; ++i) {
    if (all[i].below) deed(all[i].pid);
  }
  call(__NR_munmap, all, kMost * sizeof(Process));
  return marked;
}

}  // namespace

void signal_all(bool container, int signal) {
  if (container) {
    call(__NR_kill, -1, signal);
  } else {
    with_tree([signal](int pid) { call(__NR_kill, pid, signal); });
  }
}

unsigned count_all(bool container, int bridge) {
  if (!container) return with_tree([](int) {});
  unsigned count = 0;
  each_process([&count, bridge](int pid, int) { count += pid != 1 && pid != bridge ? 1 : 0; });
  return count;
}

}  // namespace loom::stage2
