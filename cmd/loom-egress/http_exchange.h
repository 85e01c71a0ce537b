// One HTTP/1 request on a connection and its one answer, without blocking the loop (spec/egress.md "The capability
// endpoint"). The head is judged on its raw bytes; whoever owns the exchange then says what becomes of it. What an
// answer comes too early for is read and thrown away, so that the answer is read and not a reset. Slow callers cost a
// descriptor and nothing else; each part has its time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "egress/http_head.h"
#include "os/loop.h"
#include "os/unique_fd.h"

namespace loom::egress_tool {

struct HttpAnswer {
  int status = 200;
  std::string body;  // JSON
};

class HttpExchange {
 public:
  struct Callbacks {
    // The head has come. An answer: the request goes no further, its body is not kept. Nothing: the body is read.
    std::function<std::optional<HttpAnswer>(const egress::HttpHead& head)> head;
    // The whole body; to be answered by answer(), in this turn or later.
    std::function<void(std::string body)> body;
    // The connection is over. Called once, from the loop, in a turn of its own: it may destroy the exchange.
    std::function<void()> over;
  };
  HttpExchange(Loop& loop, UniqueFd socket, Callbacks callbacks);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  void answer(const HttpAnswer& answer);
  // Whether a body was handed over and not answered yet.
  [[nodiscard]] bool waiting() const { return state_ == State::kWaiting; }
  // Ends it now, answered or not.
  void cut();

 private:
  enum class State { kHead, kBody, kWaiting, kAnswering, kOver };

  void readable();
  void take(std::string_view bytes);
  void take_head();
  void take_body();
  void writable();
  void drained(std::size_t bytes);
  void maybe_over();
  void within(Duration patience);

  Loop& loop_;
  UniqueFd socket_;
  Callbacks callbacks_;
  State state_ = State::kHead;
  std::string in_;              // the head, then the body
  std::size_t scanned_ = 0;     // of the head
  std::uint64_t length_ = 0;    // of the body, as announced
  std::uint64_t to_drain_ = 0;  // bytes of the request that may still come, behind an early answer
  bool ended_ = false;          // the caller sends nothing more
  std::string out_;
  std::size_t written_ = 0;
  Loop::Watch reads_;
  Loop::Watch writes_;
  Loop::Timer patience_;
};

}  // namespace loom::egress_tool
