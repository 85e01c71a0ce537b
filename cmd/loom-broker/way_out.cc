#include "way_out.h"

#include <unistd.h>

#include <utility>

#include "caller.h"
#include "egress/config_document.h"
#include "os/append_file.h"
#include "os/fds.h"
#include "os/runtime_dir.h"
#include "service/call_flags.h"
#include "service/questions.h"

namespace loom::broker {
namespace {

constexpr std::size_t kMaxConfig = 1U << 20U;

Result<std::string> absolute(const std::string& path) {
  LOOM_TRY(const service::CallerFacts facts, caller_facts());
  return service::absolute_path(path, facts.cwd);
}

}  // namespace

Result<ProxyOptions> find_way_out(const std::optional<std::string>& config) {
  ProxyOptions options;
  const std::string program = service::own_directory() + "/loom-egress";
  if (::access(program.c_str(), X_OK) == 0) options.program = program;
  if (!config) return options;
  if (options.program.empty()) {
    return fail("egress_unavailable", "--egress-config", "there is no loom-egress beside loom-broker to use it",
                "install it: " + program);
  }
  LOOM_TRY(options.config, absolute(*config));
  auto text = read_file(options.config, kMaxConfig);
  if (!text) return fail(std::move(text).error().context("--egress-config"));
  auto document = egress::decode_egress_config_bytes(*text);
  if (!document) return fail(std::move(document).error().context("--egress-config " + *config));
  egress::anchor(*document, options.config.substr(0, options.config.rfind('/')));
  options.callers = document->callers();
  for (const std::string& file : document->policy.trust.files) {
    LOOM_TRY(std::string root, absolute(file));
    options.roots.push_back(std::move(root));
  }
  if (!document->record) return options;
  LOOM_TRY(options.record, absolute(*document->record));
  // There before any jail is: where it lies in a workspace it is hidden from the jail, and only what exists can be.
  if (auto opened = AppendFile::open(*options.record); !opened)
    return fail(std::move(opened).error().context("--egress-config " + *config));
  return options;
}

std::string jail_dir_for(const std::string& above, std::uint64_t incarnation) {
  const std::string name = "jail-" + std::to_string(incarnation);
  if (!above.empty()) return above + "/" + name;
  if (const auto runtime = find_runtime_dir(std::nullopt)) return *runtime + "/" + name;
  return "/tmp/loom-" + name + "-" + std::to_string(::getpid());
}

}  // namespace loom::broker
