// The answer to a plain request on its way to the client: its head says that the connection closes behind it, whatever
// the upstream said of the connection to the proxy (spec/egress.md "The proxy"). Pure. Nothing is judged here: an
// answer whose head cannot be found passes as it is.
#pragma once

#include <string>
#include <string_view>

namespace loom::egress {

class ResponsePatch {
 public:
  // What goes on to the client of these bytes; what is still part of an unfinished head is kept.
  [[nodiscard]] std::string pass(std::string_view bytes);
  // What was kept when the upstream ended.
  [[nodiscard]] std::string rest();
  // Heads are over: everything from here on passes unchanged.
  [[nodiscard]] bool done() const { return done_; }

 private:
  std::string head_;
  bool done_ = false;
};

}  // namespace loom::egress
