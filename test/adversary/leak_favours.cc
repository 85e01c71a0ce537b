// Misdeed: the starter's real time, better nice value, first turn at the disk and long life are had
// Witness: the ordinary share is had
// Run: favoured
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

char first_of(const char* path) {
  char first = '?';
  const int fd = ::open(path, O_RDONLY);
  if (::read(fd, &first, 1) != 1) first = '?';
  ::close(fd);
  return first;
}

bool may_have(int resource) {
  rlimit limit{1, 1};
  return ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_max != 0;
}

void run(char** /*arguments*/) {
  allowed("a share", ::sched_getscheduler(0) == SCHED_OTHER && ::getpriority(PRIO_PROCESS, 0) >= 0);
  forbidden("real time", ::sched_getscheduler(0) == SCHED_FIFO || ::sched_getscheduler(0) == SCHED_RR);
  forbidden("a better nice value", ::getpriority(PRIO_PROCESS, 0) < 0);
  forbidden("the first turn at the disk", ::syscall(SYS_ioprio_get, 1, 0) >> 13 == 1);
  forbidden("long life", first_of("/proc/self/oom_score_adj") == '-' || first_of("/proc/self/oom_score_adj") == '?');
  forbidden("the right to real time", may_have(RLIMIT_RTPRIO));
  forbidden("the right to a better nice value", may_have(RLIMIT_NICE));
}

const Program kProgram{"leak_favours", &run};

}  // namespace
}  // namespace loom::probes
