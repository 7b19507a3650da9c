// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace fs = std::filesystem;
using namespace tenon;

namespace {

// A fake file system with /proc and /sys/fs/cgroup.
class CpuQuota : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenon_cgroup_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  double quota() const { return core::cpu_quota(root_.string()); }

  fs::path root_;
};

}  // namespace

TEST_F(CpuQuota, NothingMountedIsNoQuota) {
  EXPECT_EQ(quota(), 0);
  put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(CpuQuota, Version2TakesTheMinimumOfTheAncestors) {
  put("proc/self/mountinfo",
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/user.slice/job/inner\n");
  put("sys/fs/cgroup/user.slice/job/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  put("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
  put("sys/fs/cgroup/user.slice/job/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 1.5);
  put("sys/fs/cgroup/user.slice/job/inner/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(CpuQuota, AContainerSeesItsGroupAsTheRoot) {
  put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuota, Version1ReadsQuotaAndPeriodOfTheCpuController) {
  put("proc/self/mountinfo",
      "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "34 31 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup "
      "rw,cpu,cpuacct\n");
  put("proc/self/cgroup", "5:cpuset:/elsewhere\n4:cpu,cpuacct:/docker/abc/inner\n0::/docker/abc\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  put("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "75000\n");
  put("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "25000\n");
  EXPECT_EQ(quota(), 3);
  put("proc/self/cgroup", "4:cpu,cpuacct:/docker/abcd/inner\n");  // not below /docker/abc
  EXPECT_EQ(quota(), 0);
}

TEST_F(CpuQuota, AGroupOutsideOfTheMountIsReadWhereTheMountIs) {
  put("proc/self/mountinfo",
      "34 31 0:31 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  put("proc/self/cgroup", "4:cpu:/\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST(CpuCount, FollowsTheAffinityOfTheThread) {
  std::thread([] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_LE(core::usable_cpus(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(core::usable_cpus(), 1);
  }).join();
}
