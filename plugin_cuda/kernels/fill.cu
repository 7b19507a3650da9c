// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// fill and zero; tensors whose elements follow from their positions.
#include <cmath>
#include <cstring>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "tenon/sdk/ops/arange.h"
#include "tenon/sdk/ops/eye.h"
#include "tenon/sdk/ops/fill.h"
#include "tenon/sdk/ops/linspace.h"
#include "tenon/sdk/ops/logspace.h"
#include "tenon/sdk/ops/tril.h"
#include "tenon/sdk/ops/triu.h"
#include "tenon/sdk/ops/zero.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct alignas(16) Words2 {
  uint64_t w[2];
};

// `word` is the element, repeated to eight bytes.
__global__ void fill_dense(char* p, uint64_t word, int64_t bytes) {
  const int64_t packs = bytes / 16;
  for (int64_t i = global_thread(); i < packs; i += global_threads())
    reinterpret_cast<Words2*>(p)[i] = {{word, word}};
  for (int64_t i = packs * 16 + global_thread(); i < bytes; i += global_threads()) {
    p[i] = static_cast<char>(word >> (i % 8 * 8));
  }
}

template <class U>
__global__ void fill_strided(Strided<1> at, U value) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[1];
    at.offsets(static_cast<uint32_t>(i), offset);
    write(at.base[0] + offset[0], value);
  }
}

// start + i * step; from `half` on end - (n - 1 - i) * step.
template <class C>
struct Line {
  C start, step, end;
  int64_t n, half;
  TN_DEVICE C at(int64_t i) const {
    if constexpr (std::is_integral_v<C>)
      return static_cast<C>(static_cast<uint64_t>(start) +
                            static_cast<uint64_t>(step) * static_cast<uint64_t>(i));
    else
      return i < half ? start + step * static_cast<C>(i) : end - step * static_cast<C>(n - 1 - i);
  }
};

template <class C>
__global__ void range(char* p, Code code, Line<C> line) {
  const int64_t item = code_bytes(code);
  for (int64_t i = global_thread(); i < line.n; i += global_threads())
    store(p + i * item, code, line.at(i));
}

__global__ void powers(char* p, Code code, double base, Line<double> line) {
  const int64_t item = code_bytes(code);
  for (int64_t i = global_thread(); i < line.n; i += global_threads()) {
    store(p + i * item, code, std::pow(base, line.at(i)));
  }
}

__global__ void identity(char* p, Code code, int64_t columns, int64_t n) {
  const int64_t item = code_bytes(code);
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    store<int64_t>(p + i * item, code, i / columns == i % columns);
  }
}

template <class U>
__global__ void triangle(U* out, const U* self, int64_t rows, int64_t columns, int64_t diagonal,
                         bool lower, int64_t n) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const int64_t distance = i % columns - i / columns % rows;
    out[i] = (lower ? distance <= diagonal : distance >= diagonal) ? self[i] : U(0);
  }
}

template <class U>
uint64_t repeated(U v) {
  uint64_t word = 0;
  for (std::size_t i = 0; i < 8; i += sizeof v)
    std::memcpy(reinterpret_cast<char*>(&word) + i, &v, sizeof v);
  return word;
}

}  // namespace

void fill_elements(const Call& call, const Tensor& out, uint64_t bits) {
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.finish();
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    const U value = static_cast<U>(bits);
    if (loop.ndim == 1 && loop.strides[0][0] == sizeof(U) &&
        reinterpret_cast<uintptr_t>(loop.base[0]) % 16 == 0) {
      const int64_t bytes = loop.numel * static_cast<int64_t>(sizeof(U));
      launch<fill_dense>(call, shape_for(call, bytes, 256, 16), loop.base[0], repeated(value),
                         bytes);
      return;
    }
    for_each_piece<1>(loop, [&](const Strided<1>& at) {
      launch<fill_strided<U>>(call, shape_for(call, at.numel, 256, 2), at, value);
    });
  });
}

void fill_bytes(const Call& call, void* p, int64_t bytes, uint8_t value) {
  if (bytes == 0) return;
  launch<fill_dense>(call, shape_for(call, bytes, 256, 16), static_cast<char*>(p), repeated(value),
                     bytes);
}

namespace {

tn_status fill(Call& call, Tensor out, Tensor, Scalar value) {
  fill_elements(call, out, bits_of(out.dtype(), value));
  return TN_OK;
}
tn_status fill_tensor(Call& call, Tensor out, Tensor, Tensor value) {
  if (value.device().type == TN_CPU) return TN_DECLINED;
  copy_elements(call, out, value);
  return TN_OK;
}
tn_status zero(Call& call, Tensor out, Tensor) {
  fill_elements(call, out, 0);
  return TN_OK;
}

template <class C>
tn_status run_line(const Call& call, const Tensor& out, const Line<C>& line) {
  if (line.n > 0)
    launch<range<C>>(call, shape_for(call, line.n), out.data<char>(), code_of(out.dtype()), line);
  return TN_OK;
}

tn_status arange(Call& call, Tensor out, Scalar start, Scalar, Scalar step, std::optional<DType>,
                 std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const int64_t n = out.numel();
  if (is_floating(out.dtype()))
    return run_line<double>(call, out, {start.to<double>(), step.to<double>(), 0, n, n});
  return run_line<int64_t>(call, out, {start.to<int64_t>(), step.to<int64_t>(), 0, n, n});
}

template <class C>
Line<C> evenly(int64_t n, C a, C b) {
  const C step = n > 1 ? (b - a) / static_cast<C>(n - 1) : C(0);
  return {a, step, b, n, n == 1 ? 1 : n / 2};
}
double end_of(const Tensor& out, const Scalar& s) {
  return is_floating(out.dtype()) ? s.to<double>() : static_cast<double>(s.to<int64_t>());
}
tn_status linspace(Call& call, Tensor out, Scalar start, Scalar end, int64_t, std::optional<DType>,
                   std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const double a = end_of(out, start), b = end_of(out, end);
  const int64_t n = out.numel();
  if (out.dtype() == kFloat32)
    return run_line(call, out, evenly(n, static_cast<float>(a), static_cast<float>(b)));
  return run_line(call, out, evenly(n, a, b));
}
tn_status logspace(Call& call, Tensor out, Scalar start, Scalar end, int64_t, double base,
                   std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                   std::optional<bool>) {
  const int64_t n = out.numel();
  if (n == 0) return TN_OK;
  launch<powers>(call, shape_for(call, n), out.data<char>(), code_of(out.dtype()), base,
                 evenly(n, end_of(out, start), end_of(out, end)));
  return TN_OK;
}

tn_status eye(Call& call, Tensor out, int64_t, int64_t m, std::optional<DType>,
              std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const int64_t n = out.numel();
  if (n > 0)
    launch<identity>(call, shape_for(call, n), out.data<char>(), code_of(out.dtype()), m, n);
  return TN_OK;
}

template <bool kLower>
tn_status triangular(Call& call, Tensor out, Tensor self, int64_t diagonal) {
  const int64_t n = self.numel();
  if (n == 0) return TN_OK;
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch<triangle<U>>(call, shape_for(call, n), out.data<U>(), self.data<U>(), self.size(-2),
                        self.size(-1), diagonal, kLower, n);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(fill_Scalar, fill, dtypes("all").any_strides().inplace("0=0").capture_safe());
TN_KERNEL(fill_Tensor, fill_tensor,
          dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(zero, zero, dtypes("all").any_strides().inplace("0=0").capture_safe());
TN_KERNEL(arange_start_step, arange, dtypes("number").capture_safe());
TN_KERNEL(linspace, linspace, dtypes("number").capture_safe());
TN_KERNEL(logspace, logspace, dtypes("number").capture_safe());
TN_KERNEL(eye_m, eye, dtypes("all").capture_safe());
TN_KERNEL(tril, triangular<true>, dtypes("all").inplace("0=0").capture_safe());
TN_KERNEL(triu, triangular<false>, dtypes("all").inplace("0=0").capture_safe());

}  // namespace tenon::cuda
