#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace loom::cli {
namespace {

// Writes it all; 0, or the errno that stopped it. Waits where the descriptor was left non-blocking by whoever made it.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// A closed stdout becomes a pipe that nobody reads, so that the first write says EPIPE, as it would for a reader that
// left.
void open_broken_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return;
  const int copy = ends[1] == STDOUT_FILENO ? ends[1] : ::dup2(ends[1], STDOUT_FILENO);
  if (ends[0] != STDOUT_FILENO) ::close(ends[0]);
  if (ends[1] != copy) ::close(ends[1]);
}

void open_null(int fd, int flags) {
  const int null = ::open("/dev/null", flags);
  if (null < 0 || null == fd) return;
  ::dup2(null, fd);
  ::close(null);
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::vector<std::string>> escaped(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> out = rows;
  for (auto& row : out) {
    for (auto& cell : row) cell = escape(cell);
  }
  return out;
}

}  // namespace

std::string error_line(std::string_view tool, const Error& error) {
  std::string line = std::string(tool) + ": " + escape(error.text());
  if (!error.hint.empty()) line += "\nhint: " + escape(error.hint);
  return line;
}

void say(std::string_view line) {
  (void)write_all(STDERR_FILENO, std::string(line) + "\n");
}

void say_error(std::string_view tool, const Error& error) {
  say(error_line(tool, error));
}

ExitStatus answer(std::string_view tool, std::string_view text) {
  const int fault = write_all(STDOUT_FILENO, text);
  if (fault == 0) return ExitStatus::kOk;
  if (fault == EPIPE || fault == EBADF) return ExitStatus::kPipe;
  say_error(tool, Error{"output", "standard output", std::string("cannot write: ") + std::strerror(fault), ""});
  return ExitStatus::kNo;
}

Value no_answer(const std::vector<Error>& errors) {
  Array list;
  for (const Error& error : errors) {
    list.emplace_back(Map{{"code", error.code},
                          {"message", text_or_bytes(error.what)},
                          {"where", text_or_bytes(error.where)},
                          {"hint", text_or_bytes(error.hint)}});
  }
  return Map{{"ok", false}, {"errors", std::move(list)}};
}

std::string table(const std::vector<std::vector<std::string>>& rows, bool aligned) {
  const auto cells = escaped(rows);
  std::vector<std::size_t> widths;
  for (const auto& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string text;
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 == row.size()) break;
      text += aligned ? std::string(widths[i] - columns(row[i]) + 2, ' ') : "\t";
    }
    text += "\n";
  }
  return text;
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool use_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return stdout_is_terminal() && (no_colour == nullptr || *no_colour == '\0') && term != nullptr &&
         std::string_view(term) != "dumb";
}

namespace {

// Else it would be an abort, whose status a launcher's caller reads as the command's own death by a signal.
[[noreturn]] void end_in_words() {
  std::string what = "an error that nobody expected";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {
  }
  say_error(program_invocation_short_name,
            Error{"internal_error", "", what, "it may be short of memory or open files"});
  ::_exit(to_int(ExitStatus::kMayHaveRun));
}

}  // namespace

void prepare_process() {
  std::set_terminate(end_in_words);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  ::sigaction(SIGXFSZ, &ignore, nullptr);
  if (!is_open(STDIN_FILENO)) open_null(STDIN_FILENO, O_RDONLY);
  if (!is_open(STDOUT_FILENO)) open_broken_pipe();
  if (!is_open(STDERR_FILENO)) open_null(STDERR_FILENO, O_WRONLY);
}

}  // namespace loom::cli
