// The language in which test/peers/exec_client and control_client are told what to say and what to wait for. One
// command a line; "#" begins a comment. Each frame that arrives is printed as one line of JSON when it is read.
//
//   hello [proto=N] [capacity=N]      our hello
//   send ID KIND JSON                 any frame; {"hex":"00ff"} in the JSON stands for bytes
//   sh ID CWD COMMAND...              exec_start of /bin/sh -c COMMAND (with the optional keys given by `with`)
//   with JSON                         keys for the exec_starts that follow ({"demand":"best_effort"})
//   stdin ID TEXT | stdin-eof ID      exec_stdin (\n is a line feed); its own ids count from 1000
//   cancel ID | credit ID STREAM UPTO cancel and exec_credit, likewise
//   raw HEX                           bytes as they are
//   await KIND [ID]                   reads until a frame of that kind (and id) came; 20 s
//   await-output ID TEXT              reads until the stdout of that execution or call holds TEXT
//   quiet MS                          reads for MS: whatever comes is printed
//   eof                               no more from us
//   drain                             reads to the peer's end
//   signal NAME                       TERM, KILL, STOP, CONT or INT to the peer (exec_client)
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "test/support/frame_port.h"

namespace loom::test {

struct ClientHooks {
  std::function<void()> end_of_input;                   // `eof`
  std::function<bool(const std::string& name)> signal;  // false: there is none of that name, or nobody to send it to
};

// 0, or 3 with a line on stderr that names the command that could not be carried out (the peer ended, 20 s passed).
[[nodiscard]] int run_client_script(std::istream& script, FramePort& port, const ClientHooks& hooks, bool exec_channel);

}  // namespace loom::test
