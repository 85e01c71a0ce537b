// A name server for bats: prints its address, then each question it is asked ("A example.test"), one a line.
// usage: dns_server NAME=ANSWER[/ANSWER]...     ANSWER: ADDRESS[,ADDRESS]..., SERVFAIL, REFUSED or SILENT; the first
// for the first question of each type about the name, the last for all that follow. Ends with its standard input.
#include "test/support/dns_server.h"

#include <unistd.h>

#include <array>
#include <cstdio>
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

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  loom::Loop loop;
  loom::test::DnsServer server(loop);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return 2;
    std::vector<loom::test::DnsAnswer> answers;
    for (const std::string& answer : split(word.substr(equals + 1), '/')) answers.push_back(split(answer, ','));
    server.set(word.substr(0, equals), std::move(answers));
  }
  server.on_question(say);
  const loom::Loop::Watch end = loop.watch(STDIN_FILENO, loom::Readiness::kRead, [&] {
    std::array<char, 512> ignored{};
    if (::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) loop.stop();
  });
  say(server.address());
  loop.run();
  return 0;
}
