#include "cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace loom::cli {
namespace {

TEST(Escape, LeavesTextAloneAndShowsWhatCouldDrawOnATerminal) {
  EXPECT_EQ(escape("plain, \xc3\xa9, \xe6\x97\xa5, \xf0\x9f\x98\x80, back\\slash"),
            "plain, \xc3\xa9, \xe6\x97\xa5, \xf0\x9f\x98\x80, back\\slash");
  EXPECT_EQ(escape("a\nb\tc\x1b[0m\x7f"), "a\\x0ab\\x09c\\x1b[0m\\x7f");
  EXPECT_EQ(escape(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(escape("\xc2\x9b"
                   "31m"),
            "\\xc2\\x9b"
            "31m");  // the one-byte form of escape-bracket
  EXPECT_EQ(escape("\xe2\x80\xae"
                   "abc"),
            "\\xe2\\x80\\xae"
            "abc");  // right-to-left override
}

TEST(Escape, ShowsEveryByteThatIsNotUtf8) {
  EXPECT_EQ(escape("\xff"), "\\xff");
  EXPECT_EQ(escape("\xc3"), "\\xc3");
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escape("\xe6\x97"), "\\xe6\\x97");
}

TEST(ErrorLine, NamesToolPlaceAndReasonOnOneLineAndTheHintOnASecond) {
  EXPECT_EQ(error_line("loom-policy", {"wrong_type", "base.json: /limits/pids", "want integer", ""}),
            "loom-policy: base.json: /limits/pids: want integer");
  EXPECT_EQ(error_line("t", {"c", "a\nb", "why", "do this"}), "t: a\\x0ab: why\nhint: do this");
}

TEST(NoAnswer, HasTheFourKeysForEachError) {
  const Value value = no_answer({{"missing_key", "/limits", "missing key", ""}});
  EXPECT_EQ(*value.find("ok"), Value(false));
  const Array& errors = *value.find("errors")->get_if<Array>();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0],
            Value(Map{{"code", "missing_key"}, {"message", "missing key"}, {"where", "/limits"}, {"hint", ""}}));
}

TEST(Table, IsAlignedForATerminalAndTabSeparatedOtherwise) {
  const std::vector<std::vector<std::string>> rows = {{"NAME", "VERSION"}, {"loom-exec", "0.1.0"}, {"\xc3\xa9\t", "1"}};
  EXPECT_EQ(table(rows, true), "NAME       VERSION\nloom-exec  0.1.0\n\xc3\xa9\\x09      1\n");
  EXPECT_EQ(table(rows, false), "NAME\tVERSION\nloom-exec\t0.1.0\n\xc3\xa9\\x09\t1\n");
  EXPECT_EQ(table({{"a"}, {"b", "c"}}, true), "a\nb  c\n");
}

// What a process whose stdout was prepared by `prepare` leaves with when it answers.
template <class Prepare>
int status_of_answer(Prepare prepare) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    prepare();
    prepare_process();
    ::_exit(to_int(answer("tool", "text\n")));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void stdout_to(const char* path) {
  const int fd = ::open(path, O_WRONLY);
  ::dup2(fd, STDOUT_FILENO);
}

TEST(Answer, SaysWhatBecameOfTheText) {
  EXPECT_EQ(status_of_answer([] { stdout_to("/dev/null"); }), 0);
  EXPECT_EQ(status_of_answer([] { stdout_to("/dev/full"); }), 1);
  EXPECT_EQ(status_of_answer([] { ::close(STDOUT_FILENO); }), 141);
  EXPECT_EQ(status_of_answer([] {
              int ends[2];
              ASSERT_EQ(::pipe(ends), 0);
              ::dup2(ends[1], STDOUT_FILENO);
              ::close(ends[0]);
              ::close(ends[1]);
            }),
            141);
}

TEST(PrepareProcess, MakesTheThreeDescriptorsExist) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    prepare_process();
    for (int fd = 0; fd < 3; ++fd) {
      if (::fcntl(fd, F_GETFD) < 0) ::_exit(10 + fd);
    }
    ::_exit(::fcntl(3, F_GETFD) < 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace loom::cli
