// A name server for bats (test/cli/origins.bash): writes its address to FIFO when it answers, and each question it is
// asked
// ("A example.test") to FILE, one a line. Ends with its parent.
// usage: dns_server NAME=ANSWER[/ANSWER]... --ready FIFO --log FILE     ANSWER: ADDRESS[,ADDRESS]..., SERVFAIL, REFUSED
// or SILENT; the first for the first question of each type about the name, the last for all that follow.
#include "test/support/dns_server.h"

#include <sys/prctl.h>

#include <csignal>
#include <fstream>
#include <string>

#include "os/loop.h"

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  loom::Loop loop;
  loom::test::DnsServer server(loop);
  std::ofstream log;
  std::string ready;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (word == "--ready" && i + 1 < argc) {
      ready = argv[++i];
    } else if (word == "--log" && i + 1 < argc) {
      log.open(argv[++i], std::ios::app);
    } else if (equals != std::string::npos) {
      std::vector<loom::test::DnsAnswer> answers;
      for (const std::string& answer : split(word.substr(equals + 1), '/')) answers.push_back(split(answer, ','));
      server.set(word.substr(0, equals), std::move(answers));
    } else {
      return 2;
    }
  }
  server.on_question([&log](const std::string& question) { log << question << std::endl; });
  std::ofstream(ready) << server.address() << std::endl;
  loop.run();
  return 0;
}
