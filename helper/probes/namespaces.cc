// Misdeed: new namespaces, mounts, keyrings and other doors into the kernel.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void told(const char* name, long answer) {
  forbidden(name, answer >= 0);
}

bool clones(long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child > 0;
}

void try_namespaces() {
  for (const long flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    told("unshare", ::unshare(static_cast<int>(flag)));
    forbidden("clone", clones(flag));
  }
  const unsigned long arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  const long child = ::syscall(SYS_clone3, arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  told("clone3", child);
  const int ns = ::open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
  told("setns", ::setns(ns, 0));
}

void try_mounts() {
  told("mount", ::mount("none", "/tmp", "tmpfs", 0, nullptr));
  told("remount", ::mount("none", "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr));
  told("umount", ::umount2("/proc/sys", MNT_DETACH));
  told("open_tree", ::syscall(SYS_open_tree, AT_FDCWD, "/", 1));
  told("fsopen", ::syscall(SYS_fsopen, "tmpfs", 0));
  told("mount_setattr", ::syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, nullptr, 0));
  told("pivot_root", ::syscall(SYS_pivot_root, ".", "."));
}

void run(char** /*arguments*/) {
  allowed("start a process", clones(0));
  try_namespaces();
  try_mounts();
  told("keyctl", ::syscall(SYS_keyctl, 0, -3, 0));
  told("add_key", ::syscall(SYS_add_key, "user", "a", "b", 1, -3));
  told("request_key", ::syscall(SYS_request_key, "user", "a", nullptr, -3));
  told("bpf", ::syscall(SYS_bpf, 0, nullptr, 0));
  told("perf", ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0));
  told("userfaultfd", ::syscall(SYS_userfaultfd, 0));
  told("fanotify", ::syscall(SYS_fanotify_init, 0, 0));
}

const Program kProgram{"namespaces", &run, true};

}  // namespace
}  // namespace loom::probes
