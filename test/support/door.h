// One real broker and one client of it: what the tests of the door have in common.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "test/support/broker_process.h"
#include "test/support/door_client.h"
#include "wire/call_cancel.h"
#include "wire/call_stdin.h"
#include "wire/stop.h"

namespace loom::test {

// With an acting helper (test/peers/acting_helper.cc) unless `real`.
inline ServeSetup acting(const std::string& modes = "", std::vector<std::string> flags = {}) {
  ServeSetup setup;
  setup.helper = peer_path("acting_helper");
  setup.environment = {"ACTING=" + modes};
  setup.flags = std::move(flags);
  return setup;
}
inline ServeSetup real(std::vector<std::string> flags = {}) {
  ServeSetup setup;
  setup.flags = std::move(flags);
  return setup;
}

struct Door {
  BrokerProcess broker;
  DoorClient client;

  explicit Door(ServeSetup setup = {}) : broker(std::move(setup)), client(broker.socket()) {}

  Value snapshot() {
    DoorClient other(broker.socket());
    return other.ask("snapshot");
  }
  // Until it holds of a snapshot; 20 s.
  bool shows(const std::function<bool(const Value&)>& so) {
    DoorClient other(broker.socket());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (so(other.ask("snapshot"))) return true;
    }
    return false;
  }
  void cancel(std::uint64_t call) { (void)client.ask("call_cancel", encode(CallCancel{call, {}})); }
  std::vector<pid_t> helpers() {
    std::vector<pid_t> out;
    const Value shown = snapshot();
    for (const Value& helper : *shown.find("pool")->find("helpers")->get_if<Array>()) {
      out.push_back(static_cast<pid_t>(count_in(helper, {"pid"})));
    }
    return out;
  }
  void stdin_data(std::uint64_t call, const std::string& data, bool eof) {
    client.send("call_stdin", encode(CallStdin{call, data, eof}));
  }
};

// What is wrong with a broker's books when nothing should run any more; "" when all is right.
inline std::string wrong_books(Door& door) {
  std::string why = "the books do not drain";
  const bool drained = door.shows([&](const Value& shown) {
    const auto* live = shown.find("live")->get_if<Array>();
    std::uint64_t sum = 0;
    for (const char* part : {"available", "lent", "draining", "retiring", "unconfirmed"}) {
      sum += count_in(shown, {"pool", part});
    }
    if (sum != count_in(shown, {"pool", "size"})) why = "the pool's parts are not its size";
    return live->empty() && count_in(shown, {"books", "executions"}) == 0 &&
           count_in(shown, {"books", "reserved"}) == 0 && count_in(shown, {"books", "ledgers"}) == 0 &&
           count_in(shown, {"books", "tokens"}) == 0 && count_in(shown, {"waiting", "count"}) == 0 &&
           count_in(shown, {"pool", "lent"}) == 0 && sum == count_in(shown, {"pool", "size"});
  });
  return drained ? "" : why;
}

// Rows that are about time wait side by side.
inline void side_by_side(std::size_t count, const std::function<void(std::size_t)>& row, std::size_t at_once = 16) {
  for (std::size_t begin = 0; begin < count; begin += at_once) {
    std::vector<std::thread> threads;
    for (std::size_t i = begin; i < std::min(count, begin + at_once); ++i) threads.emplace_back(row, i);
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace loom::test
