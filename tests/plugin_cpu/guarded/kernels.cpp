// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels on inputs that end where memory ends, at sizes that leave remainders of every vector,
// tile and block: the values, of gradients too, are those of inputs elsewhere, and nothing is read
// beyond. Small calls of every operator are fuzz.calls'.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "tests/closed_pages.h"

using namespace tenon;

namespace {

// The same elements, the last one before a closed page.
Tensor at_end_of_memory(const Tensor& t) {
  const auto bytes = static_cast<std::size_t>(t.numel()) * t.element_size();
  auto* const pages = new test::ClosedPages(bytes);
  std::memcpy(pages->end() - bytes, t.contiguous().data_ptr(), bytes);
  return from_blob(
      pages->end() - bytes, t.sizes(), [pages](void*) { delete pages; },
      TensorOptions().dtype(t.scalar_type()));
}

using Inputs = std::vector<Tensor>;

// A library may choose its way by the alignment.
bool near(const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-2, 1e-2); }

// Of the sum of squares; none of results without slopes.
Inputs gradients(const Inputs& values, const std::function<Tensor(const Inputs&)>& f) {
  Inputs leaves;
  for (const Tensor& t : values) leaves.push_back(t.detach().requires_grad_(true));
  const Tensor y = f(leaves);
  return y.requires_grad() ? autograd::grad({(y * y).sum()}, leaves) : Inputs();
}

void check(const char* what, ScalarType dtype, const std::vector<std::vector<int64_t>>& sizes,
           const std::function<Tensor(const Inputs&)>& f) {
  SCOPED_TRACE(core::join(what, " ", dtype_name(dtype)));
  Inputs elsewhere, at_end;
  for (const std::vector<int64_t>& s : sizes) elsewhere.push_back(randn(s, kFloat).to(dtype));
  for (const Tensor& t : elsewhere) at_end.push_back(at_end_of_memory(t));
  EXPECT_TRUE(near(f(at_end), f(elsewhere)));
  const Inputs found = gradients(at_end, f), expected = gradients(elsewhere, f);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(near(found[i], expected[i])) << i;
}

class GuardedKernels : public testing::TestWithParam<ScalarType> {
 protected:
  void SetUp() override { manual_seed(1); }
};

TEST_P(GuardedKernels, Products) {
  for (const int64_t n : {17, 61, 129}) {
    check("mm", GetParam(), {{n, n + 2}, {n + 2, n - 4}},
          [](const Inputs& in) { return in[0].mm(in[1]); });
    check("mm of transposed", GetParam(), {{n + 2, n}, {n - 4, n + 2}},
          [](const Inputs& in) { return in[0].t().mm(in[1].t()); });
    check("linear", GetParam(), {{n, 2 * n + 1}, {n + 3, 2 * n + 1}, {n + 3}},
          [](const Inputs& in) { return linear(in[0], in[1], in[2]); });
    check("bmm", GetParam(), {{3, n, 37}, {3, 37, 19}},
          [](const Inputs& in) { return in[0].bmm(in[1]); });
    check("mv", GetParam(), {{n, n + 2}, {n + 2}},
          [](const Inputs& in) { return in[0].mv(in[1]); });
  }
}

TEST_P(GuardedKernels, Convolutions) {
  check("conv2d 3x3", GetParam(), {{1, 17, 19, 23}, {21, 17, 3, 3}, {21}},
        [](const Inputs& in) { return conv2d(in[0], in[1], in[2], 1, 1); });
  check("conv2d 1x1", GetParam(), {{2, 17, 9, 7}, {13, 17, 1, 1}, {13}},
        [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); });
  check("depthwise", GetParam(), {{1, 19, 17, 13}, {19, 1, 3, 3}, {19}},
        [](const Inputs& in) { return conv2d(in[0], in[1], in[2], 2, 1, 1, 19); });
  check("conv_transpose2d", GetParam(), {{1, 5, 7, 9}, {5, 3, 3, 3}, {3}},
        [](const Inputs& in) { return conv_transpose2d(in[0], in[1], in[2], 2); });
}

TEST_P(GuardedKernels, Rows) {
  for (const int64_t n : {7, 33, 1027}) {
    const auto rows = [&](const char* what, const std::function<Tensor(const Tensor&)>& f) {
      check(what, GetParam(), {{5, n}}, [&](const Inputs& in) { return f(in[0]); });
    };
    rows("softmax", [](const Tensor& x) { return softmax(x, 1); });
    rows("log_softmax of columns", [](const Tensor& x) { return log_softmax(x, 0); });
    rows("sum", [](const Tensor& x) { return x.sum(1); });
    rows("sum of columns", [](const Tensor& x) { return x.sum(0); });
    rows("amax", [](const Tensor& x) { return x.amax(1); });
    rows("argmax", [](const Tensor& x) { return x.argmax(1); });
    rows("sort", [](const Tensor& x) { return std::get<0>(x.sort(1)); });
    rows("topk", [](const Tensor& x) { return std::get<0>(x.topk(3, 1)); });
    rows("cumsum", [](const Tensor& x) { return x.cumsum(1); });
    rows("tanh", [](const Tensor& x) { return x.tanh(); });
    rows("gelu", [](const Tensor& x) { return gelu(x); });
    rows("to", [](const Tensor& x) { return x.to(kDouble); });
    rows("transposed copy", [](const Tensor& x) { return x.t().contiguous(); });
    check("layer_norm", GetParam(), {{5, n}, {n}, {n}},
          [&](const Inputs& in) { return layer_norm(in[0], {n}, in[1], in[2]); });
    check("rms_norm", GetParam(), {{5, n}, {n}},
          [&](const Inputs& in) { return rms_norm(in[0], {n}, in[1]); });
    check("gradient of rms_norm", GetParam(), {{5, n}, {5, n}, {n}}, [&](const Inputs& in) {
      const Tensor rstd = std::get<1>(_fused_rms_norm(in[1], {n}, in[2], 1e-5));
      const auto [dx, dw] = _fused_rms_norm_backward(in[0], in[1], {n}, rstd, in[2], {true, true});
      return dx + dw;
    });
    check("add of a row", GetParam(), {{5, n}, {n}},
          [](const Inputs& in) { return in[0] + in[1]; });
  }
}

TEST_P(GuardedKernels, Images) {
  check("max_pool2d", GetParam(), {{2, 3, 17, 19}},
        [](const Inputs& in) { return max_pool2d(in[0], 3, 2, 1); });
  check("avg_pool2d", GetParam(), {{2, 3, 17, 19}},
        [](const Inputs& in) { return avg_pool2d(in[0], 3, 2, 1); });
  check("upsample", GetParam(), {{1, 3, 9, 11}}, [](const Inputs& in) {
    return upsample_bilinear2d(in[0], IntArrayRef({13, 21}), false);
  });
  check("attention", GetParam(), {{2, 3, 65, 33}, {2, 3, 129, 33}, {2, 3, 129, 33}},
        [](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); });
  check("group_norm", GetParam(), {{2, 6, 7, 9}, {6}, {6}},
        [](const Inputs& in) { return group_norm(in[0], 3, in[1], in[2]); });
}

// Odd numbers of the tiles of pixels that kernels on AMX take, with channels innermost.
TEST(GuardedIntegers, Convolutions) {
  manual_seed(2);
  for (const auto& [height, width, channels, filters, zero] :
       std::vector<std::array<int64_t, 5>>{{6, 6, 96, 40, 3},
                                           {14, 3, 96, 96, 0},
                                           {6, 7, 64, 72, 9},
                                           {28, 28, 128, 64, 5},
                                           {24, 2, 120, 40, 0}}) {
    for (const int64_t window : {1, 3}) {
      const Tensor x = randint(0, 256, {1, height, width, channels}).to(kByte),
                   w = randint(-128, 128, {filters, channels, window, window}).to(kChar),
                   bias = randn({filters}), factor = full({1}, 1e-3f);
      const auto y = [&](const Tensor& images) {
        return _int8_convolution(images.permute({0, 3, 1, 2}), w, bias, factor, {1, 1},
                                 {window / 2, window / 2}, {1, 1}, 1, zero, kByte, 7, true);
      };
      EXPECT_TRUE(y(at_end_of_memory(x)).equal(y(x))) << height << " " << width << " " << window;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, GuardedKernels, testing::Values(kFloat, kDouble, kBFloat16, kHalf),
                         [](const auto& info) { return std::string(toString(info.param)); });

}  // namespace
