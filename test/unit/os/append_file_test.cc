#include "os/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "test/unit/os/temporary_directory.h"

namespace loom {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

TEST(AppendFile, keeps_what_was_there_and_is_made_for_us_alone) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/calls";
  for (const char* line : {"one\n", "two\n"}) {
    const auto file = AppendFile::open(path);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->append(line));
  }
  EXPECT_EQ(contents(path), "one\ntwo\n");
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(AppendFile, tells_when_its_path_names_another_file) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/calls";
  const auto file = AppendFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->in_place());
  ASSERT_EQ(::rename(path.c_str(), (path + ".1").c_str()), 0);
  EXPECT_FALSE(file->in_place());
  ASSERT_TRUE(AppendFile::open(path));
  EXPECT_FALSE(file->in_place());
}

TEST(AppendFile, takes_a_regular_file_and_nothing_else) {
  const test::TemporaryDirectory directory;
  const std::string link = directory.path() + "/link";
  const std::string fifo = directory.path() + "/fifo";
  ASSERT_EQ(::symlink("elsewhere", link.c_str()), 0);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {link, fifo, directory.path(), std::string("/dev/full"), std::string("/dev/null")}) {
    const auto file = AppendFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, "record_failed");
  }
  EXPECT_FALSE(std::ifstream(directory.path() + "/elsewhere").good());
}

// A file that may grow no further stands for a full disk. In a child: the limit is a process's.
TEST(AppendFile, a_line_that_does_not_fit_leaves_nothing_of_itself) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/calls";
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto file = AppendFile::open(path);
    const std::string line = std::string(59, 'x') + "\n";
    const bool as_told = file && file->append(line) && !file->append(line) && file->append("short\n");
    ::_exit(as_told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(path), std::string(59, 'x') + "\nshort\n");
}

}  // namespace
}  // namespace loom
