// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <complex>
#include <filesystem>
#include <limits>
#include <sstream>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;
using serialize::InputArchive;
using serialize::OutputArchive;

namespace {

std::vector<Tensor> round_trip(const std::vector<Tensor>& in) {
  std::stringstream file;
  save(in, file);
  std::vector<Tensor> out;
  load(out, file);
  return out;
}

TEST(Save, EveryDtypeAndRank) {
  for (ScalarType t : core::kBuiltInDtypes) {
    auto x = arange(6).to(t).view({2, 1, 3});
    auto back = round_trip({x, x.flatten()[1].clone(), empty({0, 3}, TensorOptions().dtype(t))});
    ASSERT_EQ(back.size(), 3u);
    EXPECT_EQ(back[0].scalar_type(), t);
    EXPECT_TRUE(equal(back[0].to(kFloat64), x.to(kFloat64))) << dtype_name(t);
    EXPECT_EQ(back[1].dim(), 0);
    EXPECT_EQ(back[2].sizes(), (std::vector<int64_t>{0, 3}));
  }
}

TEST(Save, StorageOnlyDtypes) {
  for (ScalarType t : core::kStorageDtypes) {
    const auto x = tensor({1, 2, 4, 8}).to(t);
    const auto back = round_trip({x, x.view({2, 2}).t()});
    EXPECT_EQ(back[0].scalar_type(), t);
    EXPECT_TRUE(equal(back[0].to(kLong), x.to(kLong))) << dtype_name(t);
    EXPECT_TRUE(equal(back[1].to(kLong), x.to(kLong).view({2, 2}).t())) << dtype_name(t);
  }
}

TEST(Save, StridesAreKept) {
  auto x = arange(24, kFloat32).view({2, 3, 4});
  auto holes = x.clone().permute({2, 0, 1}).slice(0, 0, 4, 2);
  auto back = round_trip({x.clone().permute({2, 0, 1}), holes, arange(3).expand({2, 3})});
  EXPECT_EQ(back[0].strides(), (std::vector<int64_t>{1, 12, 4}));
  EXPECT_TRUE(equal(back[0], x.permute({2, 0, 1})));
  // The order of the dimensions is kept, the holes are not: a small file could ask for a huge
  // block.
  EXPECT_EQ(back[1].strides(), (std::vector<int64_t>{1, 6, 2}));
  EXPECT_TRUE(equal(back[1], holes));
  EXPECT_EQ(back[2].strides(), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(equal(back[2][1], arange(3)));
}

TEST(Save, ViewsOfOneStorageStayViews) {
  auto x = arange(12, kFloat32).view({3, 4});
  auto back = round_trip({x[1], x, x.t()});
  back[1].fill_(5);
  EXPECT_TRUE(equal(back[0], full({4}, 5.0f)));
  EXPECT_TRUE(equal(back[2], full({4, 3}, 5.0f)));
  // Also where none of them holds all of it.
  back = round_trip({x[0], x.slice(0, 0, 2).t(), x[2]});
  back[1].zero_();
  EXPECT_TRUE(equal(back[0], zeros({4})));
  EXPECT_TRUE(equal(back[2], x[2]));
}

TEST(Save, SharedDataIsWrittenOnce) {
  auto x = zeros({1000});
  std::stringstream one, two;
  save(x, one);
  save(std::vector<Tensor>{x, x.view({10, 100})}, two);
  EXPECT_LT(two.str().size(), one.str().size() + 400);
}

TEST(Save, RequiresGradIsKept) {
  const auto z = ones({2}, TensorOptions(kComplexFloat).requires_grad(true));
  auto back = round_trip({ones({2}, requires_grad()), ones({2}), z});
  EXPECT_TRUE(back[0].requires_grad());
  EXPECT_TRUE(back[0].is_leaf());
  EXPECT_FALSE(back[1].requires_grad());
  EXPECT_TRUE(back[2].requires_grad());
}

TEST(Save, ArchivesNest) {
  OutputArchive out, inner, empty_one;
  inner.write("y", ones({2}), /*is_buffer=*/true);
  inner.write("flag", IValue(true));
  out.write("inner", inner);
  out.write("nothing", empty_one);
  out.write("x", full({3}, 2.5));
  double inf = std::numeric_limits<double>::infinity();
  out.write("rate", IValue(std::vector<double>{0.1, inf, -inf}));
  out.write("steps", IValue(std::vector<int64_t>{-1, int64_t{1} << 62}));
  out.write("name", IValue("tab\t\"quoted\" ü"));
  out.write("none", IValue());
  std::stringstream file;
  out.save_to(file);

  InputArchive in, nested;
  in.load_from(file);
  EXPECT_EQ(in.keys(),
            (std::vector<std::string>{"inner", "name", "none", "nothing", "rate", "steps", "x"}));
  in.read("inner", nested);
  EXPECT_EQ(nested.keys(), (std::vector<std::string>{"flag", "y"}));
  IValue v;
  nested.read("flag", v);
  EXPECT_TRUE(v.toBool());
  EXPECT_THROW(v.toInt(), TypeError);
  in.read("rate", v);
  EXPECT_EQ(v.toDoubleVector(), (std::vector<double>{0.1, inf, -inf}));
  in.read("steps", v);
  EXPECT_EQ(v.toIntVector()[1], int64_t{1} << 62);
  in.read("name", v);
  EXPECT_EQ(v.toStringRef(), "tab\t\"quoted\" ü");
  in.read("none", v);
  EXPECT_TRUE(v.isNone());
  EXPECT_TRUE(in.try_read("nothing", nested));
  EXPECT_FALSE(in.try_read("absent", nested));
  Tensor t;
  EXPECT_FALSE(in.try_read("absent", t));
  test::expect_words(test::text_of<ValueError>([&] { in.read("absent", t); }),
                     {"No such serialized tensor 'absent'"});
}

IValue saved_and_loaded(const IValue& v) {
  OutputArchive out;
  out.write("v", v);
  std::stringstream file;
  out.save_to(file);
  InputArchive in;
  in.load_from(file);
  IValue back;
  in.read("v", back);
  return back;
}

TEST(Save, KindsOfValues) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(saved_and_loaded(Device("cpu")).toDevice(), Device("cpu"));
  EXPECT_EQ(saved_and_loaded(Device("cuda:1")).toDevice(), Device("cuda:1"));
  EXPECT_EQ(saved_and_loaded(std::complex<double>(1.5, -inf)).toComplexDouble(),
            std::complex<double>(1.5, -inf));
  EXPECT_EQ(saved_and_loaded(std::vector<bool>{true, false}).toBoolVector(),
            (std::vector<bool>{true, false}));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"a", "\"b\""}, std::vector<std::string>{}}) {
    EXPECT_EQ(saved_and_loaded(words), IValue(words));
  }
}

// Never saved as something else.
TEST(Save, ValuesWithoutAFormAreRefused) {
  Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  const std::pair<IValue, const char*> cases[] = {
      {IValue(dict), "GenericDict"},
      {IValue(std::vector<IValue>{1, "a"}), "GenericList"},
      {IValue(std::vector<IValue>{ones({1}), 2}), "GenericList"}};
  for (const auto& [v, kind] : cases) {
    test::expect_words(test::text_of<NotImplementedError>([&, &value = v] {
                         OutputArchive out;
                         out.write("state", value);
                         std::stringstream file;
                         out.save_to(file);
                       }),
                       {"save: 'state'", kind, "expected a tensor"});
  }
}

// As libtorch, which reads from the start always.
TEST(Save, AStreamAtItsEndIsReadAgain) {
  std::stringstream file;
  save(full({2}, 3.), file);
  for (int i = 0; i < 2; ++i) {
    Tensor t;
    load(t, file);
    EXPECT_TRUE(equal(t, full({2}, 3.))) << i;
  }
}

TEST(Save, IntoADefinedTensorCopies) {
  std::stringstream file;
  save(ones({2, 2}), file);
  auto target = zeros({2, 2}, requires_grad());
  auto view = target.detach();
  load(target, file);
  EXPECT_TRUE(equal(view, ones({2, 2})));
  EXPECT_TRUE(target.requires_grad());
  file.clear();
  file.seekg(0);
  auto other = zeros({3});
  EXPECT_THROW(load(other, file), ValueError);
}

// Half a minute if each archive is looked for among all names.
TEST(Save, ManyArchivesAreReadInTheirTime) {
  OutputArchive out;
  for (int i = 0; i < 30000; ++i) out.write(std::to_string(i) + ".weight", empty({0}));
  std::stringstream file;
  out.save_to(file);
  InputArchive in;
  in.load_from(file);
  const auto began = std::chrono::steady_clock::now();
  std::size_t tensors = 0;
  for (const std::string& key : in.keys()) {
    InputArchive nested;
    in.read(key, nested);
    tensors += nested.keys().size();
  }
  EXPECT_EQ(tensors, 30000u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(Save, BadKeys) {
  OutputArchive out;
  out.write("a", ones({1}));
  EXPECT_THROW(out.write("a", ones({1})), ValueError);
  EXPECT_THROW(out.write("", ones({1})), ValueError);
  EXPECT_THROW(out.write("__metadata__", ones({1})), ValueError);
  EXPECT_THROW(out.write("b", Tensor()), ValueError);
  EXPECT_THROW(out.write(std::string(2000, 'k'), ones({1})), ValueError);
}

TEST(Save, FilesAppearWholeOrNotAtAll) {
  auto path =
      std::filesystem::path(testing::TempDir()) / ("tenon_archive_" + std::to_string(getpid()));
  save(arange(3), path.string());
  EXPECT_THROW(save(arange(3), (path / "below" / "a file").string()), ValueError);
  Tensor back;
  load(back, path.string());
  EXPECT_TRUE(equal(back, arange(3)));
  std::filesystem::remove(path);
  test::expect_words(test::text_of<ValueError>([&] { load(back, path.string()); }),
                     {path.string().c_str()});
}

}  // namespace
