// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex tensors, which are pairs in models; Fourier transforms; numbers that are drawn.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

jit::Module of_pairs(const std::string& result) {
  return define_of_x("    z = torch.view_as_complex(x)\n" + result);
}

std::string exported_18(const jit::Module& m, const Tensor& x, bool dynamic = false) {
  onnx::ExportOptions options;
  options.opset = 18;
  if (dynamic) options.dynamic_axes = {{"x", {{0, "batch"}}}};
  std::ostringstream out;
  onnx::export_(m, {x}, out, options);
  return out.str();
}
void expect_close_relative(const jit::Module& a, const jit::Module& b, const Tensor& x) {
  const Tensor got = a.forward({x}).toTensor(), expected = b.forward({x}).toTensor();
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LE((got - expected).abs().max().item<float>(),
            1e-5 * expected.abs().max().item<float>() + 1e-6);
}

TEST(OnnxExportComplex, TransformsAreWritten) {
  manual_seed(5);
  const Tensor x = randn({3, 8, 6, 2});
  for (const char* result :
       {"    return torch.view_as_real(torch.fft_fft(z, None, 1))\n",
        "    return torch.view_as_real(torch.fft_ifft(z, 5, -1, \"ortho\"))\n",
        "    return torch.view_as_real(torch.fft_rfft(x, 3, 2, \"forward\"))\n",
        "    return torch.fft_irfft(torch.fft_rfft(x, None, 1), 7, 1)\n",
        "    return torch.fft_irfft(z, 12, 1, \"ortho\")\n",
        "    return torch.fft_irfft(z, 3, 1, \"forward\")\n", "    return torch.fft_hfft(z, 9)\n",
        "    return torch.view_as_real(torch.fft_ihfft(x, None, 1))\n",
        "    return torch.view_as_real(torch.fft_fftn(z, None, [1, 2], \"ortho\"))\n",
        "    return torch.view_as_real(torch.fft_rfft2(x, [4, 5], [1, 2]))\n",
        "    return torch.fft_irfft2(z, [8, 6], [1, 2], \"ortho\")\n",
        "    return torch.fft_fft(z).abs()\n"}) {
    SCOPED_TRACE(result);
    const jit::Module m = of_pairs(result);
    expect_close_relative(onnx::load_bytes(exported_18(m, x)), m, x);
    const jit::Module any = onnx::load_bytes(exported_18(m, x, true));
    expect_close_relative(any, m, x);
    expect_close_relative(any, m, randn({5, 8, 6, 2}));
  }
}

TEST(OnnxExportComplex, WindowsOfASignalAreTransformed) {
  manual_seed(6);
  const Tensor x = randn({2, 64});
  for (const char* arguments :
       {"16, None, None, torch.hann_window(16), return_complex=True",
        "16, 5, 10, torch.hann_window(10), False, \"reflect\", True, None, True",
        "16, 3, None, None, True, \"constant\", False, False, True"}) {
    SCOPED_TRACE(arguments);
    jit::Module m("__torch__.Program");
    m.define(
        "def forward(self, x: Tensor) -> Tensor:\n    return torch.view_as_real(torch.stft(x, " +
        std::string(arguments) + "))\n");
    const jit::Module any = onnx::load_bytes(exported_18(m, x, true));
    expect_close_relative(any, m, x);
    expect_close_relative(any, m, randn({3, 64}));
  }
}

TEST(OnnxExportComplex, SignalsAreMadeOfTheirWindows) {
  manual_seed(9);
  const Tensor x = randn({2, 64});
  for (const char* arguments :
       {"16, None, None, torch.hann_window(16)", "16, 5, 12, torch.hann_window(12), True, True",
        "16, 4, None, None, False", "16, None, None, torch.hann_window(16), True, False, None, 50",
        "16, None, None, torch.hann_window(16), True, False, None, 80"}) {
    SCOPED_TRACE(arguments);
    const std::string windows = std::string(arguments).substr(0, 6) == "16, 5," ? "5, 12" : "4, 16";
    jit::Module m("__torch__.Program");
    m.define("def forward(self, x: Tensor) -> Tensor:\n    z = torch.stft(x, 16, " + windows +
             ", return_complex=True)\n    return torch.istft(z, " + std::string(arguments) + ")\n");
    const jit::Module any = onnx::load_bytes(exported_18(m, x, true));
    expect_close_relative(any, m, x);
    expect_close_relative(any, m, randn({3, 64}));
  }
}

TEST(OnnxExportComplex, ArithmeticAndViewsOfPairs) {
  manual_seed(7);
  const Tensor x = rand({2, 3, 4, 2}) + 0.5;
  for (const char* value :
       {"z * z + 2", "z / (z + 1)", "1 / z", "z * x[..., 0]", "torch.conj(z) - z", "torch.exp(z)",
        "torch.matmul(z, z.transpose(1, 2))", "z[:, 1:, ::2]", "z.permute([2, 0, 1]).flatten(1)",
        "torch.cat([z, z * 2], 1)", "torch.stack(torch.split(z, 2, 2), 1)", "z.sum(1)",
        "torch.polar(x[..., 0], x[..., 1])", "torch.complex(x[..., 1], x[..., 0])",
        "x[..., 0].to(torch.complex64) * z", "z.view([6, 4]).unsqueeze(0).expand([2, 6, 4])",
        "torch.constant_pad_nd(z, [1, 2])"}) {
    SCOPED_TRACE(value);
    const jit::Module m =
        of_pairs("    return torch.view_as_real(" + std::string(value) + ").contiguous()\n");
    expect_close_relative(onnx::load_bytes(exported_18(m, x)), m, x);
  }
  const jit::Module parts = of_pairs("    return torch.real(z) * torch.imag(z) + torch.angle(z)\n");
  expect_close_relative(onnx::load_bytes(exported_18(parts, x)), parts, x);
}

TEST(OnnxExportComplex, WhatHasNoPairsIsRefused) {
  const Tensor x = ones({3, 2});
  const auto refusal = [&](const char* result) {
    return test::text_of([&] { exported_18(of_pairs(result), x); });
  };
  test::expect_words(refusal("    return torch.real(torch.tanh(z))\n"),
                     {"aten::tanh", "complex tensor", "view_as_real"});
  test::expect_words(refusal("    return z\n"), {"the result", "complex tensor", "view_as_real"});
  jit::Module m("__torch__.Program");
  m.define("def forward(self, x: Tensor) -> Tensor:\n    return torch.view_as_real(x * 2)\n");
  test::expect_words(test::text_of([&] { exported_18(m, view_as_complex(x)); }),
                     {"argument 'x' is complex", "view_as_complex"});
  test::expect_words(
      test::text_of([&] {
        exported_18(of_pairs("    return torch.fft_irfft(torch.fft_rfft(x, None, 0), None, 0)\n"),
                    x, true);
      }),
      {"aten::fft_irfft", "size varies"});
}

TEST(OnnxExportRandom, NumbersAreDrawnWhenTheModelRuns) {
  jit::Module m("__torch__.Program");
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    p = (x > 0).to(torch.float32)
    low = torch.rand([x.size(0), 50]).mean() + torch.rand_like(x).mean() - 1
    wide = torch.randn([1000]).std() + torch.randint(3, 5, [1000]).to(torch.float32).mean() - 4.5
    one = torch.multinomial(p + 1e-9, 1).to(torch.float32)
    return torch.cat([torch.bernoulli(p) - p, torch.bernoulli(x, 1.0) - 1, one - 1,
                      (low.abs() > 0.2).to(torch.float32).view(1, 1).expand([x.size(0), 1]),
                      (wide.abs() > 0.2).to(torch.float32).view(1, 1).expand([x.size(0), 1])], 1)
)");
  const Tensor x = tensor({-1.0, 1.0}, kFloat).view({1, 2}).expand({40, 2}).contiguous();
  const jit::Module back = onnx::load_bytes(exported_18(m, x, true));
  manual_seed(8);
  const Tensor y = back.forward({x}).toTensor();
  EXPECT_EQ(y.sizes(), IntArrayRef({40, 7}));
  EXPECT_EQ(y.abs().max().item<float>(), 0) << y;
}

}  // namespace
