#include "helper/serve.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "helper/out_frame.h"
#include "os/signals.h"
#include "os/stdio_pump.h"
#include "wire/frame.h"

namespace loom::helper {
namespace {

// Output is bounded by its windows (4 executions, 2 streams, 1 MiB each). Answers to a peer that asks and does not read
// are bounded by not reading on past this.
constexpr std::uint64_t kMaxUnreadAnswers = 256U << 10U;
// How long what was said last may take to be read by the peer, once nothing is left to do.
constexpr Duration kLastWords = seconds(2);

class Server {
 public:
  Server(Loop& loop, ServeSettings settings, int in, int out, StartExecution start)
      : loop_(loop),
        in_(in),
        out_(out),
        start_(std::move(start)),
        core_(std::move(settings)),
        output_(std::make_unique<OutputPump>(
            loop, out,
            OutputPump::Callbacks{[this] { on_progress(); }, [this](int) { handle(event::OutputClosed{}); }})),
        input_(std::make_unique<InputPump>(loop, in,
                                           [this](const std::string& data, bool eof, int) { on_input(data, eof); })),
        signals_(loop, {SIGTERM, SIGINT, SIGHUP}, [this](int signal) {
          if (signal == SIGTERM) handle(event::Terminate{});
        }) {}

  int run() {
    input_->allow(UINT64_MAX);
    handle(event::Opened{});
    if (!stopped_) loop_.run();
    return status_;
  }

 private:
  struct Waiting {
    ServeEvent event;
    std::string data;
  };
  struct Sent {  // a frame on its way: written when the pump has written `end` bytes
    std::uint64_t end = 0;
    std::uint64_t answer = 0;               // the size of a frame that is no output
    std::optional<event::Written> written;  // of one that is
  };

  // Effects may cause events at once (a write that fails); they wait until the effects before them are done.
  void handle(ServeEvent event, std::string_view data = {}) {
    if (handling_) {
      waiting_.push_back(Waiting{std::move(event), std::string(data)});
      return;
    }
    handling_ = true;
    process(std::move(event), data);
    while (!waiting_.empty()) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      process(std::move(next.event), next.data);
    }
    handling_ = false;
    arm_timer();
  }

  void process(ServeEvent&& event, std::string_view data) {
    for (auto& effect : core_.step(std::move(event), loop_.now())) {
      std::visit([&](auto&& e) { carry_out(std::forward<decltype(e)>(e), data); }, std::move(effect));
    }
  }

  void carry_out(effect::Send&& e, std::string_view /*data*/) {
    push({encode_frame(e.id, to_text(e.kind), e.body)}, std::nullopt);
  }
  void carry_out(effect::SendOutput&& e, std::string_view data) {
    const OutFrame frame = frame_around(e.id, e.stream, data.size(), e.bytes, e.truncated);
    push({frame.before, data, frame.after}, event::Written{e.id, e.stream, data.size()});
  }
  void carry_out(effect::Start&& e, std::string_view /*data*/) {
    executions_[e.id] = start_(std::move(e.request), events_of(e.id));
  }
  void carry_out(effect::WriteStdin&& e, std::string_view /*data*/) {
    if (Execution* execution = find(e.id)) execution->write_stdin(std::move(e.data), e.eof);
  }
  void carry_out(effect::AllowOutput&& e, std::string_view /*data*/) {
    if (Execution* execution = find(e.id)) execution->allow_output(e.stream, e.upto);
  }
  void carry_out(effect::Resize&& e, std::string_view /*data*/) {
    if (Execution* execution = find(e.id)) execution->resize(e.size);
  }
  void carry_out(effect::CancelExecution&& e, std::string_view /*data*/) {
    if (Execution* execution = find(e.id)) execution->cancel();
  }
  void carry_out(effect::CloseChannel&& /*e*/, std::string_view /*data*/) {
    closed_ = true;
    input_->pause(true);
    last_words_ = loop_.timer(loop_.now() + kLastWords, [this] { let_go(); });
    let_go_when_written();
  }
  void carry_out(effect::Finish&& e, std::string_view /*data*/) {
    status_ = e.status;
    finishing_ = true;
    if (!closed_) last_words_ = loop_.timer(loop_.now() + kLastWords, [this] { stop(); });
    stop_when_written();
  }

  Execution* find(ExecutionNumber id) {
    const auto found = executions_.find(id);
    return found != executions_.end() ? found->second.get() : nullptr;
  }

  ExecEvents events_of(ExecutionNumber id) {
    ExecEvents events;
    events.output = [this, id](Stream stream, std::string_view data, std::uint64_t /*cumulative*/, bool truncated) {
      handle(event::Output{id, stream, data.size(), truncated}, data);
    };
    events.stdin_consumed = [this, id](std::uint64_t consumed) { handle(event::StdinConsumed{id, consumed}); };
    events.exited = [this, id](const ExecExit& exit) {
      forget(id);
      handle(event::Exited{id, exit});
    };
    events.failed = [this, id](const Error& error) {
      forget(id);
      handle(event::Failed{id, error});
    };
    return events;
  }

  // An execution that has ended is destroyed when its last callback has returned.
  void forget(ExecutionNumber id) {
    const auto found = executions_.find(id);
    if (found == executions_.end()) return;
    std::shared_ptr<Execution> gone = std::move(found->second);
    executions_.erase(found);
    loop_.post([gone] {});
  }

  void push(std::initializer_list<std::string_view> pieces, std::optional<event::Written> chunk) {
    if (let_go_) return;
    const std::uint64_t before = pushed_;
    for (const auto& piece : pieces) pushed_ += piece.size();
    const std::uint64_t answer = chunk ? 0 : pushed_ - before;
    unread_answers_ += answer;
    sent_.push_back(Sent{pushed_, answer, chunk});
    output_->push(pieces);
  }

  void on_input(const std::string& data, bool eof) {
    deframer_.feed(data);
    while (!closed_) {
      auto next = deframer_.next();
      if (!next) {
        handle(event::Malformed{next.error()});
        return;
      }
      if (!*next) break;
      handle(event::FrameIn{std::move(**next)});
    }
    if (closed_) return;
    if (deframer_.mid_frame()) handle(event::PartialFrame{});
    if (eof) handle(event::InputEnded{deframer_.mid_frame()});
  }

  void on_progress() {
    while (!sent_.empty() && sent_.front().end <= output_->written()) {
      const Sent sent = sent_.front();
      sent_.pop_front();
      unread_answers_ -= sent.answer;
      if (sent.written) handle(*sent.written);
    }
    if (!closed_) input_->pause(unread_answers_ > kMaxUnreadAnswers);
    let_go_when_written();
    stop_when_written();
  }

  void let_go_when_written() {
    if (closed_ && !let_go_ && output_->empty()) soon_ = loop_.timer(loop_.now(), [this] { let_go(); });
  }

  // The peer sees the channel closed while the jails are still being joined.
  void let_go() {
    if (std::exchange(let_go_, true)) return;
    last_words_.reset();
    output_.reset();
    input_.reset();
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null) {
      (void)::dup3(null.get(), in_, O_CLOEXEC);
      (void)::dup3(null.get(), out_, O_CLOEXEC);
    }
    if (finishing_) stop();
  }

  void stop_when_written() {
    if (!finishing_) return;
    if (let_go_) return stop();
    if (!closed_ && output_->empty()) stop();
  }

  void stop() {
    stopped_ = true;
    loop_.stop();
  }

  void arm_timer() {
    const auto due = core_.next_deadline();
    if (due == armed_) return;
    armed_ = due;
    timer_.reset();
    if (!due) return;
    timer_ = loop_.timer(*due, [this] {
      armed_.reset();
      handle(event::Tick{});
    });
  }

  Loop& loop_;
  int in_;
  int out_;
  StartExecution start_;
  ServeCore core_;
  Deframer deframer_;
  std::map<ExecutionNumber, std::unique_ptr<Execution>> executions_;
  std::unique_ptr<OutputPump> output_;
  std::unique_ptr<InputPump> input_;
  Signals signals_;
  std::deque<Waiting> waiting_;
  std::deque<Sent> sent_;
  std::uint64_t pushed_ = 0;
  std::uint64_t unread_answers_ = 0;
  std::optional<TimePoint> armed_;
  Loop::Timer timer_;
  Loop::Timer last_words_;
  Loop::Timer soon_;
  bool handling_ = false;
  bool closed_ = false;     // nothing more is read
  bool let_go_ = false;     // the descriptors are not ours any more
  bool finishing_ = false;  // nothing is left but to be read
  bool stopped_ = false;
  int status_ = 0;
};

}  // namespace

int serve(Loop& loop, ServeSettings settings, int in, int out, StartExecution start) {
  return Server(loop, std::move(settings), in, out, std::move(start)).run();
}

}  // namespace loom::helper
