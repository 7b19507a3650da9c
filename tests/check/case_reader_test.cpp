// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/oracle/case_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tenon/runtime/error.h"

namespace {

namespace fs = std::filesystem;
using tenon::oracle::CaseFile;
using tenon::oracle::json;

class CaseReader : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("tenon_case_reader_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Six float32 numbers 0 to 5 under the key "0".
  std::string write(const std::string& cases, const std::string& header) {
    std::ofstream(dir_ / "x.json") << cases;
    std::ofstream out(dir_ / "x.safetensors", std::ios::binary);
    uint64_t n = header.size();
    out.write(reinterpret_cast<const char*>(&n), 8);
    out << header;
    for (float v = 0; v < 6; ++v) out.write(reinterpret_cast<const char*>(&v), 4);
    return (dir_ / "x.json").string();
  }

  fs::path dir_;
};

const char kHeader[] = R"({"0":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})";

TEST_F(CaseReader, RebuildsViews) {
  CaseFile file(write("[]", kHeader));
  json ref = {{"t", "0"}, {"size", {2, 2}}, {"stride", {1, 2}}, {"offset", 1}};
  auto t = file.tensor(ref);
  EXPECT_EQ(t->strides(), tenon::IntArrayRef({1, 2}));
  EXPECT_EQ(t->storage_offset(), 1);
  std::vector<double> expected = {1, 3, 2, 4};
  EXPECT_EQ(file.values(ref).real, expected);
  EXPECT_EQ(tenon::oracle::values_of(*t).real, expected);
}

TEST_F(CaseReader, ConvertsOnTheWay) {
  CaseFile file(write("[]", kHeader));
  auto t = file.tensor_as({{"t", "0"}}, tenon::kInt64);
  EXPECT_EQ(t->dtype, tenon::kInt64);
  EXPECT_EQ(tenon::oracle::values_of(*t).exact, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(CaseReader, RefusesDamagedFiles) {
  EXPECT_THROW(CaseFile(write("[", kHeader)), tenon::ValueError);
  EXPECT_THROW(CaseFile(write("[]", "{")), tenon::ValueError);
  EXPECT_THROW(CaseFile(write("[]", R"({"0":{"dtype":"F32","shape":[7],"data_offsets":[0,28]}})")),
               tenon::ValueError);
  EXPECT_THROW(CaseFile(write("[]", R"({"0":{"dtype":"F32","shape":[5],"data_offsets":[0,24]}})")),
               tenon::ValueError);
  CaseFile file(write("[]", kHeader));
  EXPECT_THROW(file.tensor({{"t", "1"}}), tenon::ValueError);
  EXPECT_THROW(file.tensor({{"t", "0"}, {"size", {4}}, {"stride", {2}}, {"offset", 0}}),
               tenon::ValueError);
}

TEST(CaseNumbers, ReadNamesOfSpecialValues) {
  EXPECT_TRUE(std::isnan(tenon::oracle::number("nan")));
  EXPECT_EQ(tenon::oracle::number("-inf"), -INFINITY);
  EXPECT_EQ(tenon::oracle::number(2), 2);
  EXPECT_FALSE(tenon::oracle::is_number("mean"));
}

}  // namespace
