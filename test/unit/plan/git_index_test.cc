// Indexes that git wrote (the fuzz corpus), and what is not one.
#include "plan/git_index.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace loom {
namespace {

std::string corpus(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream("test/fuzz/corpus/git_index/" + name, std::ios::binary).rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

TEST(GitIndex, GitlinksAreFoundInEachVersionAndObjectFormat) {
  for (const char* name : {"version-2", "version-3", "version-4", "sha256"}) {
    const auto links = gitlinks_of(corpus(name));
    ASSERT_TRUE(links) << name;
    EXPECT_EQ(*links, std::vector<std::string>{"sub"}) << name;
  }
}

TEST(GitIndex, WhatDoesNotSayAllIsNothing) {
  EXPECT_FALSE(gitlinks_of(corpus("split")));
  EXPECT_FALSE(gitlinks_of(corpus("claims-many")));
  EXPECT_FALSE(gitlinks_of(""));
  EXPECT_FALSE(gitlinks_of("DIRC"));
}

TEST(GitIndex, NoPieceOfOneIsTakenForAWhole) {
  const std::string whole = corpus("version-2");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto links = gitlinks_of(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!links || *links == std::vector<std::string>{"sub"}) << size;
  }
  std::string other = whole;
  other[7] = 9;
  EXPECT_FALSE(gitlinks_of(other));
}

}  // namespace
}  // namespace loom
