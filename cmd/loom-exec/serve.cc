// loom-exec serve: the base policy, the host, then the channel.
#include "helper/serve.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/version.h"
#include "cli/output.h"
#include "helper/host_context.h"
#include "os/fds.h"
#include "os/loop.h"
#include "policy/decode.h"
#include "verbs.h"

namespace loom::exec {
namespace {

constexpr int kPolicyFd = 3;
constexpr std::size_t kMaxPolicyBytes = 1U << 20U;
// Whoever passes the policy has it ready: a pipe that stays open is a fault, not a reason to hang.
constexpr int kPolicyWaitMs = 5000;

// --policy FILE, else descriptor 3, else none: then each exec_start must bring its own.
Result<std::optional<Policy>> base_policy(const JailFlags& flags) {
  std::string bytes;
  std::string place = "descriptor 3";
  if (flags.policy_file) {
    place = *flags.policy_file;
    LOOM_TRY(bytes, read_file(place, kMaxPolicyBytes));
  } else {
    if (!is_open(kPolicyFd)) return std::nullopt;
    const UniqueFd owned(kPolicyFd);
    LOOM_TRY(bytes, read_to_end(owned.get(), kMaxPolicyBytes, kPolicyWaitMs, place));
  }
  auto policy = decode_policy_bytes(bytes);
  if (!policy) return fail(std::move(policy).error().context(place));
  return std::optional<Policy>(std::move(*policy));
}

Status check_channel() {
  if (::isatty(STDIN_FILENO) == 0 && ::isatty(STDOUT_FILENO) == 0) return {};
  return fail("usage", "serve", "speaks frames on its stdin and stdout, and one of them is a terminal",
              "loom-exec run -- CMD runs a command from a terminal");
}

int refuse(const Error& error) {
  cli::say_error(tool().name, error);
  return to_int(ExitStatus::kUsage);
}

}  // namespace

int serve_verb(const cli::Parsed& /*parsed*/, JailFlags flags) {
  if (const auto channel = check_channel(); !channel) return refuse(channel.error());
  auto base = base_policy(flags);
  if (!base) return refuse(base.error());
  const auto host = helper::make_host_context(std::move(flags.host));
  if (!host) return refuse(host.error());

  helper::ServeSettings settings;
  settings.peer = tool().name + "/" + std::string(kVersion);
  settings.features = host->features;
  settings.capacity = flags.capacity;
  settings.base = std::move(*base);
  Loop loop;
  return helper::serve(loop, std::move(settings), STDIN_FILENO, STDOUT_FILENO,
                       [&](helper::ExecRequest request, helper::ExecEvents events) {
                         return helper::start_execution(loop, *host, std::move(request), std::move(events));
                       });
}

}  // namespace loom::exec
