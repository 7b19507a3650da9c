// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files remember devices; a DeviceMap says where their tensors go. The other device is that of the
// reference plugin.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;
using serialize::InputArchive;
using serialize::OutputArchive;

namespace {

// "here" and "there", a view of "there" and one of a storage that no tensor has alone.
std::string saved() {
  const Tensor there = arange(6, kFloat).to(Device("ref")), rows = there.view({2, 3}).select(0, 1);
  const Tensor columns = arange(6, kFloat).to(Device("ref")).view({2, 3}).slice(1, 0, 2);
  OutputArchive out;
  out.write("here", ones({2}));
  out.write("there", there);
  out.write("view", rows);
  out.write("strided", columns);
  std::ostringstream bytes;
  out.save_to(bytes);
  return bytes.str();
}

Tensor tensor_of(InputArchive& in, const char* name) {
  Tensor t;
  in.read(name, t);
  return t;
}

void expect_devices(const std::string& file, const DeviceMap& map, const char* here,
                    const char* there) {
  InputArchive in;
  in.load_from(file.data(), file.size(), map);
  EXPECT_EQ(tensor_of(in, "here").device().type(), Device(here).type());
  for (const char* name : {"there", "view", "strided"})
    EXPECT_EQ(tensor_of(in, name).device().type(), Device(there).type()) << name;
  EXPECT_TRUE(equal(tensor_of(in, "there").cpu(), arange(6, kFloat)));
  EXPECT_TRUE(equal(tensor_of(in, "view").cpu(), tensor({3.f, 4.f, 5.f})));
  EXPECT_TRUE(equal(tensor_of(in, "strided").cpu(), tensor({{0.f, 1.f}, {3.f, 4.f}})));
  EXPECT_TRUE(tensor_of(in, "view").is_alias_of(tensor_of(in, "there")));
}

TEST(SavedDevices, AreTheDefault) { expect_devices(saved(), {}, "cpu", "ref"); }

TEST(SavedDevices, AreMappedByADeviceAMapOrAFunction) {
  const std::string file = saved();
  expect_devices(file, kCPU, "cpu", "cpu");
  expect_devices(file, "ref", "ref", "ref");
  expect_devices(file, std::optional<Device>(), "cpu", "ref");
  using Names = std::map<std::string, std::string>;
  expect_devices(file, Names{{"ref:0", "cpu"}}, "cpu", "cpu");
  expect_devices(file, Names{{"cpu", "ref"}}, "ref", "ref");
  std::vector<std::string> asked;
  expect_devices(
      file,
      [&](const std::string& name) {
        asked.push_back(name);
        return Device(name == "cpu" ? "ref" : "cpu");
      },
      "ref", "cpu");
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "ref:0"), 2);  // of two storages
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "cpu"), 1);
}

TEST(SavedDevices, OfModulesAndOptimizersPassThroughLoad) {
  const Tensor w = ones({3}, TensorOptions().device("ref"));
  std::stringstream file;
  save(w, file);
  Tensor there, here;
  load(there, file);
  EXPECT_EQ(there.device().str(), w.device().str());
  load(here, file, [](const std::string&) { return Device(kCPU); });
  EXPECT_TRUE(here.is_cpu());
  std::vector<Tensor> list;
  load(list, file, std::map<std::string, std::string>{{"ref:0", "cpu"}});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0].is_cpu());
  nn::Linear net(2, 2), other(2, 2);
  net->to(Device("ref"));
  std::stringstream weights;
  save(net, weights);
  load(other, weights, kCPU);  // into parameters: they stay where they are
  EXPECT_TRUE(other->weight.is_cpu());
  EXPECT_TRUE(equal(other->weight, net->weight.cpu()));
}

TEST(SavedDevices, ModulesFollowThemOffTheHostAndNeverBackToIt) {
  nn::Linear there(2, 2), here(2, 2);
  there->to(Device("ref"));
  std::stringstream file, host;
  save(here, host);
  save(there, file);
  const Tensor weight = here->weight;
  load(here, file);
  EXPECT_EQ(here->weight.device().str(), there->weight.device().str());
  EXPECT_TRUE(here->weight.is_same(weight));
  EXPECT_TRUE(here->weight.requires_grad() && here->weight.is_leaf());
  EXPECT_TRUE(equal(here->bias.cpu(), there->bias.cpu()));
  load(there, host);
  EXPECT_EQ(there->weight.device().type(), Device("ref").type());
}

TEST(SavedDevices, AMissingOneIsNamedWithItsTensor) {
  const std::string file = saved();
  InputArchive in;
  const auto load = [&](const DeviceMap& map) { in.load_from(file.data(), file.size(), map); };
  test::expect_words(test::text_of([&] { load("absent"); }), {"absent"});
  test::expect_words(test::text_of([&] {
                       load(std::map<std::string, std::string>{{"ref:0", "absent:3"}});
                     }),
                     {"the bytes given", "saved from ref:0", "unknown device type 'absent'"});
}

TEST(SavedDevices, OneThatIsNotHereIsTheHostByDefault) {
  const std::string header =
      R"({"__metadata__":{"tenon.tensors":"{\"w\":{\"device\":\"absent:3\"}}"},)"
      R"("w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header + "\1\2";
  InputArchive in;
  in.load_from(file.data(), file.size());
  EXPECT_TRUE(equal(tensor_of(in, "w"), tensor({1, 2}, kByte)));
  std::vector<std::string> asked;
  in.load_from(file.data(), file.size(), [&](const std::string& name) {
    asked.push_back(name);
    return Device(kCPU);
  });
  EXPECT_EQ(asked, std::vector<std::string>{"absent:3"});
}

}  // namespace
