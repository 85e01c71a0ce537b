// What the programs inside a jail say of what they tried, one line a deed, and the small deeds many of them share. A
// deed that is allowed and works shows that the program really tried; one that is forbidden must not work. The line
// with the number it was given comes last: a program that did not reach it says nothing at all.
//
//     + TEXT        allowed, and it worked        - TEXT    allowed, and it did not
//     ! TEXT        forbidden, and it worked      . TEXT    forbidden, and it did not
//     end NONCE
#pragma once

#include <initializer_list>

namespace loom::probes {

void allowed(const char* what, bool worked);
void forbidden(const char* what, bool worked);
void forbidden_number(const char* what, long number, bool worked);
// Where the lines go from now on; 1 before.
void tell_on(int fd);

// A program by its name. `arguments`: what whoever starts it puts behind the number; the first is a directory of the
// host that no policy names, with a file "canary" in it.
struct Program {
  const char* name;
  void (*run)(char** arguments);
  bool combines;  // can be run together with all others, in one jail without a terminal
  const Program* next;
  Program(const char* its_name, void (*its_run)(char**), bool with_others = false);
};
[[nodiscard]] const Program* programs();

// Deeds. Each answers whether it worked and leaves nothing open.
[[nodiscard]] bool creates(const char* path);
[[nodiscard]] bool opens(const char* path, int flags);
[[nodiscard]] bool reads(const char* path);
[[nodiscard]] bool writes(const char* path, const char* text);
[[nodiscard]] bool exists(const char* path);
// In a child with ten seconds to live, which may also be ended by what it does: whether it answered true.
[[nodiscard]] bool in_child(bool (*deed)());
// Ends the program here, as one that came to its end.
[[noreturn]] void end_here(int status);

}  // namespace loom::probes
