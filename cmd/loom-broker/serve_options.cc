#include "serve_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "service/questions.h"
#include "service/ready_policy.h"
#include "way_out.h"

namespace loom::broker {
namespace {

constexpr std::uint64_t kMaxSlots = 256;

tl::unexpected<Error> bad(std::string flag, std::string what) {
  return fail("bad_argument", std::move(flag), std::move(what));
}

// A flag of a part that this version does not have is refused by its name: silence would let a caller believe in it.
Status refuse_unbuilt(const cli::Parsed& parsed) {
  for (const char* flag : {"--helper-command", "--allow-sessions"}) {
    if (parsed.has(flag)) return fail("not_available", flag, "not available in this version");
  }
  return {};
}

Result<std::uint32_t> count_between(const std::string& where, const std::string& text, std::uint64_t least,
                                    std::uint64_t most) {
  const auto count = cli::parse_count(text);
  if (!count) return fail(Error(count.error()).context(where));
  if (*count < least || *count > most) {
    return bad(where, "want " + std::to_string(least) + " to " + std::to_string(most) + ", got " + text);
  }
  return static_cast<std::uint32_t>(*count);
}

Status read_pool(const cli::Parsed& parsed, BrokerConfig& config) {
  config.pool_size = pool_size_for(static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  const char* named = std::getenv("LOOM_HELPER_POOL");
  if (const auto text = parsed.value("--pool-size")) {
    LOOM_TRY(config.pool_size, count_between("--pool-size", *text, 1, kMaxSlots));
  } else if (named != nullptr && *named != '\0') {
    LOOM_TRY(config.pool_size, count_between("LOOM_HELPER_POOL", named, 1, kMaxSlots));
  }
  if (const auto text = parsed.value("--per-helper")) {
    LOOM_TRY(config.per_helper, count_between("--per-helper", *text, 1, 4));
  }
  config.spare_helpers = 1;
  if (const auto text = parsed.value("--spare-helpers")) {
    LOOM_TRY(config.spare_helpers, count_between("--spare-helpers", *text, 0, kMaxSlots));
  }
  return {};
}

Status read_rights(const cli::Parsed& parsed, ServeOptions& options) {
  const std::string grants = parsed.value("--grants").value_or("deny");
  if (grants != "deny" && grants != "allow") return bad("--grants", "want deny or allow, got \"" + grants + "\"");
  options.config.allow_grants = grants == "allow";
  const auto demand = parsed.value("--demand");
  if (demand && !parse_demand(*demand, options.config.demand)) {
    return bad("--demand", "want full, platform or best_effort, got \"" + *demand + "\"");
  }
  for (const std::string& text : parsed.values("--allow-uid")) {
    LOOM_TRY(const std::uint32_t uid, count_between("--allow-uid", text, 0, UINT32_MAX - 1));
    options.allowed_uids.insert(uid);
  }
  return {};
}

}  // namespace

Result<ServeOptions> read_serve_options(const cli::Parsed& parsed) {
  ServeOptions options;
  LOOM_CHECK(refuse_unbuilt(parsed));
  const auto base = parsed.value("--base-policy");
  if (!base)
    return fail("bad_argument", "--base-policy", "serve needs a policy",
                "loom-policy default DIR --fit > FILE makes one");
  LOOM_CHECK(read_pool(parsed, options.config));
  LOOM_CHECK(read_rights(parsed, options));
  if (const auto text = parsed.value("--ready-fd")) {
    LOOM_TRY(const std::uint32_t fd, count_between("--ready-fd", *text, 0, 65'535));
    options.ready_fd = static_cast<int>(fd);
  }
  LOOM_TRY(options.config.base, service::read_policy_file(*base));
  options.config.heartbeat = parsed.has("--heartbeat");
  options.socket = parsed.value("--socket");
  options.runtime_dir = parsed.value("--runtime-dir");
  options.helper = service::helper_program(parsed.value("--helper"));
  LOOM_TRY(options.proxy, find_way_out(parsed.value("--egress-config")));
  options.cgroup_base = parsed.value("--cgroup-base").value_or("");
  options.log_json = parsed.has("--log-json");
  return options;
}

}  // namespace loom::broker
