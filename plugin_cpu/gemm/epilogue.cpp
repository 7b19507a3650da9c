// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/gemm/epilogue.h"

#include <algorithm>
#include <string_view>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/gemm/epilogue.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/simd/vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

using F = Vec<float>;

struct Terms {
  int64_t n;
  float offset;
  const float *bias, *other;
};

HWY_INLINE F sum(const Terms& t, int64_t i, F y) {
  y = y + F(t.offset);
  if (t.bias) y = y + F::load(t.bias + i);
  if (t.other) y = y + F::load(t.other + i);
  return y;
}

// Fewer elements than a vector has go through a padded copy.
template <class A>
void few(const Terms& t, float* y, A&& activation) {
  HWY_ALIGN float copy[3][HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy_n(y, t.n, copy[0]);
  if (t.bias) std::copy_n(t.bias, t.n, copy[1]);
  if (t.other) std::copy_n(t.other, t.n, copy[2]);
  const Terms padded{F::lanes(), t.offset, t.bias ? copy[1] : nullptr, t.other ? copy[2] : nullptr};
  activation(sum(padded, 0, F::load(copy[0]))).store(copy[0]);
  std::copy_n(copy[0], t.n, y);
}

template <class A>
void each(const Terms& t, float* y, A&& activation) {
  const int64_t lanes = F::lanes(), last = t.n - lanes;
  if (last < 0) return few(t, y, activation);
  const F rest = F::load(y + last);  // before the loop writes some of it
  for (int64_t i = 0; i < last; i += lanes) activation(sum(t, i, F::load(y + i))).store(y + i);
  activation(sum(t, last, rest)).store(y + last);
}

// A product with 1/6 in place of the quotient that the operator takes.
HWY_INLINE F hardsigmoid(F a) { return clamp(a + F(3.0f), F(0.0f), F(6.0f)) * F(1.0f / 6.0f); }

struct Block {
  int64_t i0, i1, j0, j1;
};

template <class A>
void each_row(const Finish& f, const Block& b, A&& activation) {
  for (int64_t i = b.i0; i < b.i1; ++i) {
    const int64_t at = i * f.stride + b.j0;
    const Terms t{b.j1 - b.j0, f.row_bias ? f.row_bias[i] : 0.0f,
                  f.column_bias ? f.column_bias + b.j0 : nullptr, f.other ? f.other + at : nullptr};
    each(t, f.y + at, activation);
  }
}

void finish_f32(const Finish& f, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  const Block b{i0, i1, j0, j1};
  const F p0(f.epilogue.parameters[0]), p1(f.epilogue.parameters[1]);
  switch (f.epilogue.activation) {
    case Activation::none:
      return each_row(f, b, [](F a) { return a; });
    case Activation::relu:
      return each_row(f, b, [](F a) { return select(a < F(0.0f), F(0.0f), a); });
    case Activation::gelu:
      return each_row(f, b, [](F a) { return gelu_erf(a); });
    case Activation::gelu_tanh:
      return each_row(f, b, [](F a) { return gelu_tanh(a); });
    case Activation::silu:
      return each_row(f, b, [](F a) { return silu(a); });
    case Activation::hardswish:
      return each_row(f, b, [](F a) { return a * hardsigmoid(a); });
    case Activation::hardsigmoid:
      return each_row(f, b, [](F a) { return hardsigmoid(a); });
    case Activation::sigmoid:
      return each_row(f, b, [](F a) { return sigmoid(a); });
    case Activation::tanh:
      return each_row(f, b, [](F a) { return tanh(a); });
    case Activation::hardtanh:
      return each_row(f, b, [=](F a) { return clamp(a, p0, p1); });
    case Activation::leaky_relu:
      return each_row(f, b, [=](F a) { return select(a > F(0.0f), a, a * p0); });
    case Activation::elu:
      return each_row(f, b, [=](F a) { return select(a > F(0.0f), a, expm1(a) * p0); });
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(finish_f32);

Epilogue epilogue_named(sdk::Str activation, sdk::Floats parameters) {
  constexpr std::string_view kNames[] = {
#define TN_ACTIVATION(name, parameters) #name,
#include "tenon/abi/activations.def"
#undef TN_ACTIVATION
  };
  Epilogue e;
  const auto* at = std::find(std::begin(kNames), std::end(kNames), std::string_view(activation));
  if (at == std::end(kNames))
    throw sdk::Error(TN_ERROR_VALUE, "unknown activation '", activation, "'");
  e.activation = static_cast<Activation>(at - kNames);
  for (int64_t i = 0; i < std::min<int64_t>(2, parameters.size()); ++i)
    e.parameters[i] = static_cast<float>(parameters[i]);
  return e;
}

void Finish::block(int64_t i0, int64_t i1, int64_t j0, int64_t j1) const {
  if (epilogue.activation == Activation::none && !row_bias && !column_bias && !other) return;
  TENON_DISPATCH(finish_f32)(*this, i0, i1, j0, j1);
}

void Finish::all(int64_t rows, int64_t columns) const {
  sdk::parallel_for(rows, std::max<int64_t>(1, 16384 / columns),
                    [&](int64_t begin, int64_t end) { block(begin, end, 0, columns); });
}

}  // namespace tenon::cpu
#endif
