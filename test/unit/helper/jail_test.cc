#include <gtest/gtest.h>

#include "jail_runner.h"

namespace loom::helper::test {
namespace {

TEST(Jail, Echo) {
  JailRunner runner;
  const Outcome outcome = runner.run(JailRunner::request({"/bin/sh", "-c", std::getenv("CMD") ? std::getenv("CMD") : "echo hello; echo err >&2; exit 7"}, std::getenv("WS") ? std::getenv("WS") : "/tmp"));
  if (outcome.error) FAIL() << outcome.error->code << " " << outcome.error->text();
  printf("out: %s\nerr: %s\ncode %d signal %d\n", outcome.out.c_str(), outcome.err.c_str(), (int)outcome.exit->code, (int)outcome.exit->signal);
  for (auto& e : outcome.exit->enforcement) printf("  %s\n", e.c_str());
}

}  // namespace
}  // namespace loom::helper::test
