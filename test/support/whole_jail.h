// The report of a jail that holds every layer, as a played helper tells it.
#pragma once

#include <string>
#include <vector>

namespace loom::test {

inline std::vector<std::string> whole_jail() {
  return {"namespaces:net=fresh",
          "mounts:ro=4,rw=1,frozen=0,mask=0,pin=0,bind_ro=0,bind_rw=0,scratch=tmpfs,base=minimal,plan=0",
          "unprivileged",
          "no-new-privs",
          "landlock:abi=6",
          "seccomp-base",
          "seccomp-net",
          "cgroup-v2",
          "pids-userns",
          "rlimit-cpu",
          "rlimit-fsize",
          "rlimit-core"};
}

}  // namespace loom::test
