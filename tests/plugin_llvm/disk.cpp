// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Objects on disk: each child process begins with nothing compiled.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tenon/ops/loop_program.gen.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenon/abi/host.h"
#include "tenon/runtime/log.h"
#include "tenon/sdk/loop_program/trial.h"

namespace {

namespace fs = std::filesystem;
using tenon::Tensor;

const char* program =
    "loops 1\nsize N\ninput x float32 [N]\noutput y float32 [N]\nfor i < N\n%0 = read x [i]\n"
    "%1 = mul %0 %0\n%2 = add %1 %0\ny [i] = %2\n";

int g_warnings = 0;

int run_program(const std::string& text = program) {
  tenon::core::set_log_handler([](int level, std::string_view text) {
    if (level >= TN_LOG_WARNING && text.find("llvm") != std::string_view::npos) ++g_warnings;
  });
  const Tensor x = tenon::arange(100, tenon::kFloat);
  const Tensor y = tenon::_loop_program({x}, text).at(0);
  return tenon::equal(y, x * x + x) ? g_warnings : 100;
}

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon_llvm_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // How many warnings there were; 100: the result was wrong.
  int run(const std::string& test = "Runs") {
    const std::string command = "TENON_LLVM_MIN_WORK=0 TENON_LLVM_CACHE=" + folder_.string() + " " +
                                fs::read_symlink("/proc/self/exe").string() +
                                " --gtest_also_run_disabled_tests"
                                " --gtest_filter=DiskChild.DISABLED_" +
                                test + " > /dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::vector<fs::path> objects() const {
    std::vector<fs::path> list;
    for (const auto& it : fs::directory_iterator(folder_)) list.push_back(it.path());
    return list;
  }
  static void flip(const fs::path& file, int64_t at) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(at);
    const int byte = f.get();
    f.seekp(at);
    f.put(static_cast<char>(byte ^ 0x55));
  }

  fs::path folder_;
};

TEST(DiskChild, DISABLED_Runs) { std::_Exit(run_program()); }

bool has_opened_llvm() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libLLVM") != std::string::npos) return true;
  }
  return false;
}

TEST(DiskChild, DISABLED_OpensLlvm) {
  const int warnings = run_program();
  std::_Exit(warnings != 0 ? warnings : has_opened_llvm() ? 50 : 0);
}

TEST(DiskChild, DISABLED_Tries) {
  std::_Exit(run_program(program + std::string(tenon::sdk::loop_program::trial_mark)));
}

TEST(DiskChild, DISABLED_Fuses) {
  const char* text =
      "loops 1\nsize N\nsize K\nsize M\ninput a float32 [N, K]\ninput b float32 [M, K]\n"
      "temp t float32 [N, M]\ntemp u float32 [N, M]\noutput c float32 [N, M]\n"
      "for i < N, j < M, k < K\n%0 = read a [i, k]\n%1 = read b [j, k]\n%2 = mul %0 %1\n"
      "t [i, j] +=! %2\nfor j < M, i < N\n%0 = read t [i, j]\n%1 = tanh %0\nu [i, j] = %1\n"
      "for i < N, j < M\n%0 = read u [i, j]\n%1 = neg %0\nc [i, j] = %1\n";
  const Tensor a = tenon::randn({20, 30}), b = tenon::randn({40, 30});
  const Tensor c = tenon::_loop_program({a, b}, text).at(0);
  std::_Exit(tenon::allclose(c, -a.mm(b.t()).tanh(), 1e-5, 1e-5) ? 0 : 100);
}

TEST_F(Disk, AssignmentsOfSumsAreOneKernelWithThem) {
  EXPECT_EQ(run("Fuses"), 0);
  EXPECT_EQ(objects().size(), 1u);
}

TEST_F(Disk, CandidatesOfASearchAreNotKept) {
  EXPECT_EQ(run("Tries"), 0);
  EXPECT_EQ(objects().size(), 0u);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(objects().size(), 1u);
}

TEST_F(Disk, AnObjectIsKeptAndUsed) {
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(objects().size(), 1u);
  const auto written = fs::last_write_time(objects()[0]);
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(objects().size(), 1u);
  EXPECT_EQ(fs::last_write_time(objects()[0]), written);
}

TEST_F(Disk, WhatIsKeptRunsWithoutLlvm) {
  EXPECT_EQ(run("OpensLlvm"), 50);
  EXPECT_EQ(run("OpensLlvm"), 0);
}

TEST_F(Disk, DamagedObjectsAreNotUsed) {
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(objects().size(), 1u);
  const fs::path file = objects()[0];
  const auto size = static_cast<int64_t>(fs::file_size(file));
  for (const int64_t at :
       {int64_t{0}, int64_t{30}, int64_t{100}, int64_t{200}, size / 2, size - 1}) {
    flip(file, at);
    EXPECT_EQ(run(), 1) << "byte " << at;
    EXPECT_EQ(run(), 0) << "byte " << at;
  }
  fs::resize_file(file, static_cast<std::uintmax_t>(size / 2));
  EXPECT_EQ(run(), 1);
}

TEST_F(Disk, ObjectsThatOthersMayWriteAreNotUsed) {
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(objects().size(), 1u);
  fs::permissions(objects()[0], fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(run(), 1);
}

}  // namespace
