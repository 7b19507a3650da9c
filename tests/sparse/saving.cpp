// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files with sparse tensors: alone, in modules and in archives; damaged ones, and ones whose plugin
// is not loaded.
#include <random>
#include <sstream>

#include "tenon/plugins/plugins.h"
#include "tenon/serialize.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using serialize::InputArchive;
using serialize::OutputArchive;
using namespace test;

template <class T>
std::string file_of(const T& value) {
  std::stringstream file;
  save(value, file);
  return file.str();
}

Tensor loaded(const std::string& bytes) {
  Tensor t;
  load(t, bytes.data(), bytes.size());
  return t;
}

// The one occurrence of `from` becomes `to`, of the same length, and the checksum is taken away: a
// forged file.
std::string forged(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  const auto replace = [&](const std::string& a, const std::string& b) {
    const std::size_t at = bytes.find(a);
    ASSERT_NE(at, std::string::npos) << a << " in " << bytes.substr(8, 600);
    bytes.replace(at, a.size(), b);
  };
  replace(from, to);
  replace("tenon.checksum", "other.checksum");
  replace("tenon.format", "other.format");
  return bytes;
}

std::string refusal(const std::string& bytes) {
  return text_of<Error>([&] { (void)loaded(bytes); });
}

struct SparseFiles : testing::TestWithParam<const char*> {
  const Device device = Device(GetParam());
  const test::Twice twice{device};
};
INSTANTIATE_TEST_SUITE_P(On, SparseFiles, testing::Values("cpu", "ref"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(SparseFiles, OneTensor) {
  const Tensor t = twice.make(), back = loaded(file_of(t));
  EXPECT_EQ(back.layout(), kSparse);
  EXPECT_EQ(back.device().type(), device.type()) << "where it was saved";
  EXPECT_FALSE(back.is_coalesced());
  EXPECT_TRUE(back._indices().equal(t._indices()));
  EXPECT_TRUE(back._values().equal(t._values()));
  const Tensor c = loaded(file_of(t.coalesce()));
  EXPECT_TRUE(c.is_coalesced());
  expect_equal(c, twice.dense());
}

TEST_P(SparseFiles, ToADevice) {
  const std::string bytes = file_of(hybrid(device));
  Tensor back;
  std::stringstream file(bytes);
  load(back, file, device);
  EXPECT_EQ(back.device().type(), device.type());
  EXPECT_EQ(back.dense_dim(), 2);
  expect_equal(back, hybrid(Device(kCPU)));
}

TEST_P(SparseFiles, IntoAnExistingTensor) {
  Tensor t = sparse_coo_tensor({3, 4}, TensorOptions(kDouble).device(device));
  const std::string bytes = file_of(twice.make());
  load(t, bytes.data(), bytes.size());
  EXPECT_EQ(t.device().type(), device.type());
  expect_equal(t, twice.dense());
  Tensor strided = zeros({3, 4}, TensorOptions(kDouble)),
         other = sparse_coo_tensor({4, 4}, TensorOptions(kDouble));
  expect_words(text_of<ValueError>([&] { load(strided, bytes.data(), bytes.size()); }),
               {"layout sparse_coo in the file", "strided"});
  expect_words(text_of<ValueError>([&] { load(other, bytes.data(), bytes.size()); }),
               {"sizes", "[3, 4]"});
}

TEST(SparseFile, EveryDtype) {
  for (ScalarType d : core::kBuiltInDtypes) {
    const Tensor t = sparse_coo_tensor(ints({0, 2}, {1, 2}), ones({2}, TensorOptions(d)), {3});
    const Tensor back = loaded(file_of(t));
    EXPECT_EQ(back.scalar_type(), d);
    EXPECT_TRUE(back._values().equal(t._values())) << dtype_name(d);
  }
}

TEST(SparseFile, WithoutElements) {
  const Tensor back =
      loaded(file_of(sparse_coo_tensor({0, 5, int64_t{1} << 40}, TensorOptions(kFloat))));
  EXPECT_EQ(back.sizes(), IntArrayRef({0, 5, int64_t{1} << 40}));
  EXPECT_EQ(back._nnz(), 0);
  EXPECT_TRUE(back.is_coalesced());
}

TEST(SparseFile, GradientsAndSharedComponents) {
  const Tensor values = tensor({1., 2.}, TensorOptions(kFloat));
  const Tensor t = sparse_coo_tensor(ints({0, 2}, {1, 2}), values, {3}).requires_grad_();
  std::vector<Tensor> back;
  const std::string bytes = file_of(std::vector<Tensor>{t, values});
  load(back, bytes.data(), bytes.size());
  ASSERT_EQ(back.size(), 2u);
  EXPECT_TRUE(back[0].requires_grad());
  EXPECT_FALSE(back[1].requires_grad());
  back[1].fill_(5);
  EXPECT_TRUE(back[0]._values().equal(full({2}, 5.f))) << "values and the tensor shared memory";
}

struct NetImpl : nn::Module {
  Tensor adjacency = register_buffer("adjacency", test::Twice{Device(kCPU)}.make().to(kFloat));
  nn::Linear layer = register_module("layer", nn::Linear(4, 2));
};
TENON_MODULE(Net);

TEST(SparseFile, BuffersOfModules) {
  Net net, other;
  other->adjacency.zero_();
  const std::string bytes = file_of(net);
  load(other, bytes.data(), bytes.size());
  expect_equal(other->adjacency, net->adjacency);
  EXPECT_EQ(other->named_buffers()["adjacency"].layout(), kSparse);
  net->to(Device("ref"));
  EXPECT_EQ(net->adjacency.device().type(), Device("ref").type());
  EXPECT_EQ(net->adjacency.layout(), kSparse);
  net->to(kDouble);
  EXPECT_EQ(net->adjacency.scalar_type(), kDouble);
  EXPECT_EQ(net->adjacency._values().scalar_type(), kDouble);
  expect_equal(net->adjacency, other->adjacency.to(kDouble));
}

TEST(SparseFile, NamesOfEntries) {
  OutputArchive out, inner;
  const Tensor t = test::Twice{Device(kCPU)}.make();
  inner.write("t", t);
  inner.write("t.values", ones({2}));  // what the component would be called
  out.write("inner", inner);
  std::stringstream file;
  out.save_to(file);
  EXPECT_NE(file.str().find("\"inner.t.indices\""), std::string::npos) << "found by other programs";
  InputArchive in, nested;
  in.load_from(file);
  in.read("inner", nested);
  EXPECT_EQ(nested.keys(), (std::vector<std::string>{"t"}));
  Tensor back, plain;
  nested.read("t", back);
  nested.read("t.values", plain);
  expect_equal(back, t);
  EXPECT_TRUE(plain.equal(ones({2})));
}

TEST(SparseFile, RefusesWhatDoesNotFit) {
  const std::string good = file_of(test::Twice{Device(kCPU)}.make());
  EXPECT_TRUE(loaded(forged(good, "\\\"shape\\\":[3,4]", "\\\"shape\\\":[3,9]")).defined())
      << "a larger shape is valid";
  expect_words(refusal(forged(good, "\\\"shape\\\":[3,4]", "\\\"shape\\\":[3,3]")),
               {"load:", "'0'", "size is inconsistent with indices", "dim 1"});
  expect_words(refusal(forged(good, "\\\"shape\\\":[3,4]", "\\\"shape\\\":[334]")),
               {"number of dimensions"});
  expect_words(refusal(forged(good, "\\\"indices\\\":\\\"0.indices\\\"",
                              "\\\"indices\\\":\\\"0.indiceX\\\"")),
               {"component 'indices'", "not in the file"});
  expect_words(
      refusal(forged(good, "\\\"values\\\":\\\"0.values\\\"", "\\\"valves\\\":\\\"0.values\\\"")),
      {"lacks the component 'values'"});
  expect_words(refusal(forged(good, "\\\"layout\\\":\\\"sparse_coo\\\"",
                              "\\\"layout\\\":\\\"sparse_cow\\\"")),
               {"layout 'sparse_cow'", "no loaded plugin", "looked for"});
  const std::string coalesced = file_of(test::Twice{Device(kCPU)}.make().coalesce());
  expect_words(refusal(forged(coalesced, "coalesced", "sorted_up")), {"no flag 'sorted_up'"});
}

TEST(SparseFile, TrustsNoFlag) {
  Tensor t = test::Twice{Device(kCPU)}.make();
  t._coalesced_(true);  // it is not
  expect_words(refusal(file_of(t)), {"said to be coalesced"});
}

TEST(SparseFile, TrustsNoIndex) {
  Tensor t = test::Twice{Device(kCPU)}.make();
  for (int64_t wrong : {int64_t{-1}, int64_t{3}, int64_t{1} << 60}) {
    t._indices()[0].fill_(wrong);
    expect_words(refusal(file_of(t)), {"load:", "'0'", "index"});
  }
}

// Bytes and cuts at random: an error of Tenon's, or a tensor that can be used.
TEST(SparseFile, SurvivesDamage) {
  std::mt19937_64 random(7);
  std::string good = file_of(test::Twice{Device(kCPU)}.make().coalesce());
  good.replace(good.find("tenon.checksum"), 14, "other.checksum");
  good.replace(good.find("tenon.format"), 12, "other.format");
  int refused = 0, made = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (uint64_t k = random() % 3 + 1; k > 0; --k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    try {
      const Tensor t = loaded(bytes);
      (void)t.to_dense().sum();
      ++made;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_EQ(made + refused, 3000);
  EXPECT_GT(refused, 500);
  EXPECT_GT(made, 50) << "some damage is to values alone";
}

std::string library_of(const std::string& name) {
  for (const plugins::Info& p : plugins::list()) {
    if (p.name == name) return p.library;
  }
  return "";
}

TEST(SparseFile, NamesTheMissingLayout) {
  const std::string bytes = file_of(test::Twice{Device(kCPU)}.make());
  const std::string library = library_of("sparse");
  plugins::unload("sparse");
  expect_words(refusal(bytes), {"load:", "'0'", "layout 'sparse_coo'", "no loaded plugin"});
  plugins::load(library);
  expect_equal(loaded(bytes), test::Twice{Device(kCPU)}.dense());
}

}  // namespace
}  // namespace tenon
