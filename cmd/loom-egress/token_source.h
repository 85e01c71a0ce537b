// Where an endpoint's tokens come from (spec/egress.md "One token system"): a broker that tells and revokes them on a
// descriptor, or a folder in which they are written, one file a caller, before the endpoint listens.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "egress/tokens.h"
#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom::egress_tool {

// DIR/CALLER.token, mode 0600: 32 random bytes in hex and a newline. They go with their owner.
class TokenFolder {
 public:
  // `folder` is made 0700 when it is missing, and otherwise must be ours alone to write to. Error: token_dir.
  [[nodiscard]] static Result<TokenFolder> mint(const std::string& folder, const std::vector<std::string>& callers);
  TokenFolder(TokenFolder&&) noexcept = default;
  TokenFolder& operator=(TokenFolder&&) noexcept = delete;
  TokenFolder(const TokenFolder&) = delete;
  TokenFolder& operator=(const TokenFolder&) = delete;
  ~TokenFolder();
  [[nodiscard]] const std::vector<egress::TokenGranted>& granted() const { return granted_; }

 private:
  explicit TokenFolder(UniqueFd folder) : folder_(std::move(folder)) {}
  Status write(const std::string& name, std::string& token);

  UniqueFd folder_;
  std::vector<std::string> files_;
  std::vector<egress::TokenGranted> granted_;
};

// Notices, one a line, from a descriptor that is ours.
class TokenFeed {
 public:
  struct Callbacks {
    std::function<void(const egress::TokenNotice&)> notice;
    // No more will come. An error: what was sent is no notice.
    std::function<void(Status)> ended;
  };
  TokenFeed(Loop& loop, UniqueFd fd, Callbacks callbacks);
  TokenFeed(const TokenFeed&) = delete;
  TokenFeed& operator=(const TokenFeed&) = delete;
  // Takes whatever was sent by now: what was told before a caller came holds for that caller.
  void catch_up();

 private:
  bool read_some();
  Status take_lines();
  void end(Status how);

  UniqueFd fd_;
  Callbacks callbacks_;
  std::string held_;
  bool ended_ = false;
  Loop::Watch watch_;
};

}  // namespace loom::egress_tool
