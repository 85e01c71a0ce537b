// Where the kernel enters a program of ours that has no libc (stage 2, the bridge), and what the compiler expects to
// find there.
#pragma once

// Defined by each program. `stack` is what the kernel left: the count of arguments, then pointers to them, ended by 0.
extern "C" [[noreturn]] void loom_main(const long* stack);
