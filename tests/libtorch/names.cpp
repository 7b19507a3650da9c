// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small names of libtorch, and what they mean here.
#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

namespace {

template <class T>
std::string printed(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

TEST(Names, PrintedKinds) {
  EXPECT_EQ(printed(torch::kStrided), "Strided");
  EXPECT_EQ(printed(torch::MemoryFormat::ChannelsLast), "ChannelsLast");
  EXPECT_EQ(printed(torch::Scalar(2.5)), "2.5");
  EXPECT_EQ(printed(torch::Scalar(int64_t{-3})), "-3");
  EXPECT_EQ(printed(torch::Scalar(true)), "true");
  EXPECT_EQ(printed(torch::dtype(torch::kDouble).requires_grad(true)),
            "TensorOptions(dtype=double, device=cpu (default), layout=Strided (default), "
            "requires_grad=true, pinned_memory=false (default), memory_format=(nullopt))");
}

TEST(Names, PrintedNodes) {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto y = x * 2;
  std::ostringstream address;
  address << static_cast<const void*>(y.grad_fn().get());
  EXPECT_EQ(printed(y.grad_fn()), address.str());
  EXPECT_EQ(printed(x.grad_fn()), "0");
}

TEST(Names, DtypesByTheirBits) {
  EXPECT_EQ(torch::kF32, torch::kFloat);
  EXPECT_EQ(torch::kI64, torch::kLong);
  EXPECT_EQ(torch::kU8, torch::kByte);
  EXPECT_EQ(c10::promoteTypes(torch::kInt, torch::kHalf), torch::kHalf);
  EXPECT_EQ(at::promoteTypes(torch::kInt, torch::kLong), torch::kLong);
}

TEST(Names, LimitsOfFloatsOf16Bits) {
  using H = std::numeric_limits<at::Half>;
  using B = std::numeric_limits<c10::BFloat16>;
  static_assert(H::is_specialized && B::is_specialized && !H::is_integer && B::has_infinity);
  EXPECT_EQ(static_cast<float>(H::lowest()), -65504.0f);
  EXPECT_EQ(static_cast<float>(H::max()), 65504.0f);
  EXPECT_EQ(static_cast<float>(H::min()), std::ldexp(1.0f, H::min_exponent - 1));
  EXPECT_EQ(static_cast<float>(H::epsilon()), std::ldexp(1.0f, 1 - H::digits));
  EXPECT_EQ(static_cast<float>(B::epsilon()), std::ldexp(1.0f, 1 - B::digits));
  EXPECT_EQ(static_cast<float>(B::denorm_min()), std::ldexp(1.0f, -133));
  EXPECT_EQ(static_cast<float>(B::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(static_cast<float>(H::quiet_NaN())));
  EXPECT_EQ(H::digits10 + H::max_digits10 + B::digits10 + B::max_digits10, 3 + 5 + 2 + 4);
}

TEST(Names, ChecksOfTwoValues) {
  TORCH_CHECK_EQ(1 + 1, 2);
  TORCH_CHECK_LT(1, 2);
  try {
    const int n = 3;
    TORCH_CHECK_EQ(n, 4);
    ADD_FAILURE();
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string(e.what()).find("Check failed: n == 4 (3 vs. 4)."), std::string::npos);
  }
}

TEST(Names, PackedAccessors) {
  auto x = torch::arange(6, torch::kF32).view({2, 3}).t();
  auto a = x.packed_accessor32<float, 2>();
  auto b = x.packed_accessor64<float, 2, torch::RestrictPtrTraits>();
  static_assert(std::is_same_v<decltype(a.size(0)), int32_t>);
  static_assert(std::is_same_v<decltype(b.size(0)), int64_t>);
  EXPECT_EQ(a.size(0), 3);
  EXPECT_EQ(a[2][1], 5);
  b[1][0] = 40;
  EXPECT_EQ(x[1][0].item<float>(), 40);
  EXPECT_THROW((x.packed_accessor32<float, 3>()), c10::Error);
  EXPECT_THROW((x.packed_accessor32<double, 2>()), c10::Error);
}

TEST(Names, TensorsTakeTheMemoryOfOthers) {
  auto x = torch::zeros({2}), y = torch::arange(6, torch::kF32).view({2, 3});
  const std::vector<torch::Tensor> others = {x};
  x.set_(y);
  EXPECT_TRUE(others[0].equal(y) && others[0].is_alias_of(y));
  x.set_(y.storage(), 1, {2, 2});
  EXPECT_TRUE(x.equal(torch::tensor({{1., 2.}, {3., 4.}}, torch::kF32)));
  x.set_(y.storage(), 1, {2}, {3});
  EXPECT_TRUE(x.equal(torch::tensor({1., 4.}, torch::kF32)));
  x.set_(y.storage());
  EXPECT_EQ(x.sizes(), at::IntArrayRef({6}));
  x.set_();
  EXPECT_EQ(x.numel(), 0);
  EXPECT_THROW(x.set_(y.storage(), 4, {3}), c10::Error);
  EXPECT_THROW(x.set_(torch::zeros({2}, torch::kInt)), c10::TypeError);
  auto leaf = torch::zeros({2}, torch::requires_grad());
  EXPECT_THROW(leaf.set_(y), c10::Error);
  // What was saved before is no longer what was read.
  auto w = torch::ones({2}, torch::requires_grad()), z = torch::ones({2});
  auto loss = (w * z).sum();
  z.set_(torch::zeros({2}));
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(Names, FunctionsOfComplexNumbers) {
  const c10::complex<double> z(3, 4);
  EXPECT_EQ(std::abs(z), 5);
  EXPECT_EQ(std::norm(z), 25);
  EXPECT_EQ(std::real(std::conj(z)) + std::imag(std::conj(z)), -1);
  EXPECT_EQ(std::sqrt(z), c10::complex<double>(2, 1));
  EXPECT_LT(std::abs(std::log(std::exp(c10::complex<float>(0.5, 1))) - c10::complex<float>(0.5, 1)),
            1e-6);
  EXPECT_LT(std::abs(std::pow(z, 2.) - z * z), 1e-12);
}

TEST(Names, ContainersOfPrograms) {
  c10::List<at::Tensor> images({torch::ones({2})});
  c10::Dict<std::string, at::Tensor> named;
  named.insert("a", images.get(0));
  const c10::IValue value(named);
  EXPECT_TRUE(value.toGenericDict().at("a").toTensor().equal(torch::ones({2})));
  EXPECT_TRUE(c10::IValue(images).isTensorList());
}

TEST(Names, WhereAsAMethod) {
  const auto x = torch::tensor({1., -2., 3.}, torch::requires_grad());
  const auto y = x.where(x > 0, torch::zeros({3}));
  EXPECT_TRUE(y.equal(torch::tensor({1., 0., 3.})));
  EXPECT_TRUE(x.where(x > 0, 7).equal(torch::tensor({1., 7., 3.})));
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(torch::tensor({1., 0., 1.})));
}

TEST(Names, MethodsAsFunctions) {
  const auto x = torch::zeros({2, 3}).t();
  EXPECT_EQ(torch::numel(x), 6);
  EXPECT_EQ(at::size(x, -1), 2);
  EXPECT_EQ(at::stride(x, 0), 1);
  EXPECT_TRUE(torch::is_floating_point(x));
  EXPECT_FALSE(torch::is_complex(x));
  EXPECT_TRUE(torch::is_complex(x.to(torch::kComplexFloat)));
  EXPECT_FALSE(at::is_signed(x.to(torch::kByte)));
  EXPECT_FALSE(torch::is_inference(x));
  const c10::InferenceMode mode;
  EXPECT_TRUE(torch::is_inference(torch::zeros({2})));
}

// Complete with torch.h alone: headers hold one by shared_ptr and copy it.
struct HoldsProgram {
  explicit HoldsProgram(const torch::jit::script::Module& m) : module(m) {}
  torch::jit::Module module;
};
TEST(Names, ModuleOfPrograms) {
  EXPECT_EQ(HoldsProgram(torch::jit::Module("M")).module.parameters().size(), 0u);
  torch::jit::Module m("M");
  m.eval();
  EXPECT_THROW(torch::jit::freeze(m), std::exception);  // it has no method
}

TEST(Names, ErrorsWithContext) {
  const auto fails = [](int depth) {
    try {
      try {
        torch::ones({2}).view({3});
      } catch (c10::Error& e) {
        if (depth > 1) e.add_context("first");
        TORCH_RETHROW(e, "in step ", 7);
      }
    } catch (const c10::Error& e) {
      EXPECT_EQ(e.context().back(), "in step 7");
      const std::string text = e.what();
      EXPECT_EQ(text.find(e.msg()), 0u);
      return text.substr(e.msg().size());
    }
    return std::string();
  };
  EXPECT_EQ(fails(1), " (in step 7)");
  EXPECT_EQ(fails(2), "\n  first\n  in step 7");
}

TEST(Names, SizesAsSymbols) {
  const auto x = torch::zeros({2, 3, 4}).transpose(0, 1);
  const c10::SymInt rows = x.sym_size(0);
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(rows.guard_int(__FILE__, __LINE__) * 2, rows + rows);
  EXPECT_FALSE(rows.is_symbolic());
  EXPECT_EQ(x.sym_numel(), 24);
  EXPECT_EQ(x.sym_stride(1), 12);
  const c10::SymIntArrayRef sizes = x.sym_sizes();
  EXPECT_TRUE(torch::ones(C10_AS_INTARRAYREF_SLOW(sizes)).sizes() == x.sizes());
  EXPECT_TRUE(c10::fromIntArrayRefSlow(x.strides()).equals(x.sym_strides()));
}

TEST(Names, ScalarsOfSmallTypes) {
  const c10::Scalar s = 3;
  EXPECT_EQ(static_cast<float>(s.toHalf()), 3.f);
  EXPECT_EQ(static_cast<float>(s.toBFloat16()), 3.f);
  EXPECT_EQ(s.toShort() + s.toChar() + s.toByte(), 9);
  EXPECT_THROW(c10::Scalar(300).toByte(), c10::Error);
}

TEST(Names, TheContextsChoicesAreSettings) {
  auto& context = at::globalContext();
  EXPECT_FALSE(context.allowTF32CuBLAS());
  context.setAllowTF32CuBLAS(true);
  EXPECT_TRUE(context.allowTF32CuDNN());
  EXPECT_EQ(tenon::core::setting("ALLOW_TF32"), "1");
  context.setAllowTF32CuDNN(false);
  EXPECT_FALSE(context.allowTF32CuBLAS());
  EXPECT_FALSE(context.benchmarkCuDNN());
  context.setBenchmarkCuDNN(true);
  EXPECT_TRUE(context.benchmarkCuDNN());
  context.setBenchmarkCuDNN(false);
  EXPECT_EQ(tenon::core::setting("CONV_BENCHMARK"), "0");
}

TEST(Names, TheContext) {
  auto& context = at::globalContext();
  EXPECT_FALSE(context.deterministicAlgorithms());
  context.setDeterministicAlgorithms(true);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  context.setDeterministicAlgorithms(false);
  EXPECT_EQ(context.hasCUDA(), torch::cuda::is_available());
  torch::cuda::manual_seed_all(3);
  torch::set_num_interop_threads(2);
  EXPECT_THROW(torch::set_num_interop_threads(0), c10::Error);
}

}  // namespace
