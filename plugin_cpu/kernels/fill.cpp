// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// fill, zero, and the factories whose values depend on the position alone.
#include "tenon/sdk/ops/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/arange.h"
#include "tenon/sdk/ops/eye.h"
#include "tenon/sdk/ops/linspace.h"
#include "tenon/sdk/ops/logspace.h"
#include "tenon/sdk/ops/tril.h"
#include "tenon/sdk/ops/triu.h"
#include "tenon/sdk/ops/zero.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

template <class T>
void fill_with(const Tensor& out, T value) {
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.finish();
  parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      if (s[0] == sizeof(T)) {
        std::fill_n(reinterpret_cast<T*>(p[0]), n, value);
        return;
      }
      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s[0]) = value;
    });
  });
}

tn_status fill(Call&, Tensor out, Tensor, Scalar value) {
  dispatch_any(out.dtype(), [&](auto tag) { fill_with(out, value.to<tn_type(tag)>()); });
  return TN_OK;
}
TN_KERNEL(fill_Scalar, fill, dtypes("all,complex").any_strides().inplace("0=0"));

tn_status fill_tensor(Call&, Tensor out, Tensor, Tensor value) {
  dispatch_any(out.dtype(), [&](auto tag) { fill_with(out, element<tn_type(tag)>(value)); });
  return TN_OK;
}
TN_KERNEL(fill_Tensor, fill_tensor,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status zero(Call&, Tensor out, Tensor) {
  if (out.numel() == 0) return TN_OK;
  if (out.contiguous()) {
    char* p = out.data<char>();
    parallel_for(out.numel() * item_size(out.dtype()), int64_t{1} << 20,
                 [&](int64_t begin, int64_t end) {
                   std::memset(p + begin, 0, static_cast<std::size_t>(end - begin));
                 });
    return TN_OK;
  }
  dispatch_any_size(out.dtype(), [&](auto tag) { fill_with(out, tn_type(tag){0}); });
  return TN_OK;
}
TN_KERNEL(zero, zero, dtypes("all,complex").any_strides().inplace("0=0"));

template <class F>
void by_position(const Tensor& out, F&& value) {
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    T* p = out.data<T>();
    parallel_for(out.numel(), kMoveGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] = convert<T>(value(i));
    });
  });
}

// Each element from its position, in double, or in integers where the result is one, so that no
// error accumulates.
tn_status arange(Call&, Tensor out, Scalar start, Scalar, Scalar step, std::optional<DType>,
                 std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  if (is_floating(out.dtype())) {
    const double a = start.to<double>(), b = step.to<double>();
    by_position(out, [=](int64_t i) { return a + b * static_cast<double>(i); });
  } else {
    const uint64_t a = static_cast<uint64_t>(start.to<int64_t>()),
                   b = static_cast<uint64_t>(step.to<int64_t>());
    by_position(out,
                [=](int64_t i) { return static_cast<int64_t>(a + b * static_cast<uint64_t>(i)); });
  }
  return TN_OK;
}
TN_KERNEL(arange_start_step, arange, dtypes("number"));

// Symmetric: the second half counts from the end, so that the end is met exactly. In the result's
// own precision.
template <class C>
struct Evenly {
  C start, end, step;
  int64_t n;
  Evenly(C a, C b, int64_t steps)
      : start(a), end(b), step(steps > 1 ? (b - a) / static_cast<C>(steps - 1) : 0), n(steps) {}
  C operator()(int64_t i) const {
    return i < n / 2 || n == 1 ? start + step * static_cast<C>(i)
                               : end - step * static_cast<C>(n - 1 - i);
  }
};

// Integers truncate their ends first, and then each value.
double end_of(const Tensor& out, const Scalar& s) {
  return is_floating(out.dtype()) ? s.to<double>() : static_cast<double>(s.to<int64_t>());
}

tn_status linspace(Call&, Tensor out, Scalar start, Scalar end, int64_t steps, std::optional<DType>,
                   std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const double a = end_of(out, start), b = end_of(out, end);
  if (out.dtype() == kFloat32)
    by_position(out, Evenly<float>(static_cast<float>(a), static_cast<float>(b), steps));
  else
    by_position(out, Evenly<double>(a, b, steps));
  return TN_OK;
}
TN_KERNEL(linspace, linspace, dtypes("number"));

tn_status logspace(Call&, Tensor out, Scalar start, Scalar end, int64_t steps, double base,
                   std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                   std::optional<bool>) {
  const Evenly<double> even(end_of(out, start), end_of(out, end), steps);
  by_position(out, [=](int64_t i) { return std::pow(base, even(i)); });
  return TN_OK;
}
TN_KERNEL(logspace, logspace, dtypes("number"));

tn_status eye(Call&, Tensor out, int64_t n, int64_t m, std::optional<DType>, std::optional<Layout>,
              std::optional<Device>, std::optional<bool>) {
  dispatch_any(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    fill_with(out, T(0));
    T* p = out.data<T>();
    for (int64_t i = 0; i < std::min(n, m); ++i) p[i * m + i] = T(1);
  });
  return TN_OK;
}
TN_KERNEL(eye_m, eye, dtypes("all,complex"));

// Keeps columns [low, high) of row i and clears the others.
template <bool Lower>
tn_status triangle(Call&, Tensor out, Tensor self, int64_t diagonal) {
  const int64_t rows = self.size(-2), columns = self.size(-1);
  if (self.numel() == 0) return TN_OK;
  const int64_t item = item_size(self.dtype()), batches = self.numel() / (rows * columns);
  const char* from = self.data<char>();
  char* to = out.data<char>();
  // Diagonals outside of the matrix give the same as the corner ones; clamping keeps the sums below
  // from overflowing.
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  parallel_for(
      batches * rows, std::max<int64_t>(1, kMoveGrain / columns), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r % rows, at = r * columns * item;
          const int64_t cut = std::clamp<int64_t>(i + diagonal + (Lower ? 1 : 0), 0, columns);
          const std::size_t left = static_cast<std::size_t>(cut * item),
                            right = static_cast<std::size_t>((columns - cut) * item);
          if (Lower) {
            if (to != from) std::memcpy(to + at, from + at, left);
            std::memset(to + at + left, 0, right);
          } else {
            std::memset(to + at, 0, left);
            if (to != from) std::memcpy(to + at + left, from + at + left, right);
          }
        }
      });
  return TN_OK;
}
TN_KERNEL(tril, triangle<true>, dtypes("all,complex").inplace("0=0"));
TN_KERNEL(triu, triangle<false>, dtypes("all,complex").inplace("0=0"));

}  // namespace
}  // namespace tenon::cpu
