// The proxy's records: one JSON line a decision, one a tunnel's end (spec/egress.md "The proxy"). Pure.
//
//   {"record":"decision","at_ms":…,"id":"…-1","list":"<digest>","peer_pid":7,"proxy_pid":5,"front":"connect",
//    "host":"a.test","port":443,"verdict":"allowed"|"refused","code":"","rule":"*.test","addresses":["192.0.2.1"],"ms":3}
//   ("port" is text when it is no port, and {"bytes":…} stands for what is not UTF-8)
//   {"record":"closing","at_ms":…,"id":"…-1","address":"192.0.2.1","up_bytes":9,"down_bytes":9,"ms":20,"error":""}
#pragma once

#include <cstdint>
#include <string>

#include "egress/tunnel.h"

namespace loom::egress {

struct RecordContext {
  std::string id;  // of the connection
  std::string list;
  std::int64_t peer_pid = 0;   // 0: unknown
  std::int64_t at_ms = 0;      // since 1970
  std::int64_t proxy_pid = 0;  // whose decision it is: several may write to one file
};

// With its newline.
[[nodiscard]] std::string render_record(const RecordContext& context, const Decision& decision);
[[nodiscard]] std::string render_record(const RecordContext& context, const Closing& closing);

}  // namespace loom::egress
