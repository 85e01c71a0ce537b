#include "helper/out_frame.h"

#include <gtest/gtest.h>

#include "wire/exec_out.h"
#include "wire/frame.h"

namespace loom::helper {
namespace {

TEST(OutFrame, IsByteForByteTheFrameTheCodecWouldWrite) {
  for (const std::size_t size : {0U, 1U, 255U, 256U, 65535U, 65536U, 262144U}) {
    for (const std::uint64_t id : {1ULL, 200ULL, 70000ULL, 1ULL << 40U}) {
      ExecOut out;
      out.stream = id == 1 ? Stream::kStderr : Stream::kStdout;
      out.data = std::string(size, 'd');
      out.bytes = size + id;
      out.truncated = size == 255;
      const OutFrame frame = frame_around(id, out.stream, size, out.bytes, out.truncated);
      EXPECT_EQ(frame.before + out.data + frame.after, encode_frame(id, "exec_out", encode(out))) << size << " " << id;
    }
  }
}

}  // namespace
}  // namespace loom::helper
