// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/npz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tenon/ops.h"
#include "tests/mutations.h"
#include "tests/support.h"

using namespace tenon;

namespace {

struct Npz : public ::testing::Test {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tenon_" + std::to_string(getpid()) + ".npz"))
          .string();
  ~Npz() override { std::filesystem::remove(path); }
};

TEST_F(Npz, RoundTripsInOrder) {
  const Tensor w = arange(6, kFloat32).reshape({2, 3}), n = tensor(int64_t{7});
  jit::save_npz({{"w", w.t()}, {"layer/n", n}}, path);
  const auto read = jit::load_npz(path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].first, "w");
  EXPECT_TRUE(equal(read[0].second, w.t()));
  EXPECT_EQ(read[1].first, "layer/n");
  EXPECT_EQ(read[1].second.item<int64_t>(), 7);
}

TEST_F(Npz, ErrorsNameFileAndArray) {
  test::expect_words(test::text_of<ValueError>([&] {
                       jit::save_npz({{"a", ones({1})}, {"a", ones({1})}}, path);
                     }),
                     {"two arrays are named 'a'"});
  EXPECT_FALSE(std::filesystem::exists(path));  // all or nothing
  std::ofstream(path) << "not a zip archive at all, but long enough";
  test::expect_words(test::text_of<ValueError>([&] { jit::load_npz(path); }), {path.c_str()});
}

TEST_F(Npz, DamagedFilesAreReadOrRefused) {
  jit::save_npz({{"w", arange(6, kFloat32).reshape({2, 3})}, {"n", tensor(int64_t{7})}}, path);
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const auto [taken, refused] = test::read_damaged(whole, 2000, [&](const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems wait for the disk where a file is truncated
    std::ofstream(path, std::ios::binary) << bytes;
    for (const auto& [name, array] : jit::load_npz(path)) array.clone();
  });
  EXPECT_GT(refused, 1000);
  EXPECT_EQ(taken + refused, 2000);
}

}  // namespace
