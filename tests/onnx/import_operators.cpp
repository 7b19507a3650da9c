// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators beyond the cases of the ONNX project: batches of several, modes that those leave out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "onnx/import/table.h"
#include "tenon/creation.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/support.h"

namespace tenon::onnx {
namespace {

pb::AttributeProto& add(pb::NodeProto& n, const std::string& name,
                        pb::AttributeProto::AttributeType t) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(t);
  return *a;
}
template <class T>
void set_tensor(pb::NodeProto& n, const std::string& name, int type, const std::vector<T>& v) {
  auto* t = add(n, name, pb::AttributeProto::TENSOR).mutable_t();
  t->set_data_type(type);
  t->add_dims(static_cast<int64_t>(v.size()));
  t->set_raw_data(v.data(), v.size() * sizeof(T));
}
void name_value(pb::ValueInfoProto* v, const std::string& name) {
  v->set_name(name);
  v->mutable_type()->mutable_tensor_type()->set_elem_type(pb::FLOAT);
}

TEST(OnnxOperators, ScanOfVersion8GoesOverEachItemOfABatch) {
  ModelMaker m(8);
  m.input("state").input("x").output("last").output("sums");
  auto& scan = m.node("Scan", {"", "state", "x"}, {"last", "sums"});
  set_int(scan, "num_scan_inputs", 1);
  set_ints(scan, "directions", {1});
  auto* body = add(scan, "body", pb::AttributeProto::GRAPH).mutable_g();
  name_value(body->add_input(), "a");
  name_value(body->add_input(), "b");
  ModelMaker::add_node(*body, "Add", {"a", "b"}, {"c"});
  ModelMaker::add_node(*body, "Identity", {"c"}, {"d"});
  name_value(body->add_output(), "c");
  name_value(body->add_output(), "d");
  const Tensor state = rand({3, 2}), x = rand({3, 5, 2});
  const auto out = m.load().forward({state, x}).toTupleRef().items;
  const Tensor sums = state.unsqueeze(1) + x.flip({1}).cumsum(1);
  EXPECT_TRUE(out[1].toTensor().allclose(sums));
  EXPECT_TRUE(out[0].toTensor().allclose(sums.select(1, 4)));
}

// What holds such integers has more bits.
TEST(OnnxOperators, UnsignedIntegersWrap) {
  for (const auto& [type, held, high] :
       {std::tuple{int(pb::UINT16), kInt, int64_t{0xffff}}, {int(pb::UINT32), kLong, 0xffffffff}}) {
    ModelMaker m;
    m.input("a", type).input("b", type).output("y", type);
    m.node("Sub", {"a", "b"}, {"c"});
    m.node("Mul", {"c", "b"}, {"d"});
    m.node("Reshape", {"d", "shape"}, {"e"});
    m.node("Add", {"e", "a"}, {"y"});
    m.ints("shape", {1}, {-1});
    const Tensor a = tensor({3, 5, 0}).to(held), b = tensor({5, 3, 2}).to(held);
    const Tensor c = (a.to(kLong) - b.to(kLong)).bitwise_and(high),
                 d = (c * b.to(kLong)).bitwise_and(high);
    EXPECT_TRUE(
        m.load().forward({a, b}).toTensor().equal((d + a.to(kLong)).bitwise_and(high).to(held)));
  }
}

TEST(OnnxOperators, NgramsAreWeighed) {
  ModelMaker m(9);
  m.input("x", pb::INT64).output("y");
  auto& n = m.node("TfIdfVectorizer", {"x"}, {"y"});
  set_int(n, "min_gram_length", 1);
  set_int(n, "max_gram_length", 2);
  set_int(n, "max_skip_count", int64_t{1} << 60);
  set_text(n, "mode", "IDF");
  set_ints(n, "ngram_counts", {0, 2});
  set_ints(n, "ngram_indexes", {3, 0, 1});
  set_ints(n, "pool_int64s", {7, 9, 7, 8});
  auto& weights = add(n, "weights", pb::AttributeProto::FLOATS);
  for (const float w : {0.5f, 2.0f, 4.0f}) weights.add_floats(w);
  const Tensor x = tensor({7, 7, 1, 8, 9, 9, 9, 9}, TensorOptions(kLong)).reshape({2, 4});
  const Tensor y = m.load().forward({x}).toTensor();
  EXPECT_TRUE(
      y.equal(tensor({0., 4., 0., .5, 2., 0., 0., 0.}, TensorOptions(kFloat)).reshape({2, 4})));
}

TEST(OnnxOperators, FunctionsOfTextsHaveDifferentNames) {
  EXPECT_EQ(texts_with_one_name(), std::vector<std::string>());
}

// x < 2 leads to leaf 0 or 1; NaN goes where the node says.
TEST(OnnxOperators, TreesGiveTheirLeast) {
  ModelMaker m;
  auto* ml = m.model.add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(5);
  m.input("x").output("y");
  auto& n = m.node("TreeEnsemble", {"x"}, {"y"});
  n.set_domain("ai.onnx.ml");
  set_int(n, "aggregate_function", 2);
  set_ints(n, "tree_roots", {0, 1});
  set_ints(n, "nodes_featureids", {0, 1});
  set_tensor<uint8_t>(n, "nodes_modes", pb::UINT8, {1, 3});
  set_tensor<float>(n, "nodes_splits", pb::FLOAT, {2, 5});
  set_ints(n, "nodes_missing_value_tracks_true", {1, 0});
  set_ints(n, "nodes_truenodeids", {0, 2});
  set_ints(n, "nodes_falsenodeids", {1, 3});
  set_ints(n, "nodes_trueleafs", {1, 1});
  set_ints(n, "nodes_falseleafs", {1, 1});
  set_ints(n, "leaf_targetids", {0, 0, 0, 0});
  set_tensor<float>(n, "leaf_weights", pb::FLOAT, {10, 20, 5, 15});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = tensor({1.f, 6.f, 3.f, 5.f, nan, nan}, TensorOptions(kFloat)).reshape({3, 2});
  const Tensor y = m.load().forward({x}).toTensor();
  EXPECT_TRUE(y.equal(tensor({5.f, 15.f, 10.f}, TensorOptions(kFloat)).reshape({3, 1})));
}

TEST(OnnxOperators, TreesThatLeadOutsideAreRefused) {
  ModelMaker m;
  auto* ml = m.model.add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(5);
  m.input("x").output("y");
  auto& n = m.node("TreeEnsemble", {"x"}, {"y"});
  n.set_domain("ai.onnx.ml");
  set_ints(n, "tree_roots", {0});
  set_ints(n, "nodes_featureids", {0});
  set_tensor<uint8_t>(n, "nodes_modes", pb::UINT8, {0});
  set_tensor<float>(n, "nodes_splits", pb::FLOAT, {2});
  set_ints(n, "nodes_truenodeids", {0});
  set_ints(n, "nodes_falsenodeids", {9});
  set_ints(n, "nodes_trueleafs", {1});
  set_ints(n, "nodes_falseleafs", {1});
  set_ints(n, "leaf_targetids", {0});
  set_tensor<float>(n, "leaf_weights", pb::FLOAT, {10});
  EXPECT_TRUE(has(error_of(m.bytes()), "nodes_falsenodeids has 9")) << error_of(m.bytes());
}

TEST(OnnxOperators, GraphsOfFlexAttentionSeeScoresAndProbabilities) {
  ModelMaker m;
  auto* preview = m.model.add_opset_import();
  preview->set_domain("ai.onnx.preview");
  preview->set_version(1);
  m.input("q").input("k").input("v").output("y");
  auto& n = m.node("FlexAttention", {"q", "k", "v"}, {"y"});
  n.set_domain("ai.onnx.preview");
  for (const char* name : {"score_mod", "prob_mod"}) {
    auto* g = add(n, name, pb::AttributeProto::GRAPH).mutable_g();
    name_value(g->add_input(), "s");
    ModelMaker::add_node(*g, std::string(name) == "prob_mod" ? "Neg" : "Abs", {"s"}, {"t"});
    name_value(g->add_output(), "t");
  }
  const Tensor q = randn({1, 4, 3, 8}), k = randn({1, 2, 5, 8}), v = randn({1, 2, 5, 6});
  const Tensor keys = k.repeat_interleave(2, 1), values = v.repeat_interleave(2, 1);
  const Tensor p = (matmul(q, keys.transpose(2, 3)) / std::sqrt(8.0)).abs().softmax(-1);
  EXPECT_TRUE(m.load().forward({q, k, v}).toTensor().allclose(-matmul(p, values), 1e-4, 1e-5));
}

// The sum, which the next layer adds to, is the fourth result.
TEST(OnnxOperators, SkippedNormalizationsGiveStatisticsAndTheSum) {
  for (const bool simplified : {false, true}) {
    ModelMaker m;
    auto* contrib = m.model.add_opset_import();
    contrib->set_domain("com.microsoft");
    contrib->set_version(1);
    m.input("x").input("skip").input("gamma").output("y").output("mean").output("inverse");
    m.output("sum");
    m.node(simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization",
           {"x", "skip", "gamma"}, {"y", "mean", "inverse", "sum"})
        .set_domain("com.microsoft");
    const Tensor x = randn({2, 3, 8}), skip = randn({2, 3, 8}), gamma = rand({8});
    const auto out = m.load().forward({x, skip, gamma}).toTupleRef().items;
    const Tensor sum = x + skip, mean = sum.mean({-1}, true);
    const Tensor centered = simplified ? sum : sum - mean;
    const Tensor inverse = ((centered * centered).mean({-1}, true) + 1e-5).rsqrt();
    EXPECT_TRUE(out[0].toTensor().allclose(centered * inverse * gamma, 1e-4, 1e-5));
    EXPECT_TRUE(out[1].toTensor().allclose(mean, 1e-4, 1e-6));
    EXPECT_TRUE(out[2].toTensor().allclose(inverse, 1e-4, 1e-5));
    EXPECT_TRUE(out[3].toTensor().equal(sum));
  }
}

// ONNX Runtime's models of older versions have it in ONNX's own domain.
TEST(OnnxOperators, LayersAreNormalizedBeforeVersion17) {
  ModelMaker m(14);
  m.input("x").input("gamma").input("beta").output("y");
  m.node("LayerNormalization", {"x", "gamma", "beta"}, {"y"});
  const Tensor x = randn({2, 8}), gamma = rand({8}), beta = rand({8});
  EXPECT_TRUE(m.load()
                  .forward({x, gamma, beta})
                  .toTensor()
                  .allclose(layer_norm(x, {8}, gamma, beta, 1e-5), 1e-4, 1e-5));
}

TEST(OnnxOperators, TheGreatestOfEachBinOfARegion) {
  ModelMaker m(16);
  m.input("x").input("rois").output("y");
  auto& n = m.node("MaxRoiPool", {"x", "rois"}, {"y"});
  set_ints(n, "pooled_shape", {2, 2});
  auto* scale = n.add_attribute();
  scale->set_name("spatial_scale");
  scale->set_type(pb::AttributeProto::FLOAT);
  scale->set_f(0.5f);
  const Tensor x = arange(32, TensorOptions(kFloat)).reshape({1, 2, 4, 4});
  const Tensor rois = tensor({0., 2., 0., 6., 6.}, TensorOptions(kFloat)).reshape({1, 5});
  const Tensor y = m.load().forward({x, rois}).toTensor();
  const Tensor first = tensor({6., 7., 14., 15.}, TensorOptions(kFloat)).reshape({1, 1, 2, 2});
  EXPECT_TRUE(y.equal(cat({first, first + 16}, 1)));
}

// 5 * 0.7 is 3.5 in float32, as torchvision and ONNX Runtime compute it, and less in double.
TEST(OnnxOperators, RegionsAreRoundedInFloat32) {
  ModelMaker m(16);
  m.input("x").input("rois").output("y");
  auto& n = m.node("MaxRoiPool", {"x", "rois"}, {"y"});
  set_ints(n, "pooled_shape", {2, 2});
  add(n, "spatial_scale", pb::AttributeProto::FLOAT).set_f(0.7f);
  const Tensor x = arange(64, TensorOptions(kFloat)).reshape({1, 1, 8, 8});
  const Tensor rois = tensor({0., 0., 0., 5., 6.}, TensorOptions(kFloat)).reshape({1, 5});
  const Tensor y = m.load().forward({x, rois}).toTensor().reshape({4});
  EXPECT_TRUE(y.equal(tensor({18., 20., 34., 36.}, TensorOptions(kFloat)))) << y;
}

// Two boxes without an area share nothing, though the ratio of their areas is not a number.
TEST(OnnxOperators, BoxesWithoutAnAreaSuppressNone) {
  ModelMaker m(13);
  m.input("boxes").input("scores").output("chosen");
  auto& most = m.node("Constant", {}, {"most"});
  set_tensor<int64_t>(most, "value", pb::INT64, {3});
  auto& bound = m.node("Constant", {}, {"bound"});
  set_tensor<float>(bound, "value", pb::FLOAT, {0.5f});
  m.node("NonMaxSuppression", {"boxes", "scores", "most", "bound"}, {"chosen"});
  const Tensor boxes = tensor({0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 5.0, 1.0, 1.0, 2.0, 2.0}, kFloat);
  const Tensor scores = tensor({0.9, 0.8, 0.7}, kFloat).view({1, 1, 3});
  const Tensor chosen = m.load().forward({boxes.view({1, 3, 4}), scores}).toTensor();
  EXPECT_TRUE(chosen.equal(tensor({0, 0, 0, 0, 0, 1, 0, 0, 2}, kInt64).view({3, 3}))) << chosen;
}

TEST(OnnxOperators, ANumberIsOnePlace) {
  ModelMaker m(13);
  m.input("x").output("y", pb::INT64);
  m.node("NonZero", {"x"}, {"y"});
  const jit::Module made = m.load();
  EXPECT_EQ(made.forward({tensor(2.f)}).toTensor().sizes(), IntArrayRef({1, 1}));
  EXPECT_EQ(made.forward({tensor(0.f)}).toTensor().sizes(), IntArrayRef({1, 0}));
}

TEST(OnnxOperators, ProductsOfIntegersOf16Bits) {
  ModelMaker m;
  auto* contrib = m.model.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  m.input("a", pb::INT16).input("b", pb::INT16).output("y", pb::INT32);
  m.node("MatMulInteger16", {"a", "b"}, {"y"}).set_domain("com.microsoft");
  const Tensor a = tensor({1000, -2000}, TensorOptions(kShort)).reshape({1, 2});
  const Tensor b = tensor({3000, 40}, TensorOptions(kShort)).reshape({2, 1});
  const Tensor y = m.load().forward({a, b}).toTensor();
  EXPECT_EQ(y.scalar_type(), kInt);
  EXPECT_EQ(y.item<int>(), 2920000);
}

// Lists of alpha and beta have entries only for activations that take them.
TEST(OnnxOperators, ActivationsTakeWhatTheyNeed) {
  const Tensor x = randn({4, 2, 3}), w = randn({2, 5, 3}), r = randn({2, 5, 5});
  const auto run = [&](const std::string& direction, std::vector<std::string> activations,
                       const Tensor& a, const Tensor& b) {
    ModelMaker m;
    m.input("x").input("w").input("r").output("y");
    auto& n = m.node("RNN", {"x", "w", "r"}, {"y"});
    set_int(n, "hidden_size", 5);
    set_text(n, "direction", direction);
    auto& names = add(n, "activations", pb::AttributeProto::STRINGS);
    for (const auto& f : activations) names.add_strings(f);
    add(n, "activation_alpha", pb::AttributeProto::FLOATS).add_floats(0.3f);
    return m.load().forward({x, a, b}).toTensor();
  };
  const Tensor both = run("bidirectional", {"Tanh", "LeakyRelu"}, w, r);
  const Tensor back = run("reverse", {"LeakyRelu"}, w.narrow(0, 1, 1), r.narrow(0, 1, 1));
  EXPECT_TRUE(both.narrow(1, 1, 1).allclose(back, 1e-4, 1e-5));
}

TEST(OnnxOperators, SqueezeOverNoAxesTakesAll) {
  ModelMaker m;
  m.input("x").output("y").ints("axes", {0}, {});
  m.node("Squeeze", {"x", "axes"}, {"y"});
  EXPECT_EQ(m.load().forward({rand({1, 3, 1, 2})}).toTensor().sizes(), IntArrayRef({3, 2}));
}

// As ONNX Runtime takes a split by one number, which is what torch writes for unbind.
TEST(OnnxOperators, ASplitByOneMayDropItsDimension) {
  ModelMaker m(17);
  auto* one = m.graph->add_initializer();
  one->set_name("one");
  one->set_data_type(pb::INT64);
  one->add_int64_data(1);
  m.input("x").output("y");
  set_int(m.node("SplitToSequence", {"x", "one"}, {"parts"}), "keepdims", 0);
  set_int(m.node("ConcatFromSequence", {"parts"}, {"y"}), "axis", 0);
  const Tensor x = arange(6, kFloat).view({3, 2});
  EXPECT_TRUE(m.load().forward({x}).toTensor().equal(x.view({6})));
}

// Until version 13 the number of results says so, though nobody uses them; torch writes five.
TEST(OnnxOperators, BatchNormalizationWithSeveralResultsTrains) {
  const Tensor x = randn({4, 2, 3}) + 1, s = tensor({2.0, 3.0}), b = tensor({1.0, 0.0}),
               v = tensor({4.0, 4.0});
  for (const int opset : {7, 9, 13}) {
    ModelMaker m(opset);
    m.floats("s", {2}, {2, 3}), m.floats("b", {2}, {1, 0}), m.floats("v", {2}, {4, 4});
    m.input("x").output("y").output("m").output("w");
    m.node("BatchNormalization", {"x", "s", "b", "b", "v"}, {"y", "m", "w", "c", "d"});
    const auto out = m.load().forward({x}).toTuple()->elements();
    const Tensor mean = x.mean({0, 2}), var = x.var({0, 2}, false);
    EXPECT_TRUE(out[0].toTensor().allclose(batch_norm(x, s, b, mean, var, false, 0, 1e-5, false),
                                           1e-4, 1e-5));
    EXPECT_TRUE(out[1].toTensor().allclose(b * 0.9 + mean * 0.1, 1e-4, 1e-5));
    EXPECT_TRUE(out[2].toTensor().allclose(v * 0.9 + var * 0.1, 1e-4, 1e-5));
  }
  ModelMaker m(9);  // results without names are none
  m.floats("s", {2}, {2, 3}), m.floats("b", {2}, {1, 0}), m.floats("v", {2}, {4, 4});
  m.input("x").output("y");
  m.node("BatchNormalization", {"x", "s", "b", "b", "v"}, {"y", "", "", "", ""});
  EXPECT_TRUE(m.load().forward({x}).toTensor().allclose(
      batch_norm(x, s, b, b, v, false, 0, 1e-5, false), 1e-4, 1e-5));
}

// As that of torch's norm, from which exporters write it.
TEST(OnnxOperators, TheNormOfNothingHasAGradient) {
  ModelMaker m(18);
  m.ints("axes", {1}, {1}), m.input("x").output("y");
  m.node("ReduceL2", {"x", "axes"}, {"y"});
  Tensor x = zeros({2, 2});
  x[1] += 3;
  x.requires_grad_();
  m.load().forward({x}).toTensor().sum().backward();
  EXPECT_TRUE(x.grad().select(0, 0).equal(zeros({2}))) << x.grad();
  EXPECT_TRUE(x.grad().select(0, 1).allclose(full({2}, std::sqrt(0.5)), 1e-5, 1e-6));
}

// Evaluation has three results.
TEST(OnnxOperators, OutputsThatNobodyUsesNeedNotBeComputed) {
  for (const bool used : {false, true}) {
    ModelMaker m(6);
    m.floats("s", {2}, {2, 3}), m.floats("b", {2}, {1, 0}), m.floats("v", {2}, {1, 1});
    m.input("x").output("y");
    set_int(m.node("BatchNormalization", {"x", "s", "b", "b", "v"},
                   {used ? "n" : "y", "m", "w", "c", "d"}),
            "is_test", 1);
    if (used) m.node("Sum", {"n", "d"}, {"y"});
    const Tensor x = arange(4, kFloat).view({2, 2});
    if (used)
      EXPECT_TRUE(has(error_of<NotImplementedError>(m.bytes()), "'d' is an output of a node"));
    else
      EXPECT_TRUE(m.load().forward({x}).toTensor().allclose(
          (x - tensor({1.0, 0.0})) * tensor({2.0, 3.0}) + tensor({1.0, 0.0}), 1e-4, 1e-4));
  }
}

TEST(OnnxOperators, ARangeThatEndsBeforeItBeginsIsEmpty) {
  ModelMaker m;
  m.input("a", pb::INT64).input("b", pb::INT64).output("y", pb::INT64);
  m.ints("one", {}, {1});
  m.node("Range", {"a", "b", "one"}, {"y"});
  const jit::Module made = m.load();
  EXPECT_EQ(made.forward({full({}, 5, kLong), full({}, 2, kLong)}).toTensor().numel(), 0);
  EXPECT_EQ(made.forward({full({}, 2, kLong), full({}, 5, kLong)}).toTensor().numel(), 3);
}

TEST(OnnxOperators, TheLeastOfBytesMayBeZero) {
  ModelMaker m;
  m.input("x", pb::UINT8).output("y", pb::INT64);
  set_int(m.node("ArgMin", {"x"}, {"y"}), "keepdims", 0);
  const Tensor x = tensor({3, 0, 7}, TensorOptions(kLong)).to(kByte);
  EXPECT_EQ(m.load().forward({x}).toTensor().item<int64_t>(), 1);
}

// Also in archives and models, which torch and others read: no loops over sizes, no numbers of
// either kind.
TEST(OnnxOperators, TheGreatestOfNothingIsTheLeastNumber) {
  ModelMaker m;
  m.input("x").output("y");
  set_ints(m.node("ReduceMax", {"x"}, {"y"}), "axes", {-1});
  const jit::Module model = m.load();
  std::ostringstream out;
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}, {1, "columns"}}}};
  onnx::export_(model, {randn({2, 3})}, out, options);
  const jit::Module back = onnx::load_bytes(out.str());
  for (const int64_t columns : {4, 0}) {
    const Tensor x = randn({5, columns});
    const Tensor want = columns == 0 ? full({5, 1}, -INFINITY) : x.amax({1}, true);
    EXPECT_TRUE(equal(model.forward({x}).toTensor(), want));
    if (columns > 0) {
      EXPECT_TRUE(equal(back.forward({x}).toTensor(), want));
    }
  }
}

// max(rows - 2, 0), as torch writes sym_max, where a slice begins.
TEST(OnnxOperators, TheGreaterOfTwoSizesIsASize) {
  ModelMaker m;
  m.input("x").output("y");
  m.ints("zero", {}, {0});
  m.ints("two", {}, {2});
  m.ints("any", {1}, {-1});
  m.ints("end", {1}, {INT64_MAX});
  m.ints("axis", {1}, {0});
  m.node("Shape", {"x"}, {"sizes"});
  m.node("Gather", {"sizes", "zero"}, {"rows"});
  m.node("Sub", {"rows", "two"}, {"rest"});
  m.node("Max", {"rest", "zero"}, {"at"});
  m.node("Reshape", {"at", "any"}, {"start"});
  m.node("Slice", {"x", "start", "end", "axis"}, {"y"});
  const jit::Module model = m.load();
  std::ostringstream out;
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  onnx::export_(model, {randn({5, 3})}, out, options);
  for (const int64_t rows : {5, 7, 1}) {
    const Tensor x = randn({rows, 3}), want = x.slice(0, std::max<int64_t>(rows - 2, 0));
    EXPECT_TRUE(equal(model.forward({x}).toTensor(), want));
    EXPECT_TRUE(equal(onnx::load_bytes(out.str()).forward({x}).toTensor(), want));
  }
}

TEST(OnnxOperators, LogarithmsOfIntegersAreIntegers) {
  ModelMaker m;
  m.input("x", pb::INT32).output("y", pb::INT32).output("z", pb::INT32);
  m.node("ReduceLogSum", {"x"}, {"y"});
  m.node("ReduceLogSumExp", {"x"}, {"z"});
  const auto out = m.load().forward({tensor({3, 4, 14}, TensorOptions(kInt))}).toTupleRef().items;
  EXPECT_EQ(out[0].toTensor().scalar_type(), kInt);
  EXPECT_EQ(out[1].toTensor().scalar_type(), kInt);
  EXPECT_EQ(out[0].toTensor().item<int>(), 3);
  EXPECT_EQ(out[1].toTensor().item<int>(), 14);
}

// Scale and shift are expanded to the sizes of the input.
TEST(OnnxOperators, LayersAreScaledByWhatExpands) {
  const Tensor x = randn({2, 3, 4}), normal = layer_norm(x, {4}, {}, {}, 1e-5);
  ModelMaker one(17);
  one.input("x").output("y").floats("scale", {1}, {2});
  one.floats("shift", {1}, {3});
  one.node("LayerNormalization", {"x", "scale", "shift"}, {"y"});
  EXPECT_TRUE(one.load().forward({x}).toTensor().allclose(normal * 2 + 3, 1e-4, 1e-5));
  ModelMaker more(17);
  more.input("x").input("scale").input("shift").output("y");
  more.node("LayerNormalization", {"x", "scale", "shift"}, {"y"});
  const Tensor scale = rand({2, 1, 4}), shift = rand({3, 4});
  EXPECT_TRUE(more.load()
                  .forward({x, scale, shift})
                  .toTensor()
                  .allclose(normal * scale + shift, 1e-4, 1e-5));
}

TEST(OnnxOperators, ASignalWithoutADimensionOfParts) {
  ModelMaker m;
  m.input("x").output("y").output("z").ints("step", {}, {3});
  m.ints("length", {}, {8});
  m.node("STFT", {"x", "step", "", "length"}, {"y"});
  m.node("Identity", {"x"}, {"z"});
  const Tensor x = randn({2, 20});
  const Tensor y = m.load().forward({x}).toTupleRef().items[0].toTensor();
  EXPECT_TRUE(y.allclose(view_as_real(fft_rfft(x.unfold(1, 8, 3))), 1e-4, 1e-5));
}

// As ONNX Runtime: what adds nothing need not have the sizes of the others.
TEST(OnnxOperators, NothingIsJoinedWhateverItsSizes) {
  ModelMaker m;
  m.input("x").output("y").floats("none", {5, 0, 7}, {});
  m.floats("flat", {0}, {});
  set_int(m.node("Concat", {"none", "x", "flat", "x"}, {"y"}), "axis", 1);
  const Tensor x = randn({2, 3, 4});
  EXPECT_TRUE(m.load().forward({x}).toTensor().equal(cat({x, x}, 1)));
}

// 5 * 2.6 is 13 in float32, and less in double, as 2.6 of float32 is less.
TEST(OnnxOperators, SizesByScalesAreThoseOfFloat32) {
  ModelMaker m;
  m.input("x").output("y").floats("scales", {4}, {1, 1, 2.6f, 2});
  m.node("Resize", {"x", "", "scales"}, {"y"});
  EXPECT_EQ(m.load().forward({rand({1, 2, 5, 3})}).toTensor().sizes(), IntArrayRef({1, 2, 13, 6}));
}

// Element 6 lies at 6.5 / 2.6 - 0.5, which is 2 in float32.
TEST(OnnxOperators, NearestElementsAreThoseOfFloat32) {
  ModelMaker m;
  m.input("x").output("y").floats("scales", {1}, {2.6f});
  set_text(m.node("Resize", {"x", "", "scales"}, {"y"}), "nearest_mode", "ceil");
  const Tensor y = m.load().forward({arange(5, kFloat)}).toTensor();
  EXPECT_EQ(y[6].item<float>(), 2);
}

TEST(OnnxOperators, ImagesOfIntegersAreResizedInFloats) {
  for (const bool antialias : {false, true}) {
    ModelMaker m;
    m.input("x", pb::INT8).output("y", pb::INT8).ints("sizes", {4}, {1, 1, 1, 2});
    auto& n = m.node("Resize", {"x", "", "", "sizes"}, {"y"});
    set_text(n, "mode", "linear");
    set_int(n, "antialias", antialias);
    const Tensor x = tensor({10, 20, 30, 45}, TensorOptions(kInt)).to(kChar).view({1, 1, 1, 4});
    const Tensor y = m.load().forward({x}).toTensor();
    EXPECT_EQ(y.scalar_type(), kChar);
    const auto expected = antialias ? std::vector<int64_t>{16, 36} : std::vector<int64_t>{15, 37};
    EXPECT_TRUE(y.reshape({2}).equal(tensor(expected, TensorOptions(kLong)).to(kChar))) << y;
  }
}

TEST(OnnxOperators, IntegersAreResizedToTheNearest) {
  for (const auto& [type, dtype] : {std::pair(pb::INT8, kChar), {pb::INT32, kInt}}) {
    ModelMaker m(19);
    m.input("x", type).output("y", type);
    m.floats("scales", {4}, {1, 1, 1, 2});
    auto& n = m.node("Resize", {"x", "", "scales"}, {"y"});
    set_text(n, "coordinate_transformation_mode", "asymmetric");
    set_text(n, "nearest_mode", "floor");
    const Tensor x = tensor({-3, 7}, TensorOptions(kInt)).to(dtype).view({1, 1, 1, 2});
    EXPECT_TRUE(m.load().forward({x}).toTensor().equal(x.repeat_interleave(2, 3)));
  }
}

TEST(OnnxOperators, PlacesOfAGridMayHaveAnotherDtype) {
  ModelMaker m(20);
  m.input("x").input("grid", pb::DOUBLE).output("y");
  m.node("GridSample", {"x", "grid"}, {"y"});
  const Tensor x = rand({2, 3, 4, 5}), grid = rand({2, 6, 7, 2}) * 2 - 1;
  const Tensor y = m.load().forward({x, grid.to(kDouble)}).toTensor();
  EXPECT_EQ(y.scalar_type(), kFloat);
  EXPECT_TRUE(y.allclose(grid_sampler(x, grid, 0, 0, false), 1e-4, 1e-5));
}

TEST(OnnxOperators, AnInstanceOfOneElementIsItsBias) {
  ModelMaker m(17);
  m.input("x").input("scale").input("bias").output("y");
  m.node("InstanceNormalization", {"x", "scale", "bias"}, {"y"});
  const Tensor bias = rand({3});
  const Tensor y = m.load().forward({rand({2, 3, 1, 1}), rand({3}), bias}).toTensor();
  EXPECT_TRUE(y.allclose(bias.reshape({1, 3, 1, 1}).expand({2, 3, 1, 1}), 1e-5, 1e-3));
}

TEST(OnnxOperators, DeformedConvolutionsArePaddedOnOneSide) {
  ModelMaker m(19);
  m.input("x").input("w").input("offset").output("y");
  set_ints(m.node("DeformConv", {"x", "w", "offset"}, {"y"}), "pads", {1, 0, 0, 2});
  const Tensor x = randn({1, 2, 5, 5}), w = randn({3, 2, 2, 2});
  const Tensor y = m.load().forward({x, w, zeros({1, 8, 5, 6})}).toTensor();
  EXPECT_TRUE(y.allclose(conv2d(constant_pad_nd(x, {0, 2, 1, 0}, 0), w), 1e-4, 1e-5));
}

}  // namespace
}  // namespace tenon::onnx
