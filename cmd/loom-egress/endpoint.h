// The capability endpoint behind its sockets: who calls, what is asked, what goes out, what is recorded and answered
// (spec/egress.md "The capability endpoint"). Calls run side by side on one loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_log.h"
#include "config_file.h"
#include "egress/door.h"
#include "egress/tokens.h"
#include "egress/transfer.h"
#include "http_exchange.h"

namespace loom::egress_tool {

class Endpoint {
 public:
  struct Settings {
    std::string config;
    std::optional<std::string> record;
    std::vector<egress::Listener> own;  // nobody reaches these through us
    std::function<void()> catch_up;     // before a token is asked about: takes what was told of tokens by now
  };
  // `changed` is told after each connection that has gone.
  Endpoint(Loop& loop, Settings settings, std::function<void()> changed);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // The configuration as it stands, with all that it names. Errors: those of ConfigFile, of Transfers, record_failed.
  [[nodiscard]] Result<const egress::EgressConfig*> refresh();
  [[nodiscard]] egress::Tokens& tokens() { return tokens_; }
  void add(UniqueFd socket);
  [[nodiscard]] std::size_t connections() const { return calls_.size(); }
  // Cuts whoever has no call under way; with `all`, everybody.
  void cut(bool all);
  // Ends the connections made before then on which nobody has shown a token.
  void cut_nameless(TimePoint before);
  void close_records() { log_.close(); }

 private:
  struct Call;
  std::optional<HttpAnswer> on_head(Call& call, const egress::HttpHead& head);
  void on_body(Call& call, const std::string& document);
  void on_done(Call& call, egress::Outcome<egress::Answer> outcome);
  void on_over(std::uint64_t number);
  void give_up(Call& call);
  egress::Caller* caller_of(const std::string& token_sha256);
  HttpAnswer refuse(const Call& call, const std::string& destination, const egress::Failure& failure);
  HttpAnswer refuse_caller(const Call& call);
  HttpAnswer closed(const Error& error);

  Loop& loop_;
  Settings settings_;
  std::function<void()> changed_;
  ConfigFile config_;
  CallLog log_;
  egress::Tokens tokens_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const egress::Transfers> transfers_;  // of this generation; a call in progress keeps its own
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;
  bool said_closed_ = false;
};

}  // namespace loom::egress_tool
