// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft, as optimized and quantized models have them.
#include <gtest/gtest.h>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/onnx/support.h"

namespace tenon::onnx {
namespace {

class Contrib : public ModelMaker {
 public:
  Contrib() {
    auto* contrib = model.add_opset_import();
    contrib->set_domain("com.microsoft");
    contrib->set_version(1);
  }
  pb::NodeProto& call(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    auto& n = node(op, inputs, outputs);
    n.set_domain("com.microsoft");
    return n;
  }
};
void set_float(pb::NodeProto& n, const std::string& name, float v) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(pb::AttributeProto::FLOAT);
  a->set_f(v);
}
Tensor bytes(const std::vector<int64_t>& v, IntArrayRef sizes) {
  return tensor(v, TensorOptions(kLong)).to(kByte).reshape(sizes);
}
Tensor scalar(double v) { return full({}, v, kFloat); }
Tensor small(int64_t v) { return full({}, v, kByte); }
std::vector<Tensor> results(const jit::Module& m, const std::vector<IValue>& inputs) {
  const IValue out = m.forward(inputs);
  std::vector<Tensor> all;
  if (out.isTensor()) return {out.toTensor()};
  for (const IValue& v : out.toTupleRef().items) all.push_back(v.toTensor());
  return all;
}

// Two rows of three weights; a block has room for 16, so that the last 13 are padding.
TEST(OnnxContrib, WeightsOfFourBitsAreUnpacked) {
  const Tensor packed = cat({bytes({0x51, 0x0f, 0, 0, 0, 0, 0, 0}, {1, 1, 8}),
                             bytes({0x88, 0x03, 0, 0, 0, 0, 0, 0}, {1, 1, 8})});
  const Tensor codes = tensor({1., 5., 15., 8., 8., 3.}, kFloat).view({2, 3});
  const Tensor scales = tensor({0.5, 2.0}, kFloat), x = randn({2, 4, 3}), bias = randn({2});
  for (const bool zeros : {false, true}) {
    Contrib m;
    m.input("x").input("b", pb::UINT8).input("s").input("z", pb::UINT8).input("bias").output("y");
    auto& n = m.call("MatMulNBits", {"x", "b", "s", zeros ? "z" : "", "", "bias"}, {"y"});
    for (const auto& [name, v] : std::map<std::string, int64_t>{
             {"K", 3}, {"N", 2}, {"bits", 4}, {"block_size", 16}, {"accuracy_level", 4}})
      set_int(n, name, v);
    const Tensor zero = zeros ? tensor({7., 2.}, kFloat) : full({2}, 8, kFloat);
    const Tensor w = (codes - zero.unsqueeze(1)) * scales.unsqueeze(1);
    const Tensor y =
        m.load().forward({x, packed, scales, bytes({0x07, 0x02}, {2}), bias}).toTensor();
    EXPECT_TRUE(y.allclose(matmul(x, w.t()) + bias, 1e-5, 1e-5));
  }
}

TEST(OnnxContrib, RowsOfPackedTablesAreGathered) {
  Contrib m;
  m.input("x", pb::UINT8).input("i", pb::INT64).input("s").output("y");
  auto& n = m.call("GatherBlockQuantized", {"x", "i", "s"}, {"y"});
  set_int(n, "block_size", 2);
  set_int(n, "bits", 4);
  set_int(n, "quantize_axis", 1);
  const Tensor scales = tensor({1., 2., 3., 4.}, kFloat).view({2, 2});
  const Tensor index = tensor({1, 0, 1}, TensorOptions(kLong)).view({3, 1});
  const Tensor y =
      m.load().forward({bytes({0x98, 0x0a, 0x7f, 0x86}, {2, 2}), index, scales}).toTensor();
  const Tensor rows = tensor({0., 1., 4., -16., 21., -3., -8., 0.}, kFloat).view({2, 4});
  EXPECT_TRUE(y.equal(rows.index_select(0, index.view({3})).view({3, 1, 4}))) << y;
}

TEST(OnnxContrib, QuantizedOperatorsAroundFloats) {
  const Tensor a = bytes({10, 200, 31, 4}, {2, 2}), b = bytes({7, 90, 255, 0}, {2, 2});
  const auto real = [](const Tensor& q, double scale, int64_t zero) {
    return (q.to(kFloat) - static_cast<double>(zero)) * scale;
  };
  const auto coded = [](const Tensor& y, double scale, int64_t zero) {
    return (y / scale).round().add(static_cast<double>(zero)).clamp(0, 255).to(kByte);
  };
  const Tensor x = real(a, 0.25, 3), w = real(b, 0.5, 8);
  for (const bool adds : {true, false}) {
    Contrib m;
    m.input("a", pb::UINT8).input("b", pb::UINT8);
    m.input("as").input("az", pb::UINT8).input("bs").input("bz", pb::UINT8);
    m.input("ys").input("yz", pb::UINT8).output("y", pb::UINT8);
    m.call(adds ? "QLinearAdd" : "QLinearMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"},
           {"y"});
    const Tensor y =
        m.load()
            .forward({a, b, scalar(0.25), small(3), scalar(0.5), small(8), scalar(2), small(20)})
            .toTensor();
    EXPECT_TRUE(y.equal(coded(adds ? x + w : x * w, 2, 20))) << y;
  }
  Contrib m;
  m.input("a", pb::UINT8).input("b", pb::UINT8);
  m.input("as").input("az", pb::UINT8).input("bs").input("bz", pb::UINT8).input("bias");
  for (const char* name : {"product", "average", "joined", "gemm"}) m.output(name);
  m.call("MatMulIntegerToFloat", {"a", "b", "as", "bs", "az", "bz", "bias"}, {"product"});
  m.call("QLinearSigmoid", {"a", "as", "az", "as", "az"}, {"average"});
  m.call("QLinearConcat", {"bs", "bz", "a", "as", "az", "b", "bs", "bz"}, {"joined"});
  auto& gemm = m.call("QGemm", {"a", "as", "az", "b", "bs", "bz"}, {"gemm"});
  set_int(gemm, "transB", 1);
  const Tensor bias = randn({2});
  const auto y = results(m.load(), {a, b, scalar(0.25), small(3), scalar(0.5), small(8), bias});
  EXPECT_TRUE(y[0].allclose(matmul(x, w) + bias, 1e-5, 1e-5));
  EXPECT_TRUE(y[1].equal(coded(sigmoid(x), 0.25, 3)));
  EXPECT_TRUE(y[2].equal(cat({coded(x, 0.5, 8), coded(w, 0.5, 8)}, 1)));
  EXPECT_TRUE(y[3].allclose(matmul(x, w.t()), 1e-5, 1e-5));
}

TEST(OnnxContrib, AttentionOfQuantizedInputs) {
  Contrib q, f;
  q.input("x", pb::UINT8).input("w", pb::INT8).input("b").input("xs").input("ws");
  q.input("xz", pb::UINT8).input("wz", pb::INT8).output("y");
  set_int(q.call("QAttention", {"x", "w", "b", "xs", "ws", "", "xz", "wz"}, {"y"}), "num_heads", 2);
  f.input("x").input("w").input("b").output("y");
  set_int(f.call("Attention", {"x", "w", "b"}, {"y"}), "num_heads", 2);
  const Tensor x = randint(0, 255, {2, 3, 8}).to(kByte), w = randint(-9, 9, {8, 24}).to(kChar);
  const Tensor b = randn({24}), zero = full({}, 2, kChar);
  const Tensor y =
      q.load().forward({x, w, b, scalar(0.02), scalar(0.05), small(120), zero}).toTensor();
  const Tensor expected =
      f.load().forward({(x.to(kFloat) - 120) * 0.02, (w.to(kFloat) - 2) * 0.05, b}).toTensor();
  EXPECT_TRUE(y.allclose(expected, 1e-4, 1e-5));
}

TEST(OnnxContrib, QuantizedChoicesAndShares) {
  Contrib m;
  m.input("c", pb::BOOL).input("a", pb::UINT8).input("b", pb::UINT8);
  m.input("s").input("z", pb::UINT8).input("t").output("y", pb::UINT8).output("p", pb::UINT8);
  m.call("QLinearWhere", {"c", "a", "s", "z", "b", "t", "z", "s", "z"}, {"y"});
  m.call("QLinearSoftmax", {"a", "s", "z", "t", ""}, {"p"});
  const Tensor c = tensor({1, 0}, TensorOptions(kInt)).to(kBool).view({2, 1});
  const Tensor a = bytes({10, 20, 31, 4}, {2, 2}), b = bytes({7, 90, 25, 0}, {2, 2});
  const auto y = results(m.load(), {c, a, b, scalar(0.25), small(3), scalar(0.5)});
  const Tensor wide = ((b.to(kFloat) - 3) * 2 + 3).clamp(0, 255).to(kByte);
  EXPECT_TRUE(y[0].equal(where(c, a, wide))) << y[0];
  EXPECT_TRUE(y[1].equal((((a.to(kFloat) - 3) * 0.25).softmax(-1) / 0.5).round().to(kByte)));
}

// Codes of NF4, the first of a byte in its upper bits.
TEST(OnnxContrib, WeightsOfNormalFloats) {
  Contrib m;
  m.input("x").input("b", pb::UINT8).input("s").output("y");
  auto& n = m.call("MatMulBnb4", {"x", "b", "s"}, {"y"});
  for (const auto& [name, v] :
       std::map<std::string, int64_t>{{"K", 2}, {"N", 2}, {"block_size", 2}, {"quant_type", 1}})
    set_int(n, name, v);
  const Tensor w = tensor({-2.0, 2.0, 0.0, 3.0}, kFloat).view({2, 2}), x = randn({3, 2});
  const Tensor y =
      m.load().forward({x, bytes({0x0f, 0x7f}, {2}), tensor({2.0, 3.0}, kFloat)}).toTensor();
  EXPECT_TRUE(y.allclose(matmul(x, w.t()), 1e-5, 1e-5));
}

TEST(OnnxContrib, ProductsWithOtherOrders) {
  Contrib m;
  m.input("a").input("b").input("c").output("y").output("z");
  set_int(m.call("FusedMatMul", {"a", "b"}, {"y"}), "transBatchA", 1);
  auto& gemm = m.call("FusedGemm", {"c", "c", ""}, {"z"});
  set_int(gemm, "transB", 1);
  set_text(gemm, "activation", "LeakyRelu");
  set_float(gemm, "activation_alpha", 0.25f);
  const Tensor a = randn({5, 3, 4}), b = randn({5, 4, 2}), c = randn({3, 4});
  const auto y = results(m.load(), {a.transpose(0, 1).contiguous(), b, c});
  EXPECT_TRUE(y[0].allclose(matmul(a, b), 1e-4, 1e-5));
  EXPECT_TRUE(y[1].allclose(leaky_relu(matmul(c, c.t()), 0.25), 1e-4, 1e-5));
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {  // [heads, steps, width]
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(2)));
  return matmul((matmul(q, k.transpose(1, 2)) * scale).softmax(-1), v);
}
Tensor heads(const Tensor& x, int64_t n) { return x.view({x.size(0), n, -1}).transpose(0, 1); }

TEST(OnnxContrib, KeysOfAnotherAttentionHaveTheirHeads) {
  Contrib m;
  m.input("q").input("k").input("v").input("packed").output("y").output("z");
  set_int(m.call("MultiHeadAttention", {"q", "k", "v"}, {"y"}), "num_heads", 2);
  set_int(m.call("MultiHeadAttention", {"packed"}, {"z"}), "num_heads", 2);
  const Tensor q = randn({1, 3, 8}), k = randn({1, 2, 5, 4}), v = randn({1, 2, 5, 4});
  const Tensor packed = randn({1, 3, 2, 3, 4});
  const auto y = results(m.load(), {q, k, v, packed});
  const Tensor expected = attend(heads(q[0], 2), k[0], v[0]).transpose(0, 1).reshape({1, 3, 8});
  EXPECT_TRUE(y[0].allclose(expected, 1e-4, 1e-5));
  const Tensor p = packed[0].permute({2, 1, 0, 3});
  const Tensor own = attend(p[0], p[1], p[2]).transpose(0, 1).reshape({1, 3, 8});
  EXPECT_TRUE(y[1].allclose(own, 1e-4, 1e-5));
}

TEST(OnnxContrib, MasksOfAttentionAreEndsAndStarts) {
  Contrib m;
  m.input("x").input("w").input("b").input("mask", pb::INT32).output("y");
  auto& n = m.call("Attention", {"x", "w", "b", "mask"}, {"y"});
  set_int(n, "num_heads", 2);
  const Tensor x = randn({2, 4, 8}), w = randn({8, 24}), b = randn({24});
  const Tensor y =
      m.load().forward({x, w, b, tensor({4, 3, 1, 0}, TensorOptions(kInt))}).toTensor();
  const Tensor all = matmul(x, w) + b;
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t begin = i == 0 ? 1 : 0, length = 3;
    const auto part = [&](int64_t k) { return all[i].narrow(1, 8 * k, 8); };
    const auto valid = [&](int64_t k) { return heads(part(k).narrow(0, begin, length), 2); };
    const Tensor expected = attend(heads(part(0), 2), valid(1), valid(2));
    EXPECT_TRUE(y[i].allclose(expected.transpose(0, 1).reshape({4, 8}), 1e-4, 1e-5));
  }
}

// The second item has two keys of four; its new one goes behind them.
TEST(OnnxContrib, ItemsOfABatchHaveKeysOfTheirOwnNumber) {
  for (const bool sink : {false, true}) {
    Contrib m;
    m.input("q").input("k").input("v").input("pk").input("pv").input("n", pb::INT32);
    m.input("total", pb::INT32).input("sink").output("y").output("nk").output("nv");
    std::vector<std::string> inputs{"q", "k", "v", "pk", "pv", "n", "total"};
    if (sink) inputs.insert(inputs.end(), {"", "", "", "", "sink"});
    auto& n = m.call("GroupQueryAttention", inputs, {"y", "nk", "nv"});
    set_int(n, "num_heads", 2);
    set_int(n, "kv_num_heads", 2);
    const Tensor q = randn({2, 1, 8}), k = randn({2, 1, 8}), v = randn({2, 1, 8});
    const Tensor pk = randn({2, 2, 4, 4}), pv = randn({2, 2, 4, 4}), last = randn({2});
    const auto y = results(
        m.load(), {q, k, v, pk, pv, tensor({4, 2}, TensorOptions(kInt)), full({}, 5, kInt), last});
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t past = i == 0 ? 4 : 2;
      const Tensor keys = cat({pk[i].narrow(1, 0, past), heads(k[i], 2)}, 1);
      const Tensor values = cat({pv[i].narrow(1, 0, past), heads(v[i], 2)}, 1);
      EXPECT_TRUE(y[1][i].narrow(1, 0, past + 1).equal(keys));
      Tensor scores = matmul(heads(q[i], 2), keys.transpose(1, 2)) * 0.5;
      if (sink) scores = cat({scores, last.view({2, 1, 1})}, 2);
      const Tensor p = scores.softmax(-1).narrow(2, 0, past + 1);
      EXPECT_TRUE(y[0][i].allclose(matmul(p, values).view({1, 8}), 1e-4, 1e-5));
    }
  }
}

TEST(OnnxContrib, DeviationsOfNormalizationsWithoutMeans) {
  ModelMaker m(14);
  m.input("x").input("scale").output("y").output("inverse");
  m.node("SimplifiedLayerNormalization", {"x", "scale"}, {"y", "inverse"});
  const Tensor x = randn({2, 3, 8}), scale = rand({8});
  const auto y = results(m.load(), {x, scale});
  const Tensor inverse = ((x * x).mean({-1}, true) + 1e-5).rsqrt();
  EXPECT_TRUE(y[0].allclose(x * inverse * scale, 1e-4, 1e-5));
  EXPECT_TRUE(y[1].allclose(inverse, 1e-4, 1e-5));
}

// The values are those of ONNX Runtime.
TEST(OnnxContrib, BoxesAreCroppedAndResized) {
  const Tensor x = arange(12, kFloat).reshape({1, 1, 3, 4});
  const Tensor boxes = tensor({0.f, 0.f, 1.f, 1.f, 0.25f, -0.5f, 0.75f, 0.5f}, kFloat).view({2, 4});
  Contrib m;
  m.input("x").input("r").input("of", pb::INT32).output("y");
  m.ints("size", {2}, {2, 3});
  set_float(m.call("CropAndResize", {"x", "r", "of", "size"}, {"y"}), "extrapolation_value", -1);
  const Tensor y = m.load().forward({x, boxes, zeros({2}, kInt)}).toTensor();
  const Tensor want =
      tensor({0., 1.5, 3., 8., 9.5, 11., -1., 2., 3.5, -1., 6., 7.5}, kFloat).view({2, 1, 2, 3});
  EXPECT_TRUE(allclose(y, want));
}

TEST(OnnxContrib, UniqueElementsAreInTheirOrder) {
  Contrib m;
  m.input("x").output("y").output("at", pb::INT64).output("n", pb::INT64);
  m.call("Unique", {"x"}, {"y", "at", "n"});
  const auto all = results(m.load(), {tensor({3., 1., 3., 2.}, kFloat)});
  EXPECT_TRUE(all.at(0).equal(tensor({3., 1., 2.}, kFloat)));
  EXPECT_TRUE(all.at(1).equal(tensor({0, 1, 0, 2}, kLong)));
  EXPECT_TRUE(all.at(2).equal(tensor({2, 1, 1}, kLong)));
}

TEST(OnnxContrib, ImagesWhoseChannelsAreLastArePooled) {
  Contrib m;
  m.input("x", pb::UINT8).output("y", pb::UINT8);
  auto& n = m.call("NhwcMaxPool", {"x"}, {"y"});
  set_ints(n, "kernel_shape", {2, 2});
  set_ints(n, "strides", {2, 1});
  const Tensor x = randint(0, 255, {2, 4, 5, 3}).to(kByte);
  const Tensor y = m.load().forward({x}).toTensor();
  const Tensor want =
      max_pool2d(x.to(kFloat).movedim(-1, 1), {2, 2}, {2, 1}).movedim(1, -1).to(kByte);
  EXPECT_TRUE(y.equal(want));
}

// Of each row the experts that the router says, by hand.
TEST(OnnxContrib, RowsGoThroughTheirExperts) {
  constexpr int64_t kExperts = 4, kIn = 5, kInner = 3;
  const Tensor x = randn({2, 3, kIn}), router = randn({6, kExperts});
  const Tensor w1 = randn({kExperts, 2 * kInner, kIn}), b1 = randn({kExperts, 2 * kInner});
  const Tensor w2 = randn({kExperts, kIn, kInner}), b2 = randn({kExperts, kIn});
  Contrib m;
  for (const char* name : {"x", "p", "w1", "b1", "w2", "b2"}) m.input(name);
  m.output("y");
  auto& n = m.call("MoE", {"x", "p", "w1", "b1", "w2", "b2"}, {"y"});
  set_text(n, "activation_type", "swiglu");
  for (const char* name : {"normalize_routing_weights", "swiglu_fusion"}) set_int(n, name, 1);
  set_int(n, "k", 2);
  set_float(n, "swiglu_limit", 1.0F);
  set_float(n, "activation_beta", 1.0F);
  const Tensor y = m.load().forward({x, router, w1, b1, w2, b2}).toTensor();
  ASSERT_EQ(y.sizes(), x.sizes());
  for (int64_t row = 0; row < 6; ++row) {
    const auto [top, at] = topk(softmax(router[row], 0), 2);
    Tensor want = zeros({kIn});
    for (int64_t k = 0; k < 2; ++k) {
      const auto e = at[k].item<int64_t>();
      const Tensor all = matmul(w1[e], x.reshape({6, kIn})[row]) + b1[e];
      const Tensor pairs = all.reshape({kInner, 2});
      const Tensor gate = clamp_max(pairs.select(1, 0), 1.0);
      const Tensor inner = silu(gate) * (clamp(pairs.select(1, 1), -1.0, 1.0) + 1.0);
      want = want + (matmul(w2[e], inner) + b2[e]) * top[k] / top.sum();
    }
    EXPECT_TRUE(allclose(y.reshape({6, kIn})[row], want, 1e-4, 1e-5)) << "row " << row;
  }
}

}  // namespace
}  // namespace tenon::onnx
