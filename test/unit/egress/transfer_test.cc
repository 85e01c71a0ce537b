// What only shows from within: that requests run side by side, end when they are dropped, and never call back then.
// What is sent and taken is tested against real origins (test/cli/loom-egress-request.bats).
#include "egress/transfer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "base/json.h"
#include "egress/request_document.h"
#include "os/unique_fd.h"

namespace loom::egress {
namespace {

// A root, made once a run and gone with it: nothing here gets as far as to need its key.
class Root {
 public:
  Root() : folder_(std::string(scratch()) + "/loom-transfer.XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=root -keyout " + folder_ +
        "/key -out " + file() + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) std::abort();
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() {
    ::unlink((folder_ + "/key").c_str());
    ::unlink(file().c_str());
    ::rmdir(folder_.c_str());
  }
  [[nodiscard]] std::string file() const { return folder_ + "/root.pem"; }

 private:
  static const char* scratch() {
    const char* set = std::getenv("TMPDIR");
    return set == nullptr ? "/tmp" : set;
  }
  std::string folder_;
};
std::string root_file() {
  static const Root kRoot;
  return kRoot.file();
}

// Takes every connection and says nothing; tells when one was ended by the other side.
class SilentOrigin {
 public:
  explicit SilentOrigin(Loop& loop)
      : loop_(loop), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(fd_.get(), address, size) != 0 || ::listen(fd_.get(), 64) != 0 ||
        ::getsockname(fd_.get(), address, &size) != 0)
      std::abort();
    port = ntohs(at.sin_port);
    watch_ = loop.watch(fd_.get(), Readiness::kRead, [this] { take(); });
  }

  std::uint16_t port = 0;
  int arrived = 0;
  int left = 0;
  std::function<void()> changed = [] {};

 private:
  void take() {
    UniqueFd taken(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!taken) return;
    ++arrived;
    const int fd = taken.get();
    watches_[fd] = loop_.watch(fd, Readiness::kRead, [this, fd] { read(fd); });
    taken_[fd] = std::move(taken);
    changed();
  }
  void read(int fd) {
    std::array<char, 4096> hello{};
    if (::read(fd, hello.data(), hello.size()) > 0) return;
    ++left;
    watches_.erase(fd);
    taken_.erase(fd);
    changed();
  }

  Loop& loop_;
  UniqueFd fd_;
  Loop::Watch watch_;
  std::map<int, UniqueFd> taken_;
  std::map<int, Loop::Watch> watches_;
};

struct World {
  Loop loop;
  SilentOrigin origin{loop};

  Transfers transfers(std::uint64_t deadline_ms, std::vector<Listener> own = {}) {
    const std::string text = R"({"v":1,"origins":[{"origin":")" + url("") +
                             R"(","methods":["GET"],"path_prefixes":["/"],"headers":[],"secrets":["s"]}],)" +
                             R"("secrets":{"s":{"env":"S","header":"x-key","prefix":""}},"redirects":"none",)" +
                             R"("deadline_ms":)" + std::to_string(deadline_ms) +
                             R"(,"request_bytes":0,"response_bytes":1000,"trust":{"roots":[")" + root_file() +
                             R"("]},"ip_allow":["127.0.0.1"],"resolver":"127.0.0.1:1","response_headers":[]})";
    auto policy = decode_egress_policy_bytes(text);
    EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
    auto made = Transfers::make(
        loop, std::move(*policy),
        [this](const std::string& name) -> std::optional<std::string> {
          asked.push_back(name);
          return secret;
        },
        std::move(own));
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return std::move(*made);
  }
  [[nodiscard]] std::string url(const std::string& path) const {
    return "https://127.0.0.1:" + std::to_string(origin.port) + path;
  }
  Judged judged(const Transfers& transfers, const std::string& more = "") const {
    auto request = decode_request(R"({"url":")" + url("/x") + R"(","method":"GET")" + more + "}");
    EXPECT_TRUE(request);
    auto admitted = judge_request(transfers.policy(), std::move(*request));
    EXPECT_TRUE(admitted);
    return std::move(*admitted);
  }

  std::optional<std::string> secret;
  std::vector<std::string> asked;
};

std::string told(const Outcome<Answer>& outcome) {
  if (outcome) return "answer";
  return std::string(failure_code(outcome.error())) + " " + std::string(render_stage(outcome.error().stage));
}

TEST(Transfer, ADroppedOneClosesItsConnectionAndNeverCallsBack) {
  World world;
  const Transfers transfers = world.transfers(60000);
  bool called = false;
  auto transfer = transfers.perform(world.judged(transfers), [&](const auto&) { called = true; });
  world.origin.changed = [&] {
    if (world.origin.arrived == 1) transfer.reset();
    if (world.origin.left == 1) world.loop.stop();
  };
  world.loop.run();
  EXPECT_EQ(transfer, nullptr);
  EXPECT_FALSE(called);
}

TEST(Transfer, OneThatIsDroppedBeforeItBeganDoesNothing) {
  World world;
  const Transfers transfers = world.transfers(60000);
  bool called = false;
  transfers.perform(world.judged(transfers), [&](const auto&) { called = true; }).reset();
  world.loop.post([&] { world.loop.post([&] { world.loop.stop(); }); });
  world.loop.run();
  EXPECT_FALSE(called);
  EXPECT_EQ(world.origin.arrived, 0);
}

TEST(Transfer, ManyRunAtOnceAndEachHasItsOwnConnection) {
  World world;
  const Transfers transfers = world.transfers(60000);
  std::vector<Transfers::Transfer> running;
  for (int i = 0; i < 20; ++i)
    running.push_back(transfers.perform(world.judged(transfers), [](const auto&) { FAIL(); }));
  world.origin.changed = [&] {
    if (world.origin.arrived == 20) running.clear();
    if (world.origin.left == 20) world.loop.stop();
  };
  world.loop.run();
  EXPECT_EQ(world.origin.arrived, 20);
}

TEST(Transfer, TheDeadlineEndsItWithItsStageAndTheCallbackMayDropIt) {
  World world;
  const Transfers transfers = world.transfers(1000);
  std::string got;
  Transfers::Transfer transfer;
  transfer = transfers.perform(world.judged(transfers), [&](const auto& outcome) {
    got = told(outcome);
    transfer.reset();
  });
  world.origin.changed = [&] {
    if (world.origin.left == 1) world.loop.stop();
  };
  world.loop.run();
  EXPECT_EQ(got, "deadline tls");
}

TEST(Transfer, ASecretIsReadWhenARequestNeedsItAndOneThatIsMissingOpensNoSocket) {
  World world;
  const Transfers transfers = world.transfers(60000);
  EXPECT_TRUE(world.asked.empty());
  std::string got;
  const auto transfer = transfers.perform(world.judged(transfers, R"(,"credential":"s")"), [&](const auto& outcome) {
    got = told(outcome);
    world.loop.stop();
  });
  EXPECT_EQ(got, "");  // never from within perform
  world.loop.run();
  EXPECT_EQ(got, "secret_missing secret");
  EXPECT_EQ(world.asked, std::vector<std::string>{"S"});
  EXPECT_EQ(world.origin.arrived, 0);
}

TEST(Transfer, OurOwnListenersAreReachedByNobody) {
  World world;
  const Transfers transfers = world.transfers(60000, {Listener{ipv4(127, 0, 0, 1), world.origin.port}});
  std::string got;
  const auto transfer = transfers.perform(world.judged(transfers), [&](const auto& outcome) {
    got = told(outcome);
    world.loop.stop();
  });
  world.loop.run();
  EXPECT_EQ(got, "address_refused resolve");
  EXPECT_EQ(world.origin.arrived, 0);
}

TEST(Transfer, RootsThatCannotBeReadMakeNone) {
  Loop loop;
  EgressPolicy policy;
  policy.trust.system_roots = false;
  const auto none = Transfers::make(loop, policy, nullptr);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "bad_trust");
  policy.trust.files = {"/dev/null"};
  EXPECT_EQ(Transfers::make(loop, policy, nullptr).error().code, "bad_trust");
  policy.trust.files = {"/no/such/file"};
  EXPECT_FALSE(Transfers::make(loop, policy, nullptr));
  policy.trust.files = {root_file()};
  EXPECT_TRUE(Transfers::make(loop, policy, nullptr));
}

}  // namespace
}  // namespace loom::egress
