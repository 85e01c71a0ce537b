// The command's streams as the helper holds them: output read as far as the reader allows and cut at output_bytes,
// stdin written as the command takes it (spec/wire.md "Credit", spec/jail.md "Ending").
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/loop.h"
#include "os/unique_fd.h"
#include "wire/stream.h"

namespace loom::helper {

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};
// Enlarged to 1 MiB where the kernel allows; the helper's end does not block. `owner` may open it anew through
// /dev/stdout.
enum class HelperEnd { kRead, kWrite };
[[nodiscard]] Result<PipeEnds> make_pipe(HelperEnd ours, std::uint32_t owner);

class OutputStream {
 public:
  using Deliver = std::function<void(std::string_view, std::uint64_t cumulative, bool truncated)>;

  // limit 0: none. `deliver` is called from the loop and from drain().
  OutputStream(Loop& loop, std::uint64_t limit, Deliver deliver);

  void open(UniqueFd fd);
  void allow(std::uint64_t upto);
  // No writer is left: takes what is there as far as the credit goes. True when nothing remains.
  bool drain();
  // Whatever is still unread is given up.
  void close();

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] bool truncated() const { return truncated_; }

 private:
  enum class Step { kMore, kEmpty, kEnd, kNoCredit };
  Step read_some();
  void take(std::string_view data);
  void watch();

  Loop& loop_;
  std::uint64_t limit_;
  Deliver deliver_;
  UniqueFd fd_;
  Loop::Watch watch_;
  std::uint64_t allowed_ = kInitialCredit;
  std::uint64_t delivered_ = 0;
  bool truncated_ = false;
};

class InputStream {
 public:
  using Consumed = std::function<void(std::uint64_t)>;
  InputStream(Loop& loop, Consumed consumed) : loop_(loop), consumed_(std::move(consumed)) {}

  // terminal: an end is a VEOF, not a close.
  void open(UniqueFd fd, bool terminal);
  void write(std::string data, bool eof);
  void close();  // data is discarded from here on, and counted as consumed

 private:
  void pump();
  void note(std::uint64_t bytes);

  Loop& loop_;
  Consumed consumed_;
  UniqueFd fd_;
  Loop::Watch watch_;
  std::deque<std::string> queue_;
  std::size_t offset_ = 0;
  std::uint64_t total_ = 0;
  bool terminal_ = false;
  bool eof_ = false;
  bool closed_ = false;
};

}  // namespace loom::helper
