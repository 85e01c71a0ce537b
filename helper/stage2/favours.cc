#include "helper/stage2/favours.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <sys/resource.h>

#include "helper/stage2/sys.h"

namespace loom::stage2 {
namespace {

constexpr long kNiceZero = 20;  // as the kernel answers: 20 less the value
constexpr char kOomScore[] = "/proc/self/oom_score_adj";

void leave_real_time() {
  const long policy = call(__NR_sched_getscheduler, 0) & ~long{SCHED_RESET_ON_FORK};
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;
  const int priority = 0;
  call(__NR_sched_setscheduler, 0, SCHED_NORMAL, &priority);
}

void leave_the_disks_first_class() {
  const long given = call(__NR_ioprio_get, IOPRIO_WHO_PROCESS, 0);
  if (given >= 0 && (given >> IOPRIO_CLASS_SHIFT) == IOPRIO_CLASS_RT) call(__NR_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
}

// Negative: others are ended before it. Less than that anybody may have.
void be_ended_as_others() {
  const long fd = call(__NR_openat, AT_FDCWD, kOomScore, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  char first = '0';
  call(__NR_pread64, fd, &first, 1, 0);
  if (first == '-') call(__NR_pwrite64, fd, "0", 1, 0);
  call(__NR_close, fd);
}

void give_up_the_right(int resource) {
  const std::uint64_t none[2] = {0, 0};
  call(__NR_prlimit64, 0, resource, none, nullptr);
}

}  // namespace

void give_up_favours() {
  leave_real_time();
  if (call(__NR_getpriority, PRIO_PROCESS, 0) > kNiceZero) call(__NR_setpriority, PRIO_PROCESS, 0, 0);
  leave_the_disks_first_class();
  be_ended_as_others();
  give_up_the_right(RLIMIT_RTPRIO);
  give_up_the_right(RLIMIT_NICE);
}

}  // namespace loom::stage2
