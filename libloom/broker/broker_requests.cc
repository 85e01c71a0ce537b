// What a client may ask about calls that exist, and about the broker itself.
#include <algorithm>
#include <utility>

#include "broker/broker_state.h"
#include "broker/census.h"

namespace loom::broker {

namespace {

constexpr const char* kNoCall = "no such call runs on this connection";

}  // namespace

CallRow* BrokerCore::Impl::row_of(ConnId conn, std::uint64_t call) {
  const auto connection = connections.find(conn);
  if (connection == connections.end()) return nullptr;
  const auto seq = connection->second.calls.find(call);
  if (seq == connection->second.calls.end()) return nullptr;
  const auto row = rows.find(seq->second);
  return row == rows.end() ? nullptr : &row->second;
}

Clearance* BrokerCore::Impl::waiting_of(ConnId conn, std::uint64_t call) {
  for (const auto& waiting : queue) {
    if (waiting->conn == conn && waiting->call == call) return waiting.get();
  }
  return nullptr;
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, CallStdin message) {
  const auto overrun = [&] {
    reply_error(conn, 0, "protocol_violation", "call_stdin past its credit");
    close_client(conn);
  };
  if (Clearance* waiting = waiting_of(conn, message.call)) {
    if (waiting->early_eof) return reply_error(conn, id, "no_call", "its stdin has ended");
    if (waiting->early_stdin.size() + message.data.size() > kInitialCredit) return overrun();
    if (waiting_bytes() + message.data.size() > kMostWaitingBytes) {
      refuse_waiting([&](const Clearance& other) {
        const auto waited = static_cast<std::uint64_t>(to_ms(now - other.arrived));
        return &other == waiting ? std::optional(all_busy(executor.pool().size(), waited)) : std::nullopt;
      });
      return;
    }
    waiting->early_stdin += message.data;
    waiting->early_eof = message.eof;
    return;
  }
  CallRow* row = row_of(conn, message.call);
  if (row == nullptr) return reply_error(conn, id, "no_call", kNoCall);
  switch (row->execution->stdin_data(std::move(message.data), message.eof, now)) {
    case StdinAnswer::kTaken:
      return;
    case StdinAnswer::kEnded:
      return reply_error(conn, id, "no_call", "its stdin has ended");
    case StdinAnswer::kPastCredit:
      return overrun();
  }
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const CallWinsize& message) {
  const TtySize size{message.rows, message.cols};
  if (Clearance* waiting = waiting_of(conn, message.call)) {
    if (!waiting->spec.tty) return reply_error(conn, id, "bad_request", "this call has no terminal");
    waiting->spec.tty = size;
    return;
  }
  CallRow* row = row_of(conn, message.call);
  if (row == nullptr) return reply_error(conn, id, "no_call", kNoCall);
  if (!row->has_tty) return reply_error(conn, id, "bad_request", "this call has no terminal");
  row->execution->resize(size, now);
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const CallCredit& message) {
  if (message.stream == Stream::kStdin) {
    return reply_error(conn, id, "bad_request", "/stream: a client grants stdout and stderr");
  }
  if (Clearance* waiting = waiting_of(conn, message.call)) {
    std::uint64_t& upto = message.stream == Stream::kStdout ? waiting->early_stdout_upto : waiting->early_stderr_upto;
    upto = std::max(upto, message.upto);
    return;
  }
  // Late credit is ignored.
  if (CallRow* row = row_of(conn, message.call)) row->execution->credit(message.stream, message.upto, now);
}

void BrokerCore::Impl::cancel_row(CallRow& row, StopCause by) {
  if (!row.cancelled) row.cancelled = now;
  row.execution->cancel(by, now);
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const CallCancel& message) {
  bool found = false;
  if (message.seq) {
    if (const auto row = rows.find(*message.seq); row != rows.end()) {
      cancel_row(row->second, StopCause::kCancel);
      found = true;
    }
  } else if (message.call) {
    if (CallRow* row = row_of(conn, *message.call)) {
      cancel_row(*row, StopCause::kCancel);
      found = true;
    } else {
      found = refuse_waiting([&](const Clearance& waiting) {
                const bool meant = waiting.conn == conn && waiting.call == *message.call;
                return meant ? std::optional(refusal(RefusalReason::kCancelled)) : std::nullopt;
              }) > 0;
    }
  }
  reply(conn, id, Ok{Map{{"found", found}}});
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const CallHook& message) {
  if (row_of(conn, message.call) == nullptr) return reply_error(conn, id, "no_call", kNoCall);
  reply_error(conn, id, "bad_request", "call_hook: this broker has no capability channel");
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const AbortOp& message) {
  sweep(conn, id, Sweep{message.op_id, std::nullopt});
}
void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const AbortStep& message) {
  sweep(conn, id, Sweep{message.op_id, message.step_id});
}

// Tokens first, so that nothing that still runs can use one; then those who wait; then those who run.
void BrokerCore::Impl::sweep(ConnId conn, std::uint64_t id, const Sweep& what) {
  if (what.step_id) {
    vault.revoke_step({what.op_id, *what.step_id});
    ledgers.sweep_step({what.op_id, *what.step_id});
  } else {
    vault.revoke_op(what.op_id);
    ledgers.sweep_op(what.op_id);
  }
  const std::uint64_t waiting = refuse_waiting([&](Clearance& clearance) {
    clearance.swept = clearance.swept || what.reaches(clearance.step());
    return clearance.swept ? std::optional(refusal(RefusalReason::kOperationAborted)) : std::nullopt;
  });
  std::uint64_t cancelled = 0;
  for (auto& [seq, row] : rows) {
    if (!what.reaches(row.step)) continue;
    cancel_row(row, StopCause::kAbort);
    ++cancelled;
  }
  reply(conn, id, Ok{Map{{"cancelled", cancelled}, {"waiting", waiting}}});
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const SnapshotRequest&) {
  reply(conn, id, Ok{encode(take_snapshot(), metrics)});
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const CensusRequest&) {
  Census census;
  census.service = config.peer;
  for (const ToolVersion& tool : config.tools) census.tools.emplace_back(tool.name, tool.version);
  const ExecHello& hello = executor.newest_hello();
  census.helper_peer = hello.peer;
  census.helper_features = hello.features;
  reply(conn, id, Ok{encode(census)});
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const Stop& message) {
  stop_askers.emplace_back(conn, id);
  close(message.drain_ms.value_or(config.drain_ms));
}

void BrokerCore::Impl::request(ConnId conn, std::uint64_t id, const HeartbeatRequest&) {
  reply(conn, id, HeartbeatEcho{});
}

}  // namespace loom::broker
