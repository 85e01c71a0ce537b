#include "egress/records.h"

#include "base/json.h"

namespace loom::egress {

namespace {

constexpr std::size_t kMaxField = 256;

std::string bounded(std::string_view text) {
  return std::string(text.size() <= kMaxField ? text : text.substr(0, kMaxField));
}

std::string line(Map map) {
  return render_json(Value(std::move(map))) + "\n";
}

}  // namespace

std::string render_record(const CallRecord& record) {
  Map map = {{"record", "call"},
             {"at_ms", record.at_ms},
             {"caller", bounded(record.caller)},
             {"run", bounded(record.run)},
             {"method", render_method(record.method)},
             {"destination", render_without_values(record.destination)},
             {"status", record.status},
             {"hops", std::uint64_t{record.hops}},
             {"request_sha256", record.request_sha256},
             {"response_sha256", record.response_sha256},
             {"bytes_out", record.bytes_out},
             {"bytes_in", record.bytes_in},
             {"credential", record.credential ? Value(*record.credential) : Value()}};
  if (record.failure) {
    map.emplace_back("code", failure_code(*record.failure));
    map.emplace_back("stage", render_stage(record.failure->stage));
    map.emplace_back("reason", bounded(failure_reason(*record.failure)));
  }
  return line(std::move(map));
}

std::string render_record(const BlobRecord& record) {
  return line({{"record", "blob"},
               {"at_ms", record.at_ms},
               {"caller", bounded(record.caller)},
               {"run", bounded(record.run)},
               {"uri", bounded(record.uri)},
               {"bytes", record.bytes}});
}

std::string render_record(const Refusal& refusal, std::int64_t at_ms) {
  return line({{"record", "refusal"},
               {"at_ms", at_ms},
               {"caller", refusal.caller},
               {"destination", refusal.destination},
               {"code", refusal.code},
               {"stage", refusal.stage},
               {"reason", refusal.reason},
               {"count", refusal.count}});
}

Refusal make_refusal(std::string_view caller, std::string_view destination, const Failure& failure) {
  return Refusal{std::string(caller),
                 std::string(destination),
                 std::string(failure_code(failure)),
                 failure_reason(failure),
                 std::string(render_stage(failure.stage)),
                 0};
}

std::optional<Refusal> Refusals::note(Refusal refusal) {
  refusal.count = 0;
  for (std::string* field : {&refusal.caller, &refusal.destination, &refusal.code, &refusal.reason, &refusal.stage})
    *field = bounded(*field);
  Key key{refusal.caller, refusal.destination, refusal.code, refusal.reason};
  if (rows_.size() >= kMost && rows_.find(key) == rows_.end()) {
    refusal.destination = "(others)";
    refusal.code = "(others)";
    refusal.reason = "";
    key = Key{refusal.caller, refusal.destination, refusal.code, refusal.reason};
  }
  Row& row = rows_.try_emplace(key, Row{std::move(refusal), 0}).first->second;
  ++row.refusal.count;
  if (row.refusal.count < 2 * row.written) return std::nullopt;
  row.written = row.refusal.count;
  return row.refusal;
}

std::vector<Refusal> Refusals::rows() const {
  std::vector<Refusal> all;
  for (const auto& [key, row] : rows_) all.push_back(row.refusal);
  return all;
}

std::vector<Refusal> Refusals::unwritten() const {
  std::vector<Refusal> open;
  for (const auto& [key, row] : rows_) {
    if (row.refusal.count != row.written) open.push_back(row.refusal);
  }
  return open;
}

}  // namespace loom::egress
