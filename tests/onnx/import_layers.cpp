// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pools and recurrent layers as the converters of other frameworks write them, and models whose
// nodes are in no order.
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/onnx/support.h"

namespace tenon::onnx {
namespace {

std::string graph_of(const jit::Module& m) { return m.get_method("forward").graph()->str(); }

struct Pool {
  std::vector<int64_t> kernel, strides, pads;
  std::string auto_pad;
  bool ceil = false;
};
jit::Module pool(const std::string& op, const Pool& p) {
  ModelMaker m;
  m.input("x").output("y");
  auto& n = m.node(op, {"x"}, {"y"});
  set_ints(n, "kernel_shape", p.kernel);
  set_ints(n, "strides", p.strides);
  if (!p.pads.empty()) set_ints(n, "pads", p.pads);
  if (!p.auto_pad.empty()) set_text(n, "auto_pad", p.auto_pad);
  if (p.ceil) set_int(n, "ceil_mode", 1);
  return m.load();
}

constexpr double kLow = -std::numeric_limits<double>::infinity();

TEST(OnnxLayers, MaxPoolsOfAnyPaddingAreOneOperator) {
  const Tensor line = randn({2, 3, 9}), image = randn({2, 3, 7, 8}), box = randn({1, 2, 5, 4, 6});
  const auto check = [](const Pool& p, const Tensor& x, const Tensor& want) {
    const jit::Module m = pool("MaxPool", p);
    EXPECT_TRUE(has(graph_of(m), "aten::max_pool")) << graph_of(m);
    EXPECT_FALSE(has(graph_of(m), "aten::unfold")) << graph_of(m);
    EXPECT_TRUE(m.forward({x}).toTensor().equal(want));
  };
  check({{2, 2}, {2, 2}, {}, ""}, image, max_pool2d(image, {2, 2}, {2, 2}));
  check({{3, 3}, {2, 2}, {}, "VALID"}, image, max_pool2d(image, {3, 3}, {2, 2}));
  check({{2}, {2}, {}, ""}, line, max_pool1d(line, {2}, {2}));
  check({{3}, {2}, {1, 1}, ""}, line, max_pool1d(line, {3}, {2}, {1}));
  check({{2, 2, 3}, {1, 2, 3}, {}, ""}, box, max_pool3d(box, {2, 2, 3}, {1, 2, 3}));
  check({{3, 3}, {2, 2}, {0, 0, 1, 1}, ""}, image,
        max_pool2d(constant_pad_nd(image, {0, 1, 0, 1}, kLow), {3, 3}, {2, 2}));
  check({{3, 3}, {2, 2}, {}, "SAME_UPPER"}, image,
        max_pool2d(constant_pad_nd(image, {0, 1, 1, 1}, kLow), {3, 3}, {2, 2}));
  check({{2, 2}, {2, 2}, {}, "SAME_LOWER"}, image,
        max_pool2d(constant_pad_nd(image, {0, 0, 1, 0}, kLow), {2, 2}, {2, 2}));
  check({{3, 3}, {2, 2}, {1, 0, 0, 0}, "", true}, image,
        max_pool2d(constant_pad_nd(image, {0, 1, 1, 1}, kLow), {3, 3}, {2, 2}));
}

TEST(OnnxLayers, ConvolutionsTakeTheirPadsFromTheFile) {
  const Tensor x = randn({2, 3, 7, 8}), w = randn({4, 3, 3, 3});
  const auto check = [&](const std::string& auto_pad, int64_t stride, const Tensor& want) {
    ModelMaker m;
    m.input("x").input("w").output("y");
    auto& n = m.node("Conv", {"x", "w"}, {"y"});
    set_ints(n, "kernel_shape", {3, 3});
    set_ints(n, "strides", {stride, stride});
    set_text(n, "auto_pad", auto_pad);
    const jit::Module made = m.load();
    EXPECT_FALSE(has(graph_of(made), "aten::size")) << graph_of(made);
    EXPECT_TRUE(allclose(made.forward({x, w}).toTensor(), want, 1e-5, 1e-5)) << auto_pad;
  };
  check("VALID", 2, conv2d(x, w, {}, {2, 2}));
  check("SAME_UPPER", 1, conv2d(x, w, {}, {1, 1}, {1, 1}));
  check("SAME_LOWER", 1, conv2d(x, w, {}, {1, 1}, {1, 1}));
}

TEST(OnnxLayers, AveragesOfUnevenPaddingLeaveItOut) {
  const Tensor x = randn({2, 3, 5, 6}), one = ones({1, 1, 5, 6});
  const auto sums = [](const Tensor& t) {
    return avg_pool2d(constant_pad_nd(t, {0, 0, 0, 1}, 0), {2, 2}, {2, 2}) * 4;
  };
  const jit::Module m = pool("AveragePool", {{2, 2}, {2, 2}, {}, "SAME_UPPER"});
  EXPECT_TRUE(has(graph_of(m), "aten::avg_pool2d")) << graph_of(m);
  EXPECT_TRUE(allclose(m.forward({x}).toTensor(), sums(x) / sums(one)));
  const jit::Module valid = pool("AveragePool", {{2, 2}, {2, 2}, {}, "VALID"});
  EXPECT_TRUE(allclose(valid.forward({x}).toTensor(), avg_pool2d(x, {2, 2}, {2, 2})));
}

jit::Module layer(const std::string& op, const std::vector<std::string>& names) {
  ModelMaker m;
  m.input("x").input("w").input("r").output("y");
  auto& n = m.node(op, {"x", "w", "r"}, {"y"});
  set_int(n, "hidden_size", 4);
  if (op == "GRU") set_int(n, "linear_before_reset", 1);
  if (!names.empty()) {
    auto* a = n.add_attribute();
    a->set_name("activations");
    a->set_type(pb::AttributeProto::STRINGS);
    for (const auto& name : names) a->add_strings(name);
  }
  return m.load();
}

TEST(OnnxLayers, UsualActivationsMayBeWrittenOut) {
  const Tensor x = randn({5, 2, 3});
  const std::vector<std::tuple<std::string, int64_t, std::vector<std::string>, std::string>> all{
      {"LSTM", 4, {"Sigmoid", "Tanh", "Tanh"}, "aten::lstm"},
      {"GRU", 3, {"sigmoid", "tanh"}, "aten::gru"},
      {"RNN", 1, {"Tanh"}, "aten::rnn_tanh"}};
  for (const auto& [op, gates, names, kind] : all) {
    const Tensor w = randn({1, gates * 4, 3}), r = randn({1, gates * 4, 4});
    const jit::Module usual = layer(op, {}), written = layer(op, names);
    EXPECT_TRUE(has(graph_of(written), kind)) << op;
    EXPECT_TRUE(written.forward({x, w, r}).toTensor().equal(usual.forward({x, w, r}).toTensor()));
  }
  const jit::Module other = layer("RNN", {"Sigmoid"});
  EXPECT_FALSE(has(graph_of(other), "aten::rnn_tanh"));
}

TEST(OnnxLayers, NodesMayBeInAnyOrder) {
  ModelMaker m;
  m.input("x").input("c", pb::BOOL).output("y");
  m.node("Add", {"b", "x"}, {"y"});
  auto& branch = m.node("If", {"c"}, {"b"});  // its graphs take `a`, which comes later
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* a = branch.add_attribute();
    a->set_name(name);
    a->set_type(pb::AttributeProto::GRAPH);
    auto* g = a->mutable_g();
    g->set_name(name);
    ModelMaker::add_node(*g, "Neg", {"inner"}, {std::string(name) + "_out"});
    ModelMaker::add_node(*g, name[0] == 't' ? "Exp" : "Abs", {"a"}, {"inner"});
    g->add_output()->set_name(std::string(name) + "_out");
  }
  m.node("Relu", {"x"}, {"a"});
  const Tensor x = randn({4});
  const jit::Module made = m.load();
  EXPECT_TRUE(made.forward({x, full({}, true, TensorOptions(kBool))})
                  .toTensor()
                  .equal(exp(relu(x)).neg() + x));
  EXPECT_TRUE(
      made.forward({x, full({}, false, TensorOptions(kBool))}).toTensor().equal(relu(x).neg() + x));
}

TEST(OnnxLayers, NodesThatNeedOneAnotherAreRefused) {
  ModelMaker m;
  m.input("x").output("y");
  m.node("Add", {"x", "b"}, {"a"});
  m.node("Neg", {"a"}, {"b"});
  m.node("Relu", {"b"}, {"y"});
  EXPECT_TRUE(has(error_of(m.bytes()), "no node before this one makes 'b'"));
}

}  // namespace
}  // namespace tenon::onnx
