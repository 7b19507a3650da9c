// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A test of a whole program: a folder for its files, with subfolders "one" and "two", and what it
// printed.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tenon {

class ProgramTest : public testing::Test {
 protected:
  explicit ProgramTest(std::string program) : program_(std::move(program)) {}
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) / ("tenon_program_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_ / "one");
    std::filesystem::create_directories(folder_ / "two");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // The exit status; what it prints goes to the file "out".
  int run(const std::string& arguments, const std::string& environment = "") const {
    const std::string command =
        environment + " '" + program_ + "' " + arguments + " > '" + path("out") + "' 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::filesystem::path folder_;

 private:
  std::string program_;
};

}  // namespace tenon
