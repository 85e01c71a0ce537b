#include "wire/stream.h"

namespace loom {

std::string_view to_text(Stream stream) {
  switch (stream) {
    case Stream::kStdin:
      return "stdin";
    case Stream::kStdout:
      return "stdout";
    case Stream::kStderr:
      return "stderr";
  }
  return "";
}

bool parse_stream(std::string_view text, Stream& stream) {
  for (const auto known : {Stream::kStdin, Stream::kStdout, Stream::kStderr}) {
    if (text != to_text(known)) continue;
    stream = known;
    return true;
  }
  return false;
}

}  // namespace loom
