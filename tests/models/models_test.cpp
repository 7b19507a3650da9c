// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The nets of models.h give what torch gives (make_models.py), and are traced, saved and loaded.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/models/fixtures.h"
#include "tests/models/models.h"

namespace tenon::test::models {
namespace {

using nlohmann::json;

// The FNV-1a hash of the names and sizes of all parameters and buffers.
std::string digest(const nn::Module& net) {
  std::ostringstream text;
  const auto add = [&](const OrderedDict<std::string, Tensor>& tensors) {
    for (const auto& item : tensors) {
      text << item.key() << '[';
      for (int64_t d = 0; d < item.value().dim(); ++d)
        text << (d == 0 ? "" : ",") << item.value().size(d);
      text << "];";
    }
  };
  add(net.named_parameters());
  add(net.named_buffers());
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text.str()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::ostringstream hex;
  hex << std::hex << std::setw(16) << std::setfill('0') << hash;
  return hex.str();
}

int64_t count_of(const nn::Module& net) {
  int64_t count = 0;
  for (const Tensor& p : net.parameters()) count += p.numel();
  return count;
}

double squares(const std::vector<Tensor>& tensors) {
  double sum = 0;
  for (const Tensor& t : tensors) sum += t.detach().to(kDouble).square().sum().item<double>();
  return sum;
}

void expect_close(double got, double want, const char* what) {
  EXPECT_NEAR(got, want, 1e-9 + 1e-8 * std::abs(want)) << what;
}

// The output, and the gradients for the loss sum(output * cos(index)).
void expect_outcome(const Fixture& f, const json& want) {
  f.net->zero_grad();
  const Tensor y = f.forward(f.input);
  EXPECT_EQ(y.sizes().vec(), want["sizes"].get<std::vector<int64_t>>());
  const Tensor flat = y.flatten();
  (flat * arange(flat.numel(), TensorOptions().dtype(kDouble)).cos()).sum().backward();
  const auto first = want["first"].get<std::vector<double>>();
  for (std::size_t i = 0; i < first.size(); ++i)
    expect_close(flat[static_cast<int64_t>(i)].item<double>(), first[i], "element");
  expect_close(flat.sum().item<double>(), want["sum"], "sum");
  expect_close(squares({flat}), want["squares"], "squares");
  std::vector<Tensor> gradients;
  for (const Tensor& p : f.net->parameters()) gradients.push_back(p.grad());
  expect_close(squares(gradients), want["gradients"], "gradients");
  expect_close(squares(f.net->buffers()), want["buffers"], "buffers");
}

class Models : public ::testing::TestWithParam<std::size_t> {
 public:
  const std::string& name() const { return fixtures()[GetParam()].first; }
  Fixture made() const { return fixtures()[GetParam()].second(); }
};

TEST_P(Models, GiveWhatTorchGives) {
  std::ifstream file(TENON_TEST_MODELS "/expected.json");
  const json expected = json::parse(file)[name()];
  const Fixture f = made();
  EXPECT_EQ(digest(*f.net), expected["digest"]);
  EXPECT_EQ(count_of(*f.net), expected["parameters"]);
  expect_outcome(f, expected["eval"]);
  ASSERT_EQ(f.train, expected.contains("train"));
  if (!f.train) return;
  f.net->train();
  expect_outcome(f, expected["train"]);
}

TEST_P(Models, AreTracedSavedAndLoaded) {
  const Fixture f = made();
  const WarningCallback before = set_warning_handler([](const WarningMessage&) {});
  const jit::Module traced = f.traced(f.input);
  set_warning_handler(before);
  const Tensor x = f.input.flip({0}), want = f.forward(x);
  EXPECT_TRUE(traced.forward({x}).toTensor().allclose(want, 1e-12, 1e-12));
  std::stringstream file;
  traced.save(file);
  const jit::Module loaded = jit::load(file);
  EXPECT_TRUE(loaded.forward({x}).toTensor().allclose(want, 1e-12, 1e-12));
  EXPECT_EQ(loaded.named_parameters().size(), f.net->named_parameters().size());
}

INSTANTIATE_TEST_SUITE_P(Nets, Models, ::testing::Range<std::size_t>(0, fixtures().size()),
                         [](const auto& info) { return fixtures()[info.param].first; });

// The digests are those of torchvision's nets, which make_models.py prints.
TEST(ModelsAtPublishedWidths, HaveTheParametersOfTorchvision) {
  const auto expect_same = [](const nn::Module& net, int64_t parameters, const char* of_names) {
    EXPECT_EQ(count_of(net), parameters);
    EXPECT_EQ(digest(net), of_names);
  };
  expect_same(*ResNet18(), 11689512, "672d8ef2ed96b690");
  expect_same(*DenseNet121(), 7978856, "684c84c6f4e64241");
  expect_same(*GoogLeNet(), 6624904, "fb9664833b25f1e7");
}

TEST(LanguageModelOfLSTM, GoesOnFromAState) {
  LanguageModel net(50, 12, 16, 2);
  fill(*net);
  const Tensor tokens = residues({9, 3}, 1).remainder(50);
  const auto [first, state] = net->step(tokens.narrow(0, 0, 4));
  const Tensor second = std::get<0>(net->step(tokens.narrow(0, 4, 5), state));
  EXPECT_TRUE(cat({first, second}, 0).allclose(net(tokens), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tenon::test::models
