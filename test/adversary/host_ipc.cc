// Misdeed: shared memory, semaphores or queues of the host are seen
// Witness: one of its own is
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  const int own = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  allowed("its own", own >= 0 && ::shmctl(own, IPC_RMID, nullptr) == 0);
  shm_info memory{};
  forbidden("memory", ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&memory)) >= 0 && memory.used_ids > 0);
  for (int id = 0; id < 64; ++id) {
    shmid_ds facts{};
    if (::shmctl(id, SHM_STAT, &facts) >= 0) forbidden_number("memory", id, true);
    msqid_ds queue{};
    if (::msgctl(id, MSG_STAT, &queue) >= 0) forbidden_number("queue", id, true);
  }
  forbidden("the host's shared memory", exists("/dev/shm/sem.host") || exists("/dev/mqueue/host"));
}

const Program kProgram{"host_ipc", &run};

}  // namespace
}  // namespace loom::probes
