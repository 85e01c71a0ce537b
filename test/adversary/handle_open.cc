// Misdeed: a file is opened by its number, past every mount
// Witness: its number can be asked for
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/probes/deeds.h"

namespace loom::probes {
namespace {

void run(char** /*arguments*/) {
  alignas(file_handle) char room[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = reinterpret_cast<file_handle*>(room);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  allowed("its number", ::name_to_handle_at(AT_FDCWD, "beside", handle, &mount, 0) == 0 || exists("beside"));
  const int here = ::open(".", O_RDONLY | O_DIRECTORY);
  forbidden("open by it", ::open_by_handle_at(here, handle, O_RDONLY) >= 0);
  handle->handle_bytes = 8;
  forbidden("open the root's", ::open_by_handle_at(::open("/usr", O_RDONLY), handle, O_RDONLY) >= 0);
}

const Program kProgram{"handle_open", &run};

}  // namespace
}  // namespace loom::probes
