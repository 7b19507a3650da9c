// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// State dictionaries and other values in the forms of torch.save.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "jit/formats/saved_value.h"
#include "tenon/jit/pickle.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

std::string data(const std::string& name) { return TENON_TEST_JIT "/data/" + name; }
std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Saved : public ::testing::Test {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tenon_" + std::to_string(getpid()) + ".pt"))
          .string();
  ~Saved() override { std::filesystem::remove(path); }
  void write(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
};

void expect_state(const StateDict& state) {
  EXPECT_EQ(state.keys(), (std::vector<std::string>{"weight", "rows", "steps", "half", "mask"}));
  EXPECT_TRUE(state["weight"].equal(arange(6, kFloat).reshape({2, 3})));
  EXPECT_TRUE(state["weight"].requires_grad());
  EXPECT_TRUE(state["rows"].equal(tensor({{1., 3.}, {5., 7.}}, kFloat)));
  EXPECT_TRUE(state["rows"].is_alias_of(state["weight"]));
  EXPECT_EQ(state["steps"].item<int64_t>(), 41);
  EXPECT_TRUE(state["half"].equal(tensor({0.5, -2.0}, kHalf)));
  EXPECT_TRUE(state["mask"].equal(tensor({true, false, true})));
}

void expect_small(const StateDict& state) {
  const Tensor numbers = tensor({1., 2., 4., 64., 0.5, 8.}, kFloat).view({2, 3}).t();
  ASSERT_EQ(state.keys().size(), std::size(core::kStorageDtypes));
  for (const ScalarType t : core::kStorageDtypes) {
    const Tensor& x = state[std::string(dtype_name(t))];
    EXPECT_EQ(x.scalar_type(), t);
    EXPECT_EQ(x.strides(), numbers.strides());
    EXPECT_TRUE(equal(x.to(kComplexFloat), numbers.to(t).to(kComplexFloat))) << dtype_name(t);
  }
}

TEST_F(Saved, StorageOnlyDtypesAreReadAndWritten) {
  for (const char* name : {"saved/small.pt", "saved/small_legacy.pt"}) {
    SCOPED_TRACE(name);
    const StateDict state = load_state_dict(data(name));
    expect_small(state);
    save_state_dict(state, path);
    expect_small(load_state_dict(path));
  }
}

TEST_F(Saved, BothFormsAreRead) {
  for (const char* name : {"saved/zip.pt", "saved/legacy.pt"}) {
    SCOPED_TRACE(name);
    expect_state(load_state_dict(data(name), {}, "state_dict"));
    const IValue all = load_pickle(data(name));
    const auto& dict = all.toDictRef();
    EXPECT_EQ(dict.at("epoch").toInt(), 7);
    EXPECT_EQ(dict.at("lr").toDouble(), 0.125);
    EXPECT_EQ(dict.at("betas").toTupleRef().items[1].toDouble(), 0.999);
    EXPECT_EQ(dict.at("names").toListRef().items[1].toStringRef(), "b");
    EXPECT_TRUE(dict.at("best").isNone());
  }
}

TEST_F(Saved, DevicesAreMapped) {
  for (const char* name : {"saved/zip.pt", "saved/legacy.pt"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> asked;
    const DeviceMap ask(SharedFunction<Device(const std::string&)>([&](const std::string& where) {
      asked.push_back(where);
      return Device(kCPU);
    }));
    expect_state(load_state_dict(data(name), ask, "state_dict"));
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "cuda:1") > 0, true);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "cpu") > 0, true);
    expect_state(load_state_dict(data(name), "cpu", "state_dict"));
    expect_state(load_state_dict(data(name), std::map<std::string, std::string>{{"cuda:1", "cpu"}},
                                 "state_dict"));
    EXPECT_TEXT(load_state_dict(data(name), "absent", "state_dict"), "absent");
    EXPECT_TEXT(
        load_state_dict(data(name), std::map<std::string, std::string>{{"cuda:1", "absent:3"}},
                        "state_dict"),
        "absent");
  }
}

TEST_F(Saved, StatesOfModulesGoThroughAFile) {
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4)),
      other(nn::Linear(3, 4), nn::BatchNorm1d(4));
  net->forward(rand({5, 3}));
  save_state_dict(net->state_dict(), path);
  other->load_state_dict(load_state_dict(path));
  const auto a = net->state_dict(), b = other->state_dict();
  for (const auto& item : a) EXPECT_TRUE(item.value().equal(b[item.key()])) << item.key();
  const std::string bytes = bytes_of(path);
  EXPECT_EQ(bytes.substr(0, 2), "PK");
  // Nothing but what weights_only of torch allows.
  EXPECT_NE(bytes.find("ctorch._utils\n_rebuild_tensor_v2"), std::string::npos);
  EXPECT_EQ(bytes.find("torch.jit._pickle"), std::string::npos);
}

TEST_F(Saved, ValuesGoThroughBytes) {
  const Tensor x = rand({2, 3});
  auto dict = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
  dict->insert_or_assign("x", x);
  dict->insert_or_assign("part", x.slice(1, 0, 2));
  dict->insert_or_assign("numbers", std::vector<int64_t>{1, 2, 3});
  dict->insert_or_assign("lr", 0.5);
  const IValue back = pickle_load(pickle_save(dict));
  EXPECT_TRUE(back.toDictRef().at("x").toTensor().equal(x));
  EXPECT_TRUE(
      back.toDictRef().at("part").toTensor().is_alias_of(back.toDictRef().at("x").toTensor()));
  EXPECT_EQ(back.toDictRef().at("numbers").toListRef().items[2].toInt(), 3);
  EXPECT_TRUE(pickle_load(pickle_save(x.t())).toTensor().equal(x.t()));
}

TEST_F(Saved, Refusals) {
  EXPECT_TEXT(load_pickle(data("README.md")), "it is not a file of torch.save");
  EXPECT_TEXT(load_state_dict(data("saved/zip.pt")), "state_dict is GenericDict");
  EXPECT_TEXT(load_state_dict(data("saved/zip.pt"), {}, "model"), "it has no 'model'");
  EXPECT_TEXT(pickle_load({'P', 'K', 'x'}), "the bytes");
  // A pickle that calls something else is told so, and nothing is called.
  std::string bytes = bytes_of(data("saved/legacy.pt"));
  const std::string good = "ctorch._utils\n_rebuild_tensor_v2";
  bytes.replace(bytes.find(good), good.size(), "ctorch._utils\n_rebuild_tensor_xx");
  write(bytes);
  EXPECT_TEXT(load_pickle(path), "torch._utils._rebuild_tensor_xx");
}

// Damaged files are an Error, or give values; sizes that they claim are not believed.
TEST_F(Saved, DamagedFiles) {
  std::mt19937 random(5);
  for (const char* name : {"saved/zip.pt", "saved/legacy.pt"}) {
    const std::string good = bytes_of(data(name));
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      const int writes = 1 + static_cast<int>(random() % 3);
      for (int k = 0; k < writes; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      try {
        if (formats::is_legacy(bad))
          formats::read_legacy(bad, {});
        else
          pickle_load({bad.begin(), bad.end()});
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 1000) << name;
  }
}

}  // namespace
}  // namespace tenon::jit
