#include "broker/view.h"

#include <algorithm>
#include <utility>

namespace loom::broker {

namespace {

std::string execution_name(std::uint64_t incarnation, std::uint64_t seq) {
  return std::to_string(incarnation) + "." + std::to_string(seq);
}

Value encode_latency(const Ring<std::uint64_t>& samples) {
  const LatencySummary summary = summarise(samples);
  return Map{{"samples", summary.samples}, {"p50_us", summary.p50}, {"p95_us", summary.p95}, {"max_us", summary.max}};
}

Value encode_live(std::uint64_t incarnation, const LiveView& live) {
  const bool draining = live.execution.mode == Mode::kDraining;
  Map out{{"execution", execution_name(incarnation, live.seq)},
          {"seq", live.seq},
          {"helper", live.execution.helper},
          {"mode", draining ? "draining" : "streaming"},
          {"cancel", to_text(live.execution.stop)},
          {"age_ms", live.age_ms},
          {"deadline_in_ms", Value{}},
          {"stdout_bytes", live.stdout_bytes},
          {"stderr_bytes", live.stderr_bytes}};
  for (Member& member : out) {
    if (member.first == "deadline_in_ms" && live.deadline_in_ms) member.second = *live.deadline_in_ms;
  }
  return out;
}

Value encode_helper(const HelperView& helper) {
  Array features;
  for (const std::string& feature : helper.features) features.push_back(text_or_bytes(feature));
  return Map{{"ordinal", helper.ordinal},
             {"pid", helper.pid},
             {"slots", helper.quota},
             {"lent", helper.lent},
             {"custody", to_text(helper.custody)},
             {"why", text_or_bytes(helper.why)},
             {"features", std::move(features)}};
}

Value encode_pool(const PoolCounts& counts, const std::vector<HelperView>& helpers) {
  Array list;
  for (const HelperView& helper : helpers) list.push_back(encode_helper(helper));
  return Map{{"size", counts.size},         {"available", counts.available}, {"lent", counts.lent},
             {"draining", counts.draining}, {"retiring", counts.retiring},   {"unconfirmed", counts.unconfirmed},
             {"spawned", counts.spawned},   {"retired", counts.retired},     {"helpers", std::move(list)}};
}

Value encode_egress(const Snapshot& snapshot) {
  Array list;
  for (const ProxyView& proxy : snapshot.proxies) {
    list.emplace_back(Map{{"proxy", proxy.id},
                          {"pid", proxy.pid},
                          {"phase", to_text(proxy.phase)},
                          {"entries", proxy.entries},
                          {"users", proxy.users},
                          {"losses", proxy.losses}});
  }
  return Map{{"proxies", std::move(list)}, {"refusals", snapshot.egress_refusals}};
}

Value encode_counters(const Metrics& metrics) {
  Map settled;
  for (int i = 0; i < kSettledClassCount; ++i) {
    settled.emplace_back(to_text(static_cast<SettledClass>(i)), metrics.settled[static_cast<std::size_t>(i)]);
  }
  Map refused;
  for (int i = 0; i < kRefusalReasonCount; ++i) {
    refused.emplace_back(to_text(static_cast<RefusalReason>(i)), metrics.refused[static_cast<std::size_t>(i)]);
  }
  return Map{{"starts", metrics.starts},     {"settled", std::move(settled)},        {"refused", std::move(refused)},
             {"vanished", metrics.vanished}, {"output_bytes", metrics.output_bytes}, {"truncated", metrics.truncated}};
}

}  // namespace

LatencySummary summarise(const Ring<std::uint64_t>& samples) {
  std::vector<std::uint64_t> sorted = samples.newest_first();
  if (sorted.empty()) return {};
  std::sort(sorted.begin(), sorted.end());
  // The nearest rank: the smallest sample that so many of a hundred do not exceed.
  const auto rank = [&](std::size_t percent) { return sorted[(sorted.size() * percent + 99) / 100 - 1]; };
  return {sorted.size(), rank(50), rank(95), sorted.back()};
}

std::string_view to_text(SettledClass value) {
  switch (value) {
    case SettledClass::kExited:
      return "exited";
    case SettledClass::kFailed:
      return "failed";
    case SettledClass::kLost:
      return "lost";
  }
  return "lost";
}

SettledClass class_of(const Settlement& settlement) {
  const auto* failure = std::get_if<Failure>(&settlement.outcome);
  if (failure == nullptr) return SettledClass::kExited;
  return failure->kind == FailureKind::kExecutionLost ? SettledClass::kLost : SettledClass::kFailed;
}

SettledView view_of(std::uint64_t seq, const Settlement& settlement) {
  SettledView view;
  view.seq = seq;
  view.outcome = class_of(settlement);
  view.stopped_by = settlement.stopped_by;
  if (const auto* exit = std::get_if<ExecExit>(&settlement.outcome)) {
    view.kind = "exited";
    view.code = exit->code;
    view.truncated = exit->stdout_truncated || exit->stderr_truncated;
    return view;
  }
  const Failure& failure = std::get<Failure>(settlement.outcome);
  view.kind = to_text(failure.kind);
  if (failure.kind != FailureKind::kExecutionLost) return view;
  for (const LossCause cause : {LossCause::kHelperDown, LossCause::kRelayDown, LossCause::kBrokerClosing}) {
    if (failure == execution_lost(cause)) view.cause = to_text(cause);
  }
  return view;
}

void Metrics::record(const SettledView& view, Duration ran, std::optional<Duration> since_cancel) {
  const auto us = [](Duration d) { return static_cast<std::uint64_t>(std::max<std::int64_t>(d.count() / 1000, 0)); };
  ++settled[static_cast<std::size_t>(view.outcome)];
  output_bytes += view.bytes;
  truncated += view.truncated ? 1 : 0;
  run_us.push(us(ran));
  if (since_cancel) cancel_us.push(us(*since_cancel));
  recent.push(view);
  if (view.outcome != SettledClass::kExited) last_failure = view;
}

Map encode_settled(std::uint64_t incarnation, const SettledView& view) {
  Map out{{"execution", execution_name(incarnation, view.seq)}, {"class", to_text(view.outcome)}, {"kind", view.kind}};
  if (view.outcome == SettledClass::kExited) out.emplace_back("code", view.code);
  if (!view.cause.empty()) out.emplace_back("cause", view.cause);
  out.emplace_back("stopped_by", to_text(view.stopped_by));
  out.emplace_back("ms", view.ms);
  out.emplace_back("bytes", view.bytes);
  out.emplace_back("truncated", view.truncated);
  return out;
}

Value encode(const Snapshot& snapshot, const Metrics& metrics) {
  Array live;
  for (const LiveView& row : snapshot.live) live.push_back(encode_live(snapshot.incarnation, row));
  Array recent;
  for (const SettledView& row : metrics.recent.newest_first()) {
    recent.emplace_back(encode_settled(snapshot.incarnation, row));
  }
  Value last;
  if (metrics.last_failure) last = encode_settled(snapshot.incarnation, *metrics.last_failure);
  return Map{{"incarnation", snapshot.incarnation},
             {"phase", snapshot.phase},
             {"uptime_ms", snapshot.uptime_ms},
             {"live", std::move(live)},
             {"pool", encode_pool(snapshot.pool, snapshot.helpers)},
             {"waiting", Map{{"count", snapshot.waiting}, {"oldest_ms", snapshot.oldest_ms}}},
             {"books", Map{{"executions", snapshot.executions},
                           {"ledgers", snapshot.ledgers},
                           {"reserved", snapshot.outstanding},
                           {"tokens", snapshot.tokens}}},
             {"egress", encode_egress(snapshot)},
             {"counters", encode_counters(metrics)},
             {"latency", Map{{"launch", encode_latency(metrics.launch_us)},
                             {"execution", encode_latency(metrics.run_us)},
                             {"cancel_to_settle", encode_latency(metrics.cancel_us)}}},
             {"recent", std::move(recent)},
             {"last_failure", std::move(last)}};
}

}  // namespace loom::broker
