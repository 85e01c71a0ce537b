#include "base/runbook.h"

#include <algorithm>
#include <string>
#include <utility>

namespace loom {

const std::vector<std::string_view>& runbook_entries() {
  static const std::vector<std::string_view> kEntries = {
      // Calls that were refused: nothing ran.
      "policy_refused", "policy_invalid", "budget_exhausted", "deadline_passed", "all_busy", "pool_unavailable",
      "spawn_failed", "degraded_helper", "operation_aborted", "cancelled", "egress_unavailable", "shutting_down",
      "bad_request", "not_authorised",
      // Calls that were started and failed.
      "helper_refused", "channel_closed", "enforcement_short", "cancel_escalated", "protocol_violation",
      "proto_mismatch", "execution_lost",
      // Helpers whose end was not proved.
      "unconfirmed", "end_not_seen", "orphans_left", "carrier_lost", "carrier_left_work", "helper_died",
      // The socket.
      "no_runtime_dir", "socket_path_relative", "socket_path_too_long", "socket_under_root", "socket_through_link",
      "socket_dir_missing", "socket_dir_unsafe", "socket_hides_root", "socket_live", "socket_in_use", "socket_failed",
      "socket_lost", "listen_fds", "listener_paused", "no_broker", "connection_lost",
      // The start of a broker.
      "ready_fd_failed", "lock_down_failed", "subreaper_failed", "not_available"};
  return kEntries;
}

std::string_view runbook_entry(std::string_view code) {
  if (code == "jail_lost") return "execution_lost";
  if (code == "malformed_frame" || code == "unknown_kind") return "protocol_violation";
  const auto& entries = runbook_entries();
  const auto at = std::find(entries.begin(), entries.end(), code);
  return at == entries.end() ? std::string_view() : *at;
}

Error with_runbook_entry(Error error, std::string_view code) {
  const std::string_view entry = runbook_entry(code);
  if (entry.empty()) return error;
  const std::string place = "see " + std::string(entry) + " in loom-runbook(7)";
  error.hint = error.hint.empty() ? place : error.hint + " (" + place + ")";
  return error;
}

Error with_runbook_entry(Error error) {
  const std::string code = error.code;
  return with_runbook_entry(std::move(error), code);
}

}  // namespace loom
