// Misdeed: quotas of a file system are read or set
// Witness: its space can be asked for
#include <sys/quota.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  struct statvfs facts {};
  allowed("its space", ::statvfs(".", &facts) == 0);
  for (const int command : {Q_QUOTAON, Q_GETQUOTA, Q_GETINFO, Q_SYNC}) {
    forbidden_number("quotactl", command, ::syscall(SYS_quotactl, QCMD(command, USRQUOTA), nullptr, 0, nullptr) >= 0);
  }
  forbidden("quotactl_fd", ::syscall(443, 0, QCMD(Q_GETQUOTA, USRQUOTA), 0, nullptr) >= 0);
}

const Program kProgram{"quota", &run};

}  // namespace
}  // namespace loom::probes
