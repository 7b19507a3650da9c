// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized models whose weights, scales and zero points are in the file: the integers by their
// definition in double, as the model is and as it is optimized. Scales are powers of two, so that
// sums in float32 are exact, too.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "support.h"
#include "tenon/jit/export_program.h"
#include "tenon/jit/freeze.h"
#include "tenon/onnx/export.h"

namespace tenon::onnx {
namespace {

using Sizes = std::vector<int64_t>;

int type_of(const Tensor& t) {
  static const std::map<ScalarType, int> types{
      {kFloat, pb::FLOAT}, {kByte, pb::UINT8}, {kChar, pb::INT8}, {kInt, pb::INT32}};
  return types.at(t.scalar_type());
}

class Model : public ModelMaker {
 public:
  Model() {
    auto* o = model.add_opset_import();
    o->set_domain("com.microsoft");
    o->set_version(1);
  }
  Model& with(const std::string& name, const Tensor& t) {
    auto* made = graph->add_initializer();
    made->set_name(name);
    made->set_data_type(type_of(t));
    for (const int64_t d : t.sizes()) made->add_dims(d);
    const Tensor dense = t.contiguous();
    made->set_raw_data(
        std::string(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()));
    return *this;
  }
  // NAME_s and NAME_z.
  Model& step(const std::string& name, double scale, int64_t zero, ScalarType dtype = kByte) {
    with(name + "_s", full({}, scale, kFloat));
    return with(name + "_z", full({}, zero, dtype));
  }
};

Tensor bytes(const Sizes& sizes) { return randint(0, 256, sizes).to(kByte); }
Tensor signed_bytes(const Sizes& sizes) { return randint(-128, 128, sizes).to(kChar); }
Tensor real(const Tensor& q, double scale, int64_t zero) { return (q.to(kDouble) - zero) * scale; }
Tensor coded(const Tensor& real, double scale, int64_t zero) {
  return ((real / scale).round() + zero).clamp(0, 255).to(kByte);
}

int count(const jit::Module& m, const std::string& kind) {
  int n = 0;
  for (const jit::Node* node : m.get_method("forward").graph()->block()->nodes())
    n += node->kind() == kind;
  return n;
}

// As it is and optimized, where it has so many layers of integers.
void expect_result(const Model& m, const Tensor& x, const Tensor& wanted, int layers,
                   const std::string& kind = "tenon_quantized::convolution") {
  const jit::Module plain = m.load();
  const jit::Module fast = jit::optimize_for_inference(jit::freeze(plain));
  EXPECT_EQ(count(fast, kind), layers) << fast.get_method("forward").graph()->str();
  for (const jit::Module* each : {&plain, &fast}) {
    const Tensor y = jit::Module(*each).forward({x}).toTensor();
    EXPECT_EQ(y.sizes(), wanted.sizes());
    EXPECT_TRUE(y.is_floating_point() ? y.allclose(wanted.to(kFloat), 1e-5, 1e-5)
                                      : y.equal(wanted.to(y.scalar_type())))
        << (each == &plain ? "as it is: " : "optimized: ")
        << y.to(kDouble).sub(wanted.to(kDouble)).abs().max().item<double>();
  }
}

Tensor powers(int64_t n) { return pow(0.5, arange(n).remainder(4) + 7).to(kFloat); }

TEST(OnnxQuantized, Convolutions) {
  manual_seed(0);
  const Tensor x = bytes({2, 6, 9, 8}), w = signed_bytes({10, 6, 3, 3}), s = powers(10),
               b = randint(-3000, 3000, {10}).to(kInt);
  const Tensor units = (s.to(kDouble) * 0.25).reshape({10, 1, 1});
  for (const bool symmetric : {true, false}) {
    Model m;
    m.input("x", pb::UINT8).output("y", pb::UINT8);
    m.step("x", 0.25, 99).step("y", 2, 120);
    m.with("w", w).with("w_s", s).with("w_z", zeros({10}, kChar)).with("b", b);
    auto& n =
        m.node("QLinearConv", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"}, {"y"});
    set_ints(n, "pads", symmetric ? Sizes{1, 1, 1, 1} : Sizes{1, 0, 2, 1});
    set_ints(n, "strides", {2, 1});
    Tensor padded = x.to(kDouble) - 99;
    padded = constant_pad_nd(padded, symmetric ? Sizes{1, 1, 1, 1} : Sizes{0, 1, 1, 2});
    const Tensor y = (conv2d(padded, w.to(kDouble), b.to(kDouble), {2, 1})) * units;
    expect_result(m, x, coded(y, 2, 120), symmetric ? 1 : 0);
  }
}

// One operator, whose padding is known: other formats take it.
TEST(OnnxQuantized, ConvolutionsThatGiveSums) {
  manual_seed(12);
  const Tensor x = bytes({2, 6, 9, 8}), w = signed_bytes({10, 6, 3, 3}),
               z = randint(-5, 5, {10}).to(kChar);
  for (const bool padded : {false, true}) {
    Model m;
    m.input("x", pb::UINT8).output("y", pb::INT32);
    m.with("x_z", full({}, 99, kByte)).with("w", w).with("w_z", z);
    auto& n = m.node("ConvInteger", {"x", "w", "x_z", "w_z"}, {"y"});
    if (padded) set_ints(n, "pads", {1, 1, 1, 1});
    const Tensor y =
        conv2d(x.to(kDouble) - 99, w.to(kDouble) - z.to(kDouble).reshape({10, 1, 1, 1}),
               std::nullopt, {1}, {padded ? 1 : 0});
    expect_result(m, x, y, 1, "aten::convolution");
  }
}

TEST(OnnxQuantized, ProductsOfMatrices) {
  manual_seed(1);
  const Tensor x = bytes({2, 3, 24}), w = signed_bytes({24, 7});
  Model m;
  m.input("x", pb::UINT8).output("y", pb::UINT8);
  m.step("x", 0.5, 130).step("y", 64, 100);
  m.with("w", w).step("w", 0.25, 0, kChar);
  m.node("QLinearMatMul", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z"}, {"y"});
  const Tensor y = matmul(real(x, 0.5, 130), real(w, 0.25, 0));
  expect_result(m, x, coded(y, 64, 100), 1, "tenon_quantized::product");
}

// The form in which tools leave most models: layers of floats between steps.
TEST(OnnxQuantized, LayersBetweenSteps) {
  manual_seed(2);
  const Tensor x = bytes({1, 8, 10, 10}), w = signed_bytes({12, 8, 3, 3}), s = powers(12),
               b = randint(-3000, 3000, {12}).to(kInt);
  Model m;
  m.input("x", pb::UINT8).output("y", pb::UINT8);
  m.step("x", 0.25, 99).step("y", 2, 0);
  m.with("w", w).with("w_s", s).with("b", b).with("b_s", s * 0.25);
  m.node("DequantizeLinear", {"x", "x_s", "x_z"}, {"rx"});
  set_int(m.node("DequantizeLinear", {"w", "w_s"}, {"rw"}), "axis", 0);
  set_int(m.node("DequantizeLinear", {"b", "b_s"}, {"rb"}), "axis", 0);
  m.node("Conv", {"rx", "rw", "rb"}, {"c"});
  m.node("Relu", {"c"}, {"r"});
  m.node("QuantizeLinear", {"r", "y_s", "y_z"}, {"q"});
  m.node("DequantizeLinear", {"q", "y_s", "y_z"}, {"rq"});
  set_ints(m.node("MaxPool", {"rq"}, {"p"}), "kernel_shape", {2, 2});
  m.node("QuantizeLinear", {"p", "y_s", "y_z"}, {"y"});
  const Tensor sums = conv2d(x.to(kDouble) - 99, w.to(kDouble), b.to(kDouble));
  const Tensor y = coded((sums * s.to(kDouble).reshape({12, 1, 1}) * 0.25).relu(), 2, 0);
  expect_result(m, x, max_pool2d(y.to(kDouble), 2, 1), 1);
}

// Zero points of either side, for all rows or columns or for each, change the sums exactly.
TEST(OnnxQuantized, SumsOfIntegers) {
  manual_seed(3);
  for (const bool sign : {true, false}) {
    const Tensor w = sign ? signed_bytes({16, 5}) : bytes({16, 5});
    const ScalarType type = w.scalar_type();
    for (const Tensor& w_zero : {Tensor(), full({}, 7, type), arange(5).to(type)}) {
      for (const Tensor& x_zero : {Tensor(), full({}, 130, kByte), arange(4).to(kByte)}) {
        const bool rows = x_zero.defined() && x_zero.dim() == 1;
        const Tensor x = rows ? bytes({4, 16}) : bytes({2, 3, 16});
        Model m;
        m.input("x", pb::UINT8).output("y", pb::INT32);
        m.with("w", w);
        if (w_zero.defined()) m.with("w_z", w_zero);
        if (x_zero.defined()) m.with("x_z", x_zero);
        m.node("MatMulInteger",
               {"x", "w", x_zero.defined() ? "x_z" : "", w_zero.defined() ? "w_z" : ""}, {"y"});
        const auto less = [](const Tensor& q, const Tensor& zero, bool of_rows) {
          if (!zero.defined()) return q.to(kDouble);
          return q.to(kDouble) - (of_rows ? zero.unsqueeze(-1) : zero).to(kDouble);
        };
        const Tensor wanted = matmul(less(x, x_zero, rows), less(w, w_zero, false)).to(kInt);
        EXPECT_TRUE(m.load().forward({x}).toTensor().equal(wanted))
            << toString(type) << " " << w_zero << " " << x_zero;
      }
    }
  }
}

TEST(OnnxQuantized, ProductsToFloats) {
  manual_seed(4);
  const Tensor x = bytes({3, 16}), w = signed_bytes({16, 5}), bias = randn({5});
  Model m;
  m.input("x", pb::UINT8).output("y");
  m.step("x", 0.5, 9).with("w", w).with("bias", bias);
  m.with("w_s", powers(5)).with("w_z", zeros({5}, kChar));
  m.node("MatMulIntegerToFloat", {"x", "w", "x_s", "w_s", "x_z", "w_z", "bias"}, {"y"})
      .set_domain("com.microsoft");
  const Tensor y = matmul(real(x, 0.5, 9), w.to(kDouble)) * powers(5).to(kDouble) + bias;
  expect_result(m, x, y, 0);

  const Tensor f = randn({3, 16});
  Model d, parts;
  d.input("x").output("y");
  d.with("w", w).with("w_s", powers(5)).with("bias", bias);
  d.node("DynamicQuantizeMatMul", {"x", "w", "w_s", "", "bias"}, {"y"}).set_domain("com.microsoft");
  parts.input("x").output("q", pb::UINT8).output("s").output("z", pb::UINT8);
  parts.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  const auto q = parts.load().forward({f}).toTuple()->elements();
  const Tensor wanted =
      matmul(q[0].toTensor().to(kDouble) - q[2].toTensor().to(kDouble), w.to(kDouble)) *
          q[1].toTensor().to(kDouble) * powers(5) +
      bias;
  expect_result(d, f, wanted, 0);
}

TEST(OnnxQuantized, LinearLayersAndTheirNeighbors) {
  manual_seed(5);
  const Tensor x = bytes({4, 16}), w = signed_bytes({6, 16}),
               b = randint(-2000, 2000, {6}).to(kInt);
  Model m;
  m.input("x", pb::UINT8).output("y", pb::UINT8);
  m.step("x", 0.5, 9).step("g", 32, 120);
  m.step("w", 0.25, 0, kChar).step("y", 16, 60).with("w", w).with("b", b);
  auto& gemm = m.node("QGemm", {"x", "x_s", "x_z", "w", "w_s", "w_z", "b", "g_s", "g_z"}, {"g"});
  gemm.set_domain("com.microsoft");
  set_int(gemm, "transB", 1);
  m.node("QLinearAdd", {"g", "g_s", "g_z", "g", "g_s", "g_z", "y_s", "y_z"}, {"a"})
      .set_domain("com.microsoft");
  set_int(m.node("QLinearConcat", {"y_s", "y_z", "a", "y_s", "y_z", "g", "g_s", "g_z"}, {"y"}),
          "axis", 1);
  m.graph->mutable_node(2)->set_domain("com.microsoft");
  const Tensor sums = matmul(real(x, 0.5, 9), real(w, 0.25, 0).t()) + b.to(kDouble) * 0.125;
  const Tensor g = real(coded(sums, 32, 120), 32, 120);
  expect_result(m, x, cat({coded(g + g, 16, 60), coded(g, 16, 60)}, 1), 1,
                "tenon_quantized::product");
}

// Weights of uint8 around another number than 128 are raised by what int8 lacks.
TEST(OnnxQuantized, ConvolutionsOfIntegers) {
  manual_seed(13);
  const Tensor spread = bytes({8, 4, 3, 3});
  const Tensor each = randint(-9, 9, {8});
  struct Case {
    Tensor w, zero;
    int64_t groups;
    int layers;
  };
  const Case cases[] = {{signed_bytes({8, 4, 3, 3}), full({}, 0, kChar), 1, 1},
                        {spread, full({}, 121, kByte), 1, 1},
                        {spread, full({1}, 0, kByte), 1, 1},
                        {spread.narrow(1, 0, 2), full({}, 133, kByte), 2, 1},
                        {spread.narrow(1, 0, 1), full({}, 133, kByte), 4, 1},
                        {spread.select(3, 0), full({}, 255, kByte), 1, 1},
                        {randint(-100, 100, {8, 4, 3, 3}).to(kChar), each.to(kChar), 1, 1},
                        {signed_bytes({8, 4, 3, 3}), (each * 14).to(kChar), 1, 0}};
  for (const Case& c : cases) {
    const int64_t space = c.w.dim() - 2;
    const Tensor x = bytes(space == 2 ? Sizes{2, 4, 7, 6} : Sizes{2, 4, 9});
    for (const int64_t zero : {0, 99}) {
      Model m;
      m.input("x", pb::UINT8).output("y", pb::INT32);
      m.with("x_z", full({1}, zero, kByte)).with("w", c.w).with("w_z", c.zero);
      auto& n = m.node("ConvInteger", {"x", "w", "x_z", "w_z"}, {"y"});
      set_ints(n, "pads", Sizes(static_cast<std::size_t>(2 * space), 1));
      set_int(n, "group", c.groups);
      Tensor w_zero = c.zero.to(kDouble);
      if (w_zero.numel() > 1) w_zero = w_zero.reshape({8, 1, 1, 1});
      const Sizes ones(static_cast<std::size_t>(space), 1), none(static_cast<std::size_t>(space));
      const Tensor wanted =
          tenon::convolution(x.to(kDouble) - zero, c.w.to(kDouble) - w_zero, std::nullopt, ones,
                             ones, ones, false, none, c.groups);
      expect_result(m, x, wanted, c.layers, "tenon_quantized::integer_convolution");
    }
  }
}

// As many tools write them for weights of uint8.
TEST(OnnxQuantized, WeightsAroundAnyZeroPoint) {
  manual_seed(15);
  const Tensor x = bytes({2, 6, 9, 8}), b = randint(-3000, 3000, {12}).to(kInt);
  for (const int64_t groups : {1, 2, 6}) {
    const Tensor w = bytes({12, 6 / groups, 3, 3});
    Model m;
    m.input("x", pb::UINT8).output("y", pb::UINT8);
    m.step("x", 0.25, 99).step("w", 0.125, 121).step("y", 4, 120).with("w", w).with("b", b);
    auto& n =
        m.node("QLinearConv", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"}, {"y"});
    set_ints(n, "pads", {1, 1, 1, 1});
    set_int(n, "group", groups);
    const Tensor y = tenon::convolution(x.to(kDouble) - 99, w.to(kDouble) - 121, b.to(kDouble),
                                        {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, groups) *
                     (0.25 * 0.125);
    expect_result(m, x, coded(y, 4, 120), 1, "tenon_quantized::shifted_convolution");
  }
}

TEST(OnnxQuantized, MatricesAroundAnyZeroPoint) {
  manual_seed(16);
  const Tensor x = bytes({2, 3, 24}), w = bytes({24, 7});
  for (const int64_t zero : {0, 121, 255}) {
    Model m;
    m.input("x", pb::UINT8).output("y", pb::UINT8);
    m.step("x", 0.5, 130).step("y", 64, 100).step("w", 0.25, zero).with("w", w);
    m.node("QLinearMatMul", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z"}, {"y"});
    const Tensor y = matmul(real(x, 0.5, 130), real(w, 0.25, zero));
    expect_result(m, x, coded(y, 64, 100), 1, "tenon_quantized::shifted_product");
  }
}

// The zero point of the input is computed, as dynamic quantization does it.
TEST(OnnxQuantized, ConvolutionsOfDynamicIntegers) {
  manual_seed(14);
  const Tensor x = randn({2, 4, 7, 6}), w = bytes({160, 4, 9, 9});  // not folded: too large
  Model m, parts;
  m.input("x").output("y", pb::INT32);
  m.with("w", w).with("w_z", full({}, 119, kByte));
  m.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  set_ints(m.node("ConvInteger", {"q", "w", "z", "w_z"}, {"y"}), "pads", {4, 4, 4, 4});
  parts.input("x").output("q", pb::UINT8).output("s").output("z", pb::UINT8);
  parts.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  const auto q = parts.load().forward({x}).toTuple()->elements();
  const Tensor wanted = conv2d(q[0].toTensor().to(kDouble) - q[2].toTensor().to(kDouble),
                               w.to(kDouble) - 119, std::nullopt, 1, 4);
  expect_result(m, x, wanted, 1, "tenon_quantized::integer_convolution");
}

// Weights are written as bytes, whichever the format, and read as layers of integers again.
TEST(OnnxQuantized, AreWrittenAsBytes) {
  manual_seed(6);
  const Tensor x = bytes({1, 8, 10, 10}), w = signed_bytes({64, 8, 3, 3}), s = powers(64);
  Model m;
  m.input("x", pb::UINT8).output("y", pb::UINT8);
  m.step("x", 0.25, 99).step("y", 2, 120).with("w", w).with("w_s", s);
  m.with("w_z", zeros({64}, kChar)).with("b", randint(-3000, 3000, {64}).to(kInt));
  m.node("QLinearConv", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"}, {"y"});
  const jit::Module read = m.load();
  const Tensor y = jit::Module(read).forward({x}).toTensor();
  const std::string folder = ::testing::TempDir() + "tenon_quantized.";
  read.save(folder + "pt");
  jit::export_program(read, {x}, folder + "pt2");
  onnx::export_(read, {x}, folder + "onnx");
  for (const char* format : {"pt", "pt2", "onnx"}) {
    const std::string path = folder + format;
    EXPECT_LT(std::filesystem::file_size(path), 4 * w.nbytes()) << format;
    const jit::Module again = std::string(format) == "onnx" ? load(path) : jit::load(path);
    const jit::Module fast = jit::optimize_for_inference(jit::freeze(again));
    EXPECT_EQ(count(fast, "tenon_quantized::convolution"), 1) << format;
    for (const jit::Module* each : {&again, &fast})
      EXPECT_TRUE(jit::Module(*each).forward({x}).toTensor().equal(y)) << format;
    std::filesystem::remove(path);
  }
}

// Else a backend would bring them into its own layout in every call.
TEST(OnnxQuantized, WeightsMayBeKeptInOtherLayouts) {
  Model m;
  m.input("x").output("y");
  m.with("w", randn({64, 64})).with("q", signed_bytes({64, 64}));
  m.node("MatMul", {"x", "w"}, {"r"});
  set_int(m.node("Cast", {"q"}, {"f"}), "to", pb::FLOAT);
  m.node("MatMul", {"r", "f"}, {"y"});
  const jit::Module read = m.load();
  std::vector<Tensor> all = read.parameters();
  for (const Tensor& t : read.buffers()) all.push_back(t);
  EXPECT_EQ(all.size(), 2U);
  for (const Tensor& t : all)
    EXPECT_EQ(t.unsafeGetTensorImpl()->storage->head.flags & TN_STORAGE_EXPOSED, 0U) << t.sizes();
}

TEST(OnnxQuantized, ProductsOfBytesAreWrittenAsSuch) {
  const Tensor x = bytes({3, 16});
  Model m;
  m.input("x", pb::UINT8).output("y", pb::INT32);
  m.with("w", signed_bytes({16, 5}));
  m.node("MatMulInteger", {"x", "w"}, {"y"});
  const jit::Module read = m.load();
  const std::string path = ::testing::TempDir() + "tenon_product_of_bytes.onnx";
  onnx::export_(read, {x}, path);
  EXPECT_TRUE(load(path).forward({x}).toTensor().equal(jit::Module(read).forward({x}).toTensor()));
  pb::ModelProto written;
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(written.ParseFromIstream(&file));
  int products = 0;
  for (const auto& n : written.graph().node()) products += n.op_type() == "MatMulInteger";
  EXPECT_EQ(products, 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon::onnx
