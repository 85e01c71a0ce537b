// A name server of the test's own, on the test's loop (or alone: test/peers/dns_server.cc). It counts what it was
// asked, so that "an unlisted host causes no query" can be seen, and may answer each question differently than the
// last.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom::test {

// What one question about a name is answered with: addresses in text form. A question for the type of which there is
// none gets an empty answer. "SERVFAIL", "REFUSED" and "SILENT" in place of addresses do what they say; "TRUNCATED"
// beside them leaves the addresses out over UDP and says so, and whoever asks again over TCP gets them all.
using DnsAnswer = std::vector<std::string>;

class DnsServer {
 public:
  explicit DnsServer(Loop& loop);  // on a free port of 127.0.0.1
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // The first answer counts for the first A and the first AAAA question, and so on; the last one for all that follow.
  // A name without any answer does not exist.
  void set(const std::string& name, std::vector<DnsAnswer> answers) { answers_[name] = std::move(answers); }
  // Every question over UDP, as "A example.test", in order; over TCP with "TCP " before it.
  [[nodiscard]] const std::vector<std::string>& asked() const { return asked_; }
  void on_question(std::function<void(const std::string&)> callback) { told_ = std::move(callback); }

 private:
  enum class Over { kUdp, kTcp };
  void open();
  void receive();
  void accept();
  void receive_stream(int fd);
  [[nodiscard]] std::string reply_to(const std::string& query, Over over);

  Loop& loop_;
  UniqueFd fd_;
  UniqueFd listening_;
  std::map<int, UniqueFd> streams_;
  std::map<int, Loop::Watch> stream_watches_;
  std::uint16_t port_ = 0;
  std::map<std::string, std::vector<DnsAnswer>> answers_;
  std::map<std::string, std::size_t> count_;  // by question
  std::vector<std::string> asked_;
  std::function<void(const std::string&)> told_;
  Loop::Watch watch_;
  Loop::Watch listening_watch_;
};

}  // namespace loom::test
