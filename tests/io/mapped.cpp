// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Large tensors of a file are its pages: nothing is copied, and nothing that is written to them
// reaches the file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenon/from_file.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;

namespace {

class MappedLoad : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/tenon_mapped_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// The lines of /proc/self/maps that name the file.
int mappings_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  int n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find(path) != std::string::npos;
  return n;
}

bool lies_in(const Tensor& t, const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<uintptr_t>(t.data_ptr());
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) == std::string::npos) continue;
    char* rest = nullptr;
    const uintptr_t begin = std::strtoull(line.c_str(), &rest, 16),
                    end = std::strtoull(rest + 1, nullptr, 16);
    if (begin <= at && at < end) return true;
  }
  return false;
}

TEST_F(MappedLoad, LargeTensorsArePagesOfTheFileAndSmallOnesAreNot) {
  const Tensor large = arange(1 << 20, kFloat32), small = arange(10, kFloat32);
  serialize::OutputArchive out;
  out.write("large", large);
  out.write("small", small);
  out.save_to(path("a"));
  serialize::InputArchive in;
  in.load_from(path("a"));
  Tensor a, b;
  in.read("large", a);
  in.read("small", b);
  EXPECT_TRUE(lies_in(a, path("a")));
  EXPECT_FALSE(lies_in(b, path("a")));
  EXPECT_TRUE(equal(a, large));
  EXPECT_TRUE(equal(b, small));
}

TEST_F(MappedLoad, WritesStayInTheProcess) {
  save(zeros({1 << 19}), path("a"));
  Tensor t, again;
  load(t, path("a"));
  ASSERT_TRUE(lies_in(t, path("a")));
  t.add_(1);
  load(again, path("a"));
  EXPECT_EQ(again.abs().max().item<float>(), 0);
  EXPECT_EQ(t.min().item<float>(), 1);
}

// A checkpoint is written over while its last state is in use.
TEST_F(MappedLoad, TheFileMayBeReplacedOrDeleted) {
  save(full({1 << 19}, 3.0), path("a"));
  Tensor t, next;
  load(t, path("a"));
  save(full({1 << 19}, 4.0), path("a"));
  load(next, path("a"));
  std::filesystem::remove(path("a"));
  EXPECT_EQ(t.max().item<float>(), 3);
  EXPECT_EQ(next.min().item<float>(), 4);
}

TEST_F(MappedLoad, TheLastTensorReleasesTheFile) {
  save(zeros({1 << 19}), path("a"));
  {
    Tensor t;
    load(t, path("a"));
    const Tensor view = t.narrow(0, 5, 10);
    t = Tensor();
    EXPECT_EQ(mappings_of(path("a")), 1);
    EXPECT_EQ(view.sum().item<float>(), 0);
  }
  EXPECT_EQ(mappings_of(path("a")), 0);
}

TEST_F(MappedLoad, DamageIsFound) {
  save(zeros({1 << 19}), path("a"));
  {
    std::fstream f(path("a"), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(1 << 20);
    f.put('\1');
  }
  Tensor t;
  test::expect_words(test::text_of([&] { load(t, path("a")); }), {"checksum differs"});
  EXPECT_FALSE(t.defined());
  EXPECT_EQ(mappings_of(path("a")), 0);
}

TEST_F(MappedLoad, BoolsAreZeroOrOne) {
  save(ones({1 << 21}, kBool), path("a"));
  Tensor t;
  load(t, path("a"));
  EXPECT_TRUE(t.all().item<bool>());
  EXPECT_TRUE(lies_in(t, path("a")));
}

TEST_F(MappedLoad, AFileIsATensor) {
  const std::string name = path("numbers");
  Tensor shared = from_file(name, true, 3, kFloat);
  EXPECT_TRUE(equal(shared, zeros({3})));
  shared.copy_(tensor({1.f, 2.f, 3.f}));
  Tensor own = from_file(name, false, 2, kFloat);
  EXPECT_TRUE(equal(own, tensor({1.f, 2.f})));
  own.fill_(7);
  EXPECT_TRUE(equal(from_file(name, {}, 3, kFloat), tensor({1.f, 2.f, 3.f})));
  EXPECT_TRUE(equal(from_file(name, true, 4, kFloat), tensor({1.f, 2.f, 3.f, 0.f})));
  EXPECT_EQ(std::filesystem::file_size(name), 16u) << "it grew";
  EXPECT_EQ(from_file(name).numel(), 0);
  shared.reset();
  EXPECT_EQ(mappings_of(name), 1) << "that of the tensor that is left";
}

TEST_F(MappedLoad, AFileThatIsNoTensorIsRefused) {
  const std::string name = path("numbers");
  const auto refusal = [](const std::string& file, int64_t n) {
    return test::text_of<ValueError>([&] { (void)from_file(file, false, n, kFloat); });
  };
  test::expect_words(refusal(name, 1), {"from_file: cannot open", name.c_str(), "No such file"});
  (void)from_file(name, true, 2, kFloat);
  test::expect_words(refusal(name, 3), {"from_file", "has 8 bytes", "12 are asked for"});
  test::expect_words(refusal(name, -1), {"size must not be negative, got -1"});
  test::expect_words(refusal(name, INT64_MAX), {"size is too large"});
  test::expect_words(refusal("/tmp", 1), {"'/tmp' is not a file"});
}

}  // namespace
