// What was asked and what went out, as JSON lines (spec/egress.md "Three records"): bounded, without query values, with
// the NAME of a credential and never more. Pure: whoever writes them appends each line in one write (os/append_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "egress/failure.h"
#include "egress/judge.h"

namespace loom::egress {

// A call that went out, whatever came of it.
struct CallRecord {
  std::int64_t at_ms = 0;  // since 1970
  std::string caller;
  std::string run;  // "" without one
  Method method = Method::kGet;
  Url destination;  // of the last hop
  int status = 0;   // 0: no response
  unsigned hops = 0;
  std::string request_sha256;  // of the bodies
  std::string response_sha256;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
  std::optional<std::string> credential;
  std::optional<Failure> failure;
};
// {"record":"call","at_ms":..,"caller":..,"run":..,"method":..,"destination":..,"status":..,"hops":..,
//  "request_sha256":..,"response_sha256":..,"bytes_out":..,"bytes_in":..,"credential":name or null} and, of one that
// failed, "code", "stage" and "reason".
[[nodiscard]] std::string render_record(const CallRecord& record);

struct BlobRecord {
  std::int64_t at_ms = 0;
  std::string caller;
  std::string run;
  std::string uri;
  std::uint64_t bytes = 0;
};
// {"record":"blob",...}
[[nodiscard]] std::string render_record(const BlobRecord& record);

struct Refusal {
  std::string caller;
  std::string destination;  // "other.test:443"; "" when no host was understood
  std::string code;
  std::string reason;
  std::string stage;
  std::uint64_t count = 0;
};
[[nodiscard]] Refusal make_refusal(std::string_view caller, std::string_view destination, const Failure& failure);
// {"record":"refusal","at_ms":..,"caller":..,"destination":..,"code":..,"stage":..,"reason":..,"count":..}
[[nodiscard]] std::string render_record(const Refusal& refusal, std::int64_t at_ms);

// Distinct by caller, destination and reason. A refused caller cannot flood the log: a refusal is written when it is
// new and when its count has doubled, and at most kMost of them are told apart; the others share one row a caller.
class Refusals {
 public:
  static constexpr std::size_t kMost = 1024;
  // The row as it stands now, when it is one to write. The count of what is handed in is not looked at.
  [[nodiscard]] std::optional<Refusal> note(Refusal refusal);
  [[nodiscard]] std::vector<Refusal> rows() const;
  // Those whose last count was not written: for the end.
  [[nodiscard]] std::vector<Refusal> unwritten() const;

 private:
  struct Row {
    Refusal refusal;
    std::uint64_t written = 0;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, Row> rows_;
};

}  // namespace loom::egress
