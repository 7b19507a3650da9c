// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A folder for files, and what lies in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon::test {

class SavingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/tenon_saving_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name)) << bytes;
  }
  std::string bytes(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  mode_t mode(const std::string& name) const {
    struct stat s {};
    EXPECT_EQ(lstat(path(name).c_str(), &s), 0) << name;
    return s.st_mode;
  }
  // Names in the folder that are temporaries of a save.
  std::vector<std::string> temporaries() const {
    std::vector<std::string> out;
    for (const auto& e : std::filesystem::directory_iterator(folder_)) {
      if (e.path().extension() == ".part") out.push_back(e.path().filename());
    }
    return out;
  }

  std::filesystem::path folder_;
};

// The exit status of a child that does this: 0 if it returns.
inline int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline Tensor loaded(const std::string& path) {
  Tensor t;
  load(t, path);
  return t;
}

}  // namespace tenon::test
