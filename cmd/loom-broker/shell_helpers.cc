// The shell's helpers: their start, their frames, their end and what they leave behind.
#include <signal.h>

#include <utility>

#include "shell.h"

namespace loom::broker {
namespace {

// Host ids of a root helper's jails (spec/jail.md "Started by root"): block N begins here.
constexpr std::uint64_t kFirstJailId = 1'879'048'192;
constexpr std::uint64_t kJailIds = 65'536;

}  // namespace

void Shell::spawn(const SpawnHelper& order) {
  // One of its own for each: a shared file would share its offset, too.
  auto policy = sealed_memfd(policy_);
  if (!policy) return handle(HelperSpawnFailed{order.helper, std::move(policy).error()});
  SpawnRequest request{options_.helper, {"serve"}, policy->get()};
  request.args.insert(request.args.end(), options_.helper_args.begin(), options_.helper_args.end());
  if (options_.blocks_of_ids) {
    request.args.insert(request.args.end(), {"--jail-uid", std::to_string(kFirstJailId + kJailIds * order.block)});
  }
  const HelperId id = order.helper;
  HelperEvents events{[this, id](Frame frame) {
                        if (frame.kind == "exec_exit") read_proxy_records();
                        handle(HelperFrame{id, std::move(frame)});
                      },
                      [this, id](service::ChannelEnd how, const Error& why) { on_helper_channel(id, how, why); },
                      [this, id](ChildEnd end) { on_helper_exit(id, end); }};
  auto started = HelperProcess::start(loop_, *reaper_, request, std::move(events));
  if (!started) return handle(HelperSpawnFailed{id, std::move(started).error()});
  const pid_t pid = (*started)->pid();
  helpers_.emplace(id, std::move(*started));
  handle(HelperSpawned{id, pid});
}

void Shell::send_to_helper(SendToHelper order) {
  const auto found = helpers_.find(order.helper);
  if (found == helpers_.end()) return;
  const bool starts = std::holds_alternative<ExecStart>(order.message);
  found->second->send(encode_exec(order.id, std::move(order.message)), starts);
  if (starts) pending_.push_back(StartGiven{order.helper, order.id, monotonic_now()});
}

void Shell::on_helper_channel(HelperId helper, service::ChannelEnd how, const Error& why) {
  switch (how) {
    case service::ChannelEnd::kEof:
      return handle(HelperEof{helper});
    case service::ChannelEnd::kMalformed:
      return handle(HelperFault{helper, why, false});
    case service::ChannelEnd::kCutShort:
    case service::ChannelEnd::kBroken:
      return handle(HelperFault{helper, why, true});
  }
}

void Shell::on_helper_exit(HelperId helper, ChildEnd end) {
  HelperExited event{helper, end.signal != 0, end.signal != 0 ? end.signal : end.code, new_orphans()};
  if (const auto found = helpers_.find(helper); found != helpers_.end()) {
    bury(std::move(found->second));
    helpers_.erase(found);
  }
  handle(std::move(event));
}

std::vector<Pid> Shell::new_orphans() {
  std::vector<Pid> found;
  for (const pid_t pid : reaper_->orphans()) {
    told_orphans_.insert(pid);
    found.push_back(pid);
  }
  return found;
}

// What an orphan leaves behind comes to us when it is reaped. Its own end is told only when theirs was seen, too, so
// that "reaped" keeps meaning that nothing of the helper is left.
void Shell::on_orphan(pid_t pid) {
  if (found_orphans_.erase(pid) == 0 && told_orphans_.erase(pid) == 0) return;
  withheld_.push_back(pid);
  for (const pid_t child : reaper_->orphans()) {
    if (told_orphans_.count(child) != 0) continue;
    found_orphans_.insert(child);
    ::kill(child, SIGKILL);
  }
  if (!found_orphans_.empty()) return;
  for (const pid_t reaped : std::exchange(withheld_, {})) handle(OrphanReaped{reaped});
}

}  // namespace loom::broker
