// Misdeeds of quantity: output, processes, memory.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

constexpr long kMebibyte = 1L << 20;

// Sixteen mebibytes on stdout; what it tells goes to stderr.
void output(char** /*arguments*/) {
  tell_on(2);
  static char block[65536];
  std::memset(block, 'x', sizeof block);
  bool whole = true;
  for (int i = 0; i < 256; ++i) whole = ::write(1, block, sizeof block) == sizeof block && whole;
  allowed("write it all", whole);
  allowed("go on to the end", writes("finished", "finished"));
}

// The second argument is how many processes there may be. Each child holds the lock "alive" for as long as it lives.
void forks(char** arguments) {
  const int most = std::atoi(arguments[1]);
  const int alive = ::open("alive", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  allowed("take the lock", alive >= 0 && ::flock(alive, LOCK_SH) == 0);
  int started = 0;
  for (int i = 0; i < most * 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    if (child > 0) ++started;
  }
  allowed("start a few", started >= most / 2);
  forbidden_number("more processes than the ceiling:", started, started > most);
}

// The second argument is the ceiling in mebibytes; a quarter of it must be had. Who touches four times as much and
// still lives was not held.
void memory(char** arguments) {
  const long ceiling = std::atol(arguments[1]) * kMebibyte;
  const auto touch = [](long bytes) {
    void* at = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    for (long i = 0; i < bytes; i += 4096) static_cast<char*>(at)[i] = 1;
    return true;
  };
  allowed("a quarter of it", touch(ceiling / 4));
  forbidden("four times the ceiling", touch(ceiling * 4));
}

const Program kOutput{"output-flood", &output};
const Program kForks{"fork-bomb", &forks};
const Program kMemory{"memory", &memory};

}  // namespace
}  // namespace loom::probes
