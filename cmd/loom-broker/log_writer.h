// Log lines to stderr, one write each, never waiting: a reader that stopped costs lines, not calls (spec/broker.md
// "What an operator sees").
#pragma once

#include <cstdint>

#include "broker/event.h"

namespace loom::broker {

enum class LogFormat { kLogfmt, kJson };

class LogWriter {
 public:
  explicit LogWriter(LogFormat format) : format_(format) {}
  void write(const LogLine& line);

 private:
  bool put(const LogLine& line);
  LogFormat format_;
  std::uint64_t dropped_ = 0;
};

}  // namespace loom::broker
