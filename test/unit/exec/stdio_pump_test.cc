// The pumps over every type of descriptor a caller may hand to a tool: pipes, sockets, files, devices.
#include "os/stdio_pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/unique_fd.h"

namespace loom {
namespace {

struct Ends {
  UniqueFd read;
  UniqueFd write;
};
Ends make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}
Ends make_socket() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}
UniqueFd make_file(const std::string& content) {
  char name[] = "/tmp/loom-pump-test.XXXXXX";
  UniqueFd file(::mkostemp(name, O_CLOEXEC));
  ::unlink(name);
  if (::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) std::abort();
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

// Reads `size` bytes from a descriptor on the loop, and stops it.
struct Reader {
  std::string got;
  Loop::Watch watch;
  Reader(Loop& loop, int fd, std::size_t size) {
    watch = loop.watch(fd, Readiness::kRead, [this, &loop, fd, size] {
      char buffer[4096];
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n > 0) got.append(buffer, static_cast<std::size_t>(n));
      if (n <= 0 || got.size() >= size) loop.stop();
    });
  }
};

void expect_all_arrives(const Ends& ends) {
  const std::string text = pattern(3U << 20U);
  const int flags = ::fcntl(ends.write.get(), F_GETFL);
  Loop loop;
  OutputPump pump(loop, ends.write.get(), {[] {}, [](int error) { ADD_FAILURE() << error; }});
  pump.push({std::string_view(text).substr(0, 10), std::string_view(text).substr(10, 1000),
             std::string_view(text).substr(1010)});
  EXPECT_FALSE(pump.empty()) << "more than the kernel takes at once, and the loop was not held up";
  Reader reader(loop, ends.read.get(), text.size());
  loop.run();
  EXPECT_EQ(reader.got, text);
  EXPECT_EQ(pump.written(), text.size());
  EXPECT_TRUE(pump.empty());
  EXPECT_EQ(::fcntl(ends.write.get(), F_GETFL), flags) << "flags that others share stay";
}

TEST(OutputPump, ToAPipeThatIsReadSlowlyEverythingArrivesInOrder) {
  expect_all_arrives(make_pipe());
}
TEST(OutputPump, ToASocketThatIsReadSlowlyEverythingArrivesInOrder) {
  expect_all_arrives(make_socket());
}

TEST(OutputPump, APipeThatCannotBeOpenedAgainIsWrittenWithoutBlockingToo) {
  const Ends ends = make_pipe();
  // As a pipe of another user looks to us. Root may open it all the same; then there is nothing to see here.
  ASSERT_EQ(::fchmod(ends.write.get(), 0), 0);
  expect_all_arrives(ends);
}

TEST(OutputPump, ToAFileEverythingIsWrittenAtOnce) {
  const UniqueFd file = make_file("");
  Loop loop;
  OutputPump pump(loop, file.get(), {[] {}, [](int error) { ADD_FAILURE() << error; }});
  pump.push(pattern(1U << 20U));
  EXPECT_TRUE(pump.empty());
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 1 << 20);
}

TEST(OutputPump, AReaderThatLeavesIsSaidOnceAndEverythingCountsAsWritten) {
  ::signal(SIGPIPE, SIG_IGN);
  Ends ends = make_pipe();
  ends.read.reset();
  Loop loop;
  std::vector<int> errors;
  OutputPump pump(loop, ends.write.get(), {[] {}, [&](int error) { errors.push_back(error); }});
  pump.push("one");
  pump.push("two");
  EXPECT_EQ(errors, std::vector<int>{EPIPE});
  EXPECT_TRUE(pump.empty());
  EXPECT_EQ(pump.written(), 6U);
}

TEST(OutputPump, AFullDeviceIsSaid) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Loop loop;
  int said = 0;
  OutputPump pump(loop, full.get(), {[] {}, [&](int error) { said = error; }});
  pump.push("x");
  EXPECT_EQ(said, ENOSPC);
}

TEST(OutputPump, ASteadyBacklogDoesNotGrowWithWhatWasWrittenBefore) {
  const Ends ends = make_pipe();
  Loop loop;
  OutputPump pump(loop, ends.write.get(), {[] {}, [](int error) { ADD_FAILURE() << error; }});
  const std::string chunk = pattern(200000);
  std::string want;
  for (int i = 0; i < 50; ++i) want += chunk;
  int pushed = 0;
  pump.push(chunk);
  ++pushed;
  // Another chunk whenever one has gone out: it is never empty, and never more than two are kept.
  std::string got;
  Loop::Watch watch = loop.watch(ends.read.get(), Readiness::kRead, [&] {
    char buffer[65536];
    const ssize_t n = ::read(ends.read.get(), buffer, sizeof buffer);
    got.append(buffer, static_cast<std::size_t>(n));
    while (pushed < 50 && got.size() + chunk.size() > static_cast<std::size_t>(pushed) * chunk.size()) {
      pump.push(chunk);
      ++pushed;
    }
    if (got.size() == want.size()) loop.stop();
  });
  loop.run();
  EXPECT_EQ(got, want);
}

struct Taken {
  std::string text;
  bool eof = false;
  int error = 0;
};
InputPump::Sink into(Taken& taken, Loop& loop) {
  return [&](const std::string& data, bool eof, int error) {
    EXPECT_FALSE(taken.eof) << "nothing after the end";
    taken.text += data;
    taken.eof = eof;
    taken.error = error;
    if (eof) loop.stop();
  };
}

void expect_all_is_read(int fd, const std::string& want) {
  Loop loop;
  Taken taken;
  InputPump pump(loop, fd, into(taken, loop));
  pump.allow(want.size() + 1);
  loop.run();
  EXPECT_EQ(taken.text, want);
  EXPECT_TRUE(taken.eof);
  EXPECT_EQ(taken.error, 0);
}

TEST(InputPump, ReadsAFileToItsEnd) {
  const std::string text = pattern(1U << 20U);
  const UniqueFd file = make_file(text);
  expect_all_is_read(file.get(), text);
}

TEST(InputPump, ReadsAPipeAndASocketToTheirEnd) {
  for (Ends (*make)() : {make_pipe, make_socket}) {
    Ends ends = make();
    ASSERT_EQ(::write(ends.write.get(), "some words", 10), 10);
    ends.write.reset();
    expect_all_is_read(ends.read.get(), "some words");
  }
}

TEST(InputPump, LeavesTheFlagsOfASharedSocketAsTheyAre) {
  Ends ends = make_socket();
  const int flags = ::fcntl(ends.read.get(), F_GETFL);
  ASSERT_EQ(::write(ends.write.get(), "words", 5), 5);
  Loop loop;
  std::string got;
  InputPump pump(loop, ends.read.get(), [&](const std::string& data, bool, int) {
    got += data;
    loop.stop();
  });
  pump.allow(UINT64_MAX);
  loop.run();
  EXPECT_EQ(got, "words");
  EXPECT_EQ(::fcntl(ends.read.get(), F_GETFL), flags);
}

TEST(InputPump, ReadsNothingFromAnEmptyDevice) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  expect_all_is_read(null.get(), "");
}

TEST(InputPump, NeverReadsFurtherThanItIsAllowed) {
  Ends ends = make_pipe();
  ASSERT_EQ(::write(ends.write.get(), "0123456789", 10), 10);
  Loop loop;
  Taken taken;
  InputPump pump(loop, ends.read.get(), into(taken, loop));
  pump.allow(4);
  Loop::Timer later;
  // A turn that comes after the reads that were possible.
  later = loop.timer(loop.now() + milliseconds(20), [&] {
    EXPECT_EQ(taken.text, "0123");
    pump.allow(3);  // credit never goes back
    pump.allow(10);
    ends.write.reset();
    later = loop.timer(loop.now() + milliseconds(20), [&] {
      EXPECT_EQ(taken.text, "0123456789");
      EXPECT_FALSE(taken.eof) << "the end is beyond what is allowed";
      pump.allow(11);
    });
  });
  loop.run();
  EXPECT_TRUE(taken.eof);
}

TEST(InputPump, APausedOneReadsOnWhereItWas) {
  const std::string text = pattern(900000);
  const UniqueFd file = make_file(text);
  Loop loop;
  Taken taken;
  InputPump* held = nullptr;
  Loop::Timer later;
  InputPump pump(loop, file.get(), [&](const std::string& data, bool eof, int) {
    taken.text += data;
    if (eof) return loop.stop();
    held->pause(true);
    later = loop.timer(loop.now(), [&] { held->pause(false); });
  });
  held = &pump;
  pump.allow(UINT64_MAX);
  loop.run();
  EXPECT_EQ(taken.text, text);
}

TEST(InputPump, ADirectoryEndsTheStreamWithItsError) {
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Loop loop;
  Taken taken;
  InputPump pump(loop, directory.get(), into(taken, loop));
  pump.allow(10);
  loop.run();
  EXPECT_TRUE(taken.eof);
  EXPECT_EQ(taken.error, EISDIR);
}

}  // namespace
}  // namespace loom
