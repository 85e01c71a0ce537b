#include "token_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/hash.h"
#include "os/fds.h"

namespace loom::egress_tool {
namespace {

constexpr std::size_t kTokenBytes = 32;

Result<UniqueFd> open_folder(const std::string& path) {
  const auto failed = [&](std::string what, std::string hint = "") {
    return fail("token_dir", path, std::move(what), std::move(hint));
  };
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("cannot make it: " + errno_text(errno));
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!folder || ::fstat(folder.get(), &facts) != 0) return failed("cannot open it: " + errno_text(errno));
  if (facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return failed("others can write to it", "name a folder that does not exist yet (it is made 0700), or one of yours");
  return folder;
}

}  // namespace

Result<TokenFolder> TokenFolder::mint(const std::string& folder, const std::vector<std::string>& callers) {
  LOOM_TRY(UniqueFd fd, open_folder(folder));
  TokenFolder made(std::move(fd));
  for (const std::string& caller : callers) {
    std::string token = to_hex(random_bytes(kTokenBytes));
    made.granted_.push_back({sha256_hex(token), caller, "", 0});
    if (auto written = made.write(caller + ".token", token); !written)
      return fail(std::move(written).error().context(folder));
  }
  return made;
}

// A file of an earlier endpoint is replaced, never opened.
Status TokenFolder::write(const std::string& name, std::string& token) {
  const auto failed = [&] { return fail("token_dir", name, "cannot write it: " + errno_text(errno)); };
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT) return failed();
  const UniqueFd file(
      ::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed();
  files_.push_back(name);
  if (::fchmod(file.get(), 0600) != 0) return failed();
  token += '\n';  // where it stands, so that no copy of it stays behind
  Status written = write_all(file.get(), token, name);
  wipe(token);
  return written;
}

TokenFolder::~TokenFolder() {
  for (const std::string& name : files_) {
    if (folder_) ::unlinkat(folder_.get(), name.c_str(), 0);
  }
}

TokenFeed::TokenFeed(Loop& loop, UniqueFd fd, Callbacks callbacks)
    : fd_(std::move(fd)), callbacks_(std::move(callbacks)) {
  watch_ = loop.watch(fd_.get(), Readiness::kRead, [this] { catch_up(); });
}

void TokenFeed::catch_up() {
  while (!ended_ && read_some()) {
  }
}

// False when nothing more is there.
bool TokenFeed::read_some() {
  std::array<char, 16384> bytes;
  const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    end({});
    return false;
  }
  held_.append(bytes.data(), static_cast<std::size_t>(got));
  if (auto taken = take_lines(); !taken) end(std::move(taken));
  return true;
}

Status TokenFeed::take_lines() {
  std::size_t begin = 0;
  for (std::size_t end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', begin)) {
    LOOM_TRY(const auto notice, egress::decode_token_notice(std::string_view(held_).substr(begin, end - begin)));
    callbacks_.notice(notice);
    begin = end + 1;
  }
  held_.erase(0, begin);
  if (held_.size() > egress::kMaxNotice) return fail("token_notice", "", "a notice over 4096 bytes");
  return {};
}

void TokenFeed::end(Status how) {
  ended_ = true;
  watch_.reset();
  callbacks_.ended(std::move(how));
}

}  // namespace loom::egress_tool
