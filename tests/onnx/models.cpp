// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Models that torch exported, against what torch computes: results, and results after one step of
// SGD. data/make.py made them.
#include <gtest/gtest.h>

#include <fstream>

#include "tenon/autograd.h"
#include "tenon/jit.h"
#include "tenon/jit/freeze.h"
#include "tenon/onnx.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"

namespace tenon::onnx {
namespace {

std::string path_of(const std::string& file) { return std::string(TENON_ONNX_DATA "/") + file; }

struct Expected {
  explicit Expected(const std::string& name) { archive.load_from(path_of(name + ".safetensors")); }
  Tensor read(const std::string& key) {
    Tensor t;
    archive.read(key, t);
    return t;
  }
  serialize::InputArchive archive;
};

class OnnxModels : public testing::TestWithParam<const char*> {};

TEST_P(OnnxModels, ComputeAsInTorch) {
  const std::string name = GetParam();
  Expected expected(name);
  const jit::Module m = jit::load(path_of(name + ".onnx"));
  const Tensor y = m.forward({expected.read("x")}).toTensor();
  EXPECT_TRUE(allclose(y, expected.read("y"), 1e-4, 1e-5));
}

TEST_P(OnnxModels, TrainAsInTorch) {
  const std::string name = GetParam();
  Expected expected(name);
  const jit::Module m = jit::load(path_of(name + ".onnx"));
  const Tensor x = expected.read("x");
  optim::SGD sgd(m.parameters(), 0.01);
  m.forward({x}).toTensor().square().sum().backward();
  for (const auto& p : m.named_parameters()) EXPECT_TRUE(p.value.grad().defined()) << p.name;
  sgd.step();
  EXPECT_TRUE(allclose(m.forward({x}).toTensor(), expected.read("after"), 1e-3, 1e-5));
}

TEST_P(OnnxModels, AreSavedAsArchives) {
  const std::string name = GetParam();
  Expected expected(name);
  const jit::Module m = jit::load(path_of(name + ".onnx"));
  std::stringstream file;
  m.save(file);
  const jit::Module again = jit::load(file);
  EXPECT_TRUE(
      allclose(again.forward({expected.read("x")}).toTensor(), expected.read("y"), 1e-4, 1e-5));
}

TEST_P(OnnxModels, AreReadFromStreams) {
  std::ifstream in(path_of(std::string(GetParam()) + ".onnx"), std::ios::binary);
  const jit::Module m = jit::load(in);
  EXPECT_EQ(model_info(m)->producer_name, "pytorch");
}

INSTANTIATE_TEST_SUITE_P(, OnnxModels, testing::Values("cnn", "block", "lstm"));

TEST(OnnxModel, NamesAreThoseOfTheFile) {
  const jit::Module m = jit::load(path_of("cnn.onnx"));
  std::map<std::string, Tensor> parameters, buffers;
  for (const auto& p : m.named_parameters()) parameters[p.name] = p.value;
  for (const auto& b : m.named_buffers()) buffers[b.name] = b.value;
  for (const char* name :
       {"conv.weight", "conv.bias", "norm.weight", "norm.bias", "fc.weight", "fc.bias"})
    EXPECT_EQ(parameters.count(name), 1u) << name;
  EXPECT_EQ(buffers.count("norm.running_mean"), 1u);
  EXPECT_EQ(buffers.count("norm.running_var"), 1u);
  const auto& schema = m.get_method("forward").function().schema();
  EXPECT_EQ(schema.arguments.at(1).name, "x");
  EXPECT_FALSE(m.is_training());
}

TEST(OnnxModel, GradientsAreThoseOfTorch) {
  Expected expected("cnn");
  const jit::Module m = jit::load(path_of("cnn.onnx"));
  m.forward({expected.read("x")}).toTensor().square().sum().backward();
  for (const auto& p : m.named_parameters())
    EXPECT_TRUE(allclose(p.value.grad(), expected.read("grad." + p.name), 1e-3, 1e-4)) << p.name;
}

// data/make_dynamic_lstm.py made them.
TEST(OnnxModel, DynamicallyQuantizedLstmsComputeAsInOnnxRuntime) {
  for (const char* name : {"lstm_int8", "lstm_uint8"}) {
    SCOPED_TRACE(name);
    Expected expected(name);
    const jit::Module m = jit::load(path_of(std::string(name) + ".onnx"));
    const jit::Module fast = jit::optimize_for_inference(jit::freeze(m));
    EXPECT_EQ(fast.get_method("forward").graph()->str().find("prim::If"), std::string::npos)
        << "what the file decides is decided in each step";
    for (const jit::Module& each : {m, fast}) {
      const IValue out = each.forward({expected.read("x")});
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(allclose(out.toTupleRef().items.at(i).toTensor(),
                             expected.read(std::string(1, "yhc"[i])), 1e-5, 1e-6))
            << "yhc"[i];
    }
  }
}

}  // namespace
}  // namespace tenon::onnx
