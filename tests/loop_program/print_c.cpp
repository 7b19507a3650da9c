// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs printed as C and as CUDA C (tenon/sdk/loop_program/print_c.h), compiled with the
// tests, against the operator.
#include "tenon/sdk/loop_program/print_c.h"

#include <gtest/gtest.h>
#include <tenon/ops/loop_program.gen.h>

#include "tests/loop_program/samples.h"

namespace lp = tenon::sdk::loop_program;
using tenon::Tensor;

using KernelFn = void (*)(const int64_t*, const double*, void* const*, tn_error_word*, int, int64_t,
                          int64_t);
extern "C" {
struct TnPrinted {
  const char* name;
  KernelFn kernel;
};
extern const TnPrinted tn_printed[];
}

namespace {

KernelFn find_kernel(const std::string& name) {
  for (const TnPrinted* it = tn_printed; it->name; ++it)
    if (it->name == name) return it->kernel;
  throw std::runtime_error("no kernel " + name);
}

std::vector<lp::Given> given(const std::vector<Tensor>& tensors, const lp::Program& program) {
  std::vector<lp::Given> list;
  const std::vector<int> arrays = lp::arrays_of(program, lp::Role::kInput);
  for (size_t k = 0; k < tensors.size(); ++k)
    list.push_back({lp::dtype_name(program.arrays[static_cast<size_t>(arrays[k])].dtype),
                    {tensors[k].sizes().begin(), tensors[k].sizes().end()}});
  return list;
}

struct Result {
  std::vector<Tensor> outputs;
  tn_error_word word{};
};

// As a taker runs it, every kernel of C in three pieces. Outputs start as 7, temporaries too.
Result run(const samples::Sample& s, const std::vector<Tensor>& inputs, bool cuda = false) {
  const lp::CProgram c =
      lp::print_c(s.program, cuda ? lp::cuda_c() : lp::c99(), (cuda ? "cuda_" : "c_") + s.name);
  const int64_t pieces = cuda ? 1 : 3;
  const lp::Binding binding = lp::bind_c(
      c,
      lp::bind_inputs(s.program, given(inputs, s.program), samples::numbers(s), samples::reals(s)));
  Result result;
  std::vector<Tensor> tensors;
  std::vector<lp::Placement> placements;
  size_t next = 0;
  for (size_t a = 0; a < s.program.arrays.size(); ++a) {
    const lp::Array& it = s.program.arrays[a];
    const bool is_input = it.role == lp::Role::kInput;
    tensors.push_back(is_input ? inputs[next++]
                               : tenon::full(binding.shapes[a], 7, samples::dtype_of(it.dtype)));
    const auto strides = tensors.back().strides();
    placements.push_back({0, {strides.begin(), strides.end()}});
    if (it.role == lp::Role::kOutput) result.outputs.push_back(tensors.back());
  }
  for (const lp::CKernel& kernel : c.kernels) {
    const int64_t items = lp::count_items(c, kernel, binding);
    const std::vector<int64_t> numbers = lp::find_numbers(kernel, binding, placements, items);
    const std::vector<double> reals = lp::find_reals(kernel, binding);
    std::vector<void*> pointers;
    for (const lp::CPointer& it : kernel.pointers)
      pointers.push_back(tensors[static_cast<size_t>(it.array)].data_ptr());
    const KernelFn run_kernel = find_kernel((cuda ? "run_" : "") + kernel.name);
    for (int64_t piece = pieces - 1; piece >= 0; --piece)
      run_kernel(numbers.data(), reals.data(), pointers.data(), &result.word, 5,
                 items * piece / pieces, items * (piece + 1) / pieces);
  }
  return result;
}

TEST(PrintC, ProgramsComputeWhatTheOperatorComputes) {
  tenon::manual_seed(3);
  const std::vector<samples::Sample> all = samples::read_all(TENON_LOOP_PROGRAMS);
  ASSERT_GE(all.size(), 15u);
  for (const samples::Sample& s : all) {
    SCOPED_TRACE(s.name);
    std::vector<Tensor> inputs = samples::inputs(s);
    for (const bool strided : {false, true}) {
      for (Tensor& t : inputs)
        if (strided && t.dim() == 2) t = t.t().contiguous().t();
      const std::vector<Tensor> expected =
          tenon::_loop_program(inputs, s.text, samples::numbers(s), samples::reals(s));
      for (const bool cuda : {false, true}) {
        const Result result = run(s, inputs, cuda);
        EXPECT_EQ(result.word.code, 0);
        ASSERT_EQ(result.outputs.size(), expected.size());
        for (size_t k = 0; k < expected.size(); ++k)
          EXPECT_TRUE(samples::agree(result.outputs[k], expected[k]))
              << (cuda ? "CUDA C" : "C") << ", output " << k << "\n"
              << result.outputs[k] << "\n"
              << expected[k];
      }
    }
  }
}

samples::Sample sample(const std::string& name) {
  return samples::read(std::string(TENON_LOOP_PROGRAMS) + "/" + name + ".loops");
}

TEST(PrintC, BadDataIsReportedAndNothingIsReadOutside) {
  samples::Sample s = sample("indirect");
  std::vector<Tensor> inputs = samples::inputs(s);
  inputs[1] = tenon::full({6}, -11, tenon::kLong);
  for (const bool cuda : {false, true}) {
    const Result wild = run(s, inputs, cuda);
    EXPECT_EQ(wild.word.code, TN_ERROR_INDEX);
    EXPECT_EQ(wild.word.op, 5);
    EXPECT_EQ(wild.word.index, 11);
    EXPECT_EQ(wild.word.limit, 11);
  }
}

TEST(PrintC, DivisionByZeroAndWideShiftsAreReported) {
  const samples::Sample s = sample("guards");
  std::vector<Tensor> inputs = samples::inputs(s);
  EXPECT_EQ(run(s, inputs).word.code, 0);
  inputs[1].fill_(100);
  const Result by_zero = run(s, inputs);
  EXPECT_EQ(by_zero.word.code, TN_ERROR);
  EXPECT_EQ(by_zero.word.limit, -1);
  inputs[1].fill_(40);
  const Result wide = run(s, inputs);
  EXPECT_EQ(wide.word.code, TN_ERROR_VALUE);
  EXPECT_EQ(wide.word.index, 40);
  EXPECT_EQ(wide.word.limit, 32);
}

TEST(PrintC, OneTextHoldsForAllSizes) {
  samples::Sample s = sample("matmul");
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1, 1, 1}, {3, 0, 2}, {0, 4, 2}, {17, 5, 31}}) {
    s.sizes = sizes;
    const std::vector<Tensor> inputs = samples::inputs(s);
    const Result result = run(s, inputs);
    const std::vector<Tensor> expected = tenon::_loop_program(inputs, s.text);
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(samples::agree(result.outputs[k], expected[k])) << sizes[0];
  }
}

// tn_divide() of the text, for items that no sample has.
TEST(PrintC, ItemsAreDividedByFactors) {
  const auto divided = [](uint64_t a, int64_t by) {
    return static_cast<uint32_t>((a * static_cast<uint32_t>(by) >> 32) + a) >> (by >> 32);
  };
  constexpr int64_t kMax = (int64_t{1} << 31) - 1;
  for (const int64_t extent : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{641},
                               int64_t{4096}, int64_t{65537}, kMax - 1, kMax}) {
    const int64_t by = lp::find_divider(extent, kMax);
    ASSERT_NE(by, 0) << extent;
    for (int64_t k = 0; k <= kMax / extent; k += 1 + kMax / extent / 1000) {
      for (const int64_t a : {k * extent - 1, k * extent, k * extent + 1}) {
        if (a < 0 || a > kMax) continue;
        ASSERT_EQ(divided(static_cast<uint64_t>(a), by), static_cast<uint32_t>(a / extent))
            << a << " / " << extent;
      }
    }
  }
  EXPECT_EQ(lp::find_divider(3, kMax + 1), 0);
  EXPECT_EQ(lp::find_divider(kMax + 1, 5), 0);
  EXPECT_EQ(lp::find_divider(0, 0), 0);
}

TEST(PrintC, WhatADialectCannotSayIsNamed) {
  const auto message = [](const std::string& text, const lp::CDialect& dialect) -> std::string {
    const lp::Program program = lp::parse(text);
    lp::check(program);
    try {
      lp::print_c(program, dialect);
    } catch (const lp::NotPrinted& e) {
      return e.what();
    }
    return "";
  };
  const std::string head =
      "loops 1\nsize N\ninput x float64 [N]\noutput y float64 [N]\nfor i < N\n";
  const std::string plain = head + "%0 = read x [i]\ny [i] = %0\n";
  EXPECT_EQ(message(plain, lp::opencl_c(true)), "");
  EXPECT_NE(message(plain, lp::opencl_c(false)).find("float64"), std::string::npos);
  EXPECT_NE(message(head + "%0 = read x [i]\n%1 = airy_ai %0\ny [i] = %1\n", lp::cuda_c())
                .find("airy_ai"),
            std::string::npos);
}

}  // namespace
