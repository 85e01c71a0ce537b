#include <unistd.h>

#include "base/version.h"
#include "cli/output.h"
#include "options.h"
#include "service/questions.h"
#include "verbs.h"

namespace loom::census {
ExitStatus show_local(const cli::Parsed& parsed) {
  const std::string directory = service::own_directory();
  broker::Census census;
  census.service = std::string(kTool) + "/" + std::string(kVersion);
  std::vector<Error> faults;
  const auto admit = [&](const Error& error) {
    cli::say_error(kTool, error);
    faults.push_back(error);
  };
  for (const std::string& name : broker::tool_names()) {
    const std::string program = directory + "/" + name;
    census.tools.emplace_back(name, std::nullopt);
    if (::access(program.c_str(), F_OK) != 0) continue;
    auto version = name == kTool ? std::string(kVersion) : service::ask_version(program);
    if (version)
      census.tools.back().second = std::move(*version);
    else
      admit(version.error());
  }
  const auto hello = service::ask_helper(service::helper_program(parsed.value("--helper")), std::string(kTool));
  if (hello) {
    census.helper_peer = hello->peer;
    census.helper_features = hello->features;
  } else {
    admit(hello.error());
  }
  const ExitStatus printed = print_census(parsed, census, faults);
  return printed == ExitStatus::kOk && !faults.empty() ? ExitStatus::kNo : printed;
}

}  // namespace loom::census
