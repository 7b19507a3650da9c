// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tenon/data.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using data::datasets::MNIST;

namespace {

std::string word(unsigned v) { return {char(v >> 24), char(v >> 16), char(v >> 8), char(v)}; }

struct Folder {
  Folder()
      : path(std::filesystem::path(testing::TempDir()) /
             ("tenon_mnist_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void put(const char* name, const std::string& bytes) {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  std::filesystem::path path;
};

TEST(Mnist, ReadsIdxFiles) {
  Folder f;
  f.put("train-images-idx3-ubyte", word(0x803) + word(2) + word(2) + word(3) +
                                       std::string("\0\xff\0\0\0\0", 6) +
                                       std::string("\x33\0\0\0\0\0", 6));
  f.put("train-labels-idx1-ubyte", word(0x801) + word(2) + std::string("\7\1", 2));
  MNIST set(f.path.string());
  EXPECT_EQ(*set.size(), 2u);
  EXPECT_TRUE(set.is_train());
  EXPECT_EQ(set.images().sizes(), (std::vector<int64_t>{2, 1, 2, 3}));
  EXPECT_EQ(set.get(0).target.item<int64_t>(), 7);
  EXPECT_FLOAT_EQ(set.get(0).data.flatten()[1].item<float>(), 1.0f);
  EXPECT_FLOAT_EQ(set.get(1).data.flatten()[0].item<float>(), 0.2f);
}

TEST(Mnist, BrokenFilesAreNamed) {
  Folder f;
  EXPECT_THROW(MNIST(f.path.string()), ValueError);
  f.put("t10k-images-idx3-ubyte", word(0x803) + word(2) + word(2) + word(3) + "short");
  f.put("t10k-labels-idx1-ubyte", word(0x801) + word(2) + "ab");
  test::expect_words(
      test::text_of<ValueError>([&] { MNIST set(f.path.string(), MNIST::Mode::kTest); }),
      {"t10k-images-idx3-ubyte"});
  // Sizes whose product wraps to the number of bytes in the file.
  f.put("t10k-images-idx3-ubyte", word(0x803) + word(0x80000000) + word(0x80000000) + word(4));
  EXPECT_THROW(MNIST(f.path.string(), MNIST::Mode::kTest), ValueError);
}

}  // namespace
