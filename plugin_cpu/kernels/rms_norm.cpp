// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalization by the root of the mean square of a row, and its gradient. Overwritten: all
// outputs. The gradient of the weight is summed over fixed blocks of rows, then over the blocks in
// order. The weight may have another dtype than the input.
#include "tenon/sdk/ops/_fused_rms_norm.h"
#include "tenon/sdk/ops/_fused_rms_norm_backward.h"

#include <cmath>
#include <limits>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/rowwise/norm_rows.h"
#include "plugin_cpu/simd/convert.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

template <class T, class C>
void convert(const T* from, C* to, int64_t n) {
  if constexpr (std::is_same_v<C, float> && sizeof(T) == 2)
    to_float(from, to, n);
  else
    std::transform(from, from + n, to, [](T x) { return static_cast<C>(x); });
}

// Rows of T as C, in place or through memory that the thread keeps.
template <class T>
class RowBuffers {
 public:
  using C = Wide<T>;
  static constexpr bool kInPlace = std::is_same_v<T, C>;

  RowBuffers(int64_t count, int64_t n)
      : n_(n), memory_(kInPlace ? 0 : count * n * static_cast<int64_t>(sizeof(C))) {}
  // Row `i` of the buffers holds it, if any does.
  const C* read(int i, const T* p) {
    if constexpr (kInPlace) {
      return p;
    } else {
      to_float(p, row(i), n_);
      return row(i);
    }
  }
  C* place(int i, T* p) {
    if constexpr (kInPlace)
      return p;
    else
      return row(i);
  }
  void store([[maybe_unused]] int i, [[maybe_unused]] T* p) {
    if constexpr (!kInPlace) from_float(row(i), p, n_);
  }

 private:
  C* row(int i) { return memory_.template as<C>() + i * n_; }

  int64_t n_;
  CallBuffer<RowBuffers> memory_;
};

// The n elements of a parameter as C, in place or through memory that the thread keeps for Which;
// null where there is none.
template <class C, class Which>
class Parameter {
 public:
  Parameter(const Tensor& t, int64_t n)
      : memory_(is_converted(t) ? n * static_cast<int64_t>(sizeof(C)) : 0) {
    if (!t.defined()) return;
    if (!is_converted(t)) {
      p_ = t.data<C>();
      return;
    }
    p_ = memory_.template as<C>();
    dispatch_floating(
        t.dtype(), [&](auto tag) { convert(t.data<tn_type(tag)>(), memory_.template as<C>(), n); });
  }
  const C* data() const { return p_; }

 private:
  static bool is_converted(const Tensor& t) { return t.defined() && t.dtype() != dtype_of<C>; }

  CallBuffer<Parameter> memory_;
  const C* p_ = nullptr;
};
struct Weight;
struct Factors;
struct PartialSums;

tn_status rms_norm(Call&, Tensor out, Tensor rstd, Tensor input, Ints shape, OptTensor weight,
                   std::optional<double> given_eps) {
  const int64_t n = product(shape), rows = rstd.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const double eps = given_eps ? *given_eps : double{std::numeric_limits<C>::epsilon()};
    const Parameter<C, Weight> w(weight, n);
    const bool non_temporal = passes_caches<T>(rows * n);
    parallel_for(rows, row_grain(n), [&](int64_t begin, int64_t end) {
      RowBuffers<T> buffers(2, n);
      for (int64_t i = begin; i < end; ++i) {
        const C* x = buffers.read(0, input.data<T>() + i * n);
        const C mean = row_squares(x, n, C(0)) / static_cast<C>(n);
        const C r = static_cast<C>(1 / std::sqrt(static_cast<double>(mean) + eps));
        T* y = out.data<T>() + i * n;
        row_normalize(x, w.data(), nullptr, buffers.place(1, y), n, C(0), r, non_temporal);
        buffers.store(1, y);
        rstd.data<C>()[i] = r;
      }
    });
  });
  return TN_OK;
}

// dx = rstd * (g - x * rstd^2 * mean(g * x)) with g = dy * w
tn_status rms_norm_backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad, Tensor input,
                            Ints shape, Tensor rstd, OptTensor weight, Bools) {
  const int64_t n = product(shape), rows = rstd.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const Parameter<C, Weight> w(weight, n);
    const Parameter<C, Factors> factors(rstd, rows);
    const auto [block, blocks] = blocks_of_rows(rows, n);
    const CallBuffer<PartialSums> memory(
        grad_weight.defined() ? blocks * n * static_cast<int64_t>(sizeof(C)) : 0);
    C* parts = memory.template as<C>();
    parallel_for(rows, block, [&, block = block](int64_t begin, int64_t end) {
      RowBuffers<T> buffers(3, n);
      C* part = grad_weight.defined() ? parts + begin / block * n : nullptr;
      if (part) std::fill(part, part + n, C(0));
      for (int64_t i = begin; i < end; ++i) {
        const C *dy = buffers.read(0, grad.data<T>() + i * n),
                *x = buffers.read(1, input.data<T>() + i * n);
        const C r = factors.data()[i];
        if (grad_input.defined()) {
          T* dx = grad_input.data<T>() + i * n;
          const C mean = row_products(dy, x, w.data(), n) / static_cast<C>(n);
          row_gradient(dy, x, w.data(), buffers.place(2, dx), n, C(0), r, -r * r * mean, C(0));
          buffers.store(2, dx);
        }
        if (part) row_add_parameters(dy, x, part, nullptr, n, C(0), r);
      }
    });
    if (!grad_weight.defined()) return;
    dispatch_floating(grad_weight.dtype(), [&](auto to) {
      add_blocks(grad_weight.data<tn_type(to)>(), parts, blocks, n, n);
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fused_rms_norm, rms_norm, dtypes("floating"));
TN_KERNEL(_fused_rms_norm_backward, rms_norm_backward, dtypes("floating"));
