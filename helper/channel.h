// The helper's end of a jail's control socket: whole messages with descriptors (helper/stage2/protocol.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "helper/stage2/protocol.h"
#include "os/unique_fd.h"

namespace loom::helper {

struct ControlPair {
  UniqueFd helper;  // non-blocking
  UniqueFd jail;
};
[[nodiscard]] Result<ControlPair> make_control();

struct ControlMessage {
  std::string bytes;  // begins with the type
  std::vector<UniqueFd> passed;
  [[nodiscard]] stage2::FromStage2 type() const;
  // The message as a structure, missing bytes as zero.
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
};

enum class Received { kMessage, kNothingYet, kEnd };
[[nodiscard]] Received receive(int fd, ControlMessage& message);

// False when the other side is gone.
bool send_message(int fd, std::string_view bytes, const std::vector<int>& pass = {});
bool send_order(int fd, stage2::ToStage2 what, const std::vector<int>& pass = {});
bool send_word(int fd, stage2::FromStage2 what, std::string_view text, const std::vector<int>& pass = {});

}  // namespace loom::helper
