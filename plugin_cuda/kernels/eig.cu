// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What stands around geev: matrices that are not finite, and the vectors of conjugate pairs.
#include "plugin_cuda/device/eig.h"

#include "plugin_cuda/device/copy.h"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Threads that find one in the same matrix write the same mark.
template <class R>
__global__ void mark_not_finite(const R* in, int64_t numbers, int64_t numel, int32_t* marks) {
  for (int64_t i = global_thread(); i < numel; i += global_threads())
    if (!(in[i] - in[i] == 0)) marks[i / numbers] = 1;
}

template <class R>
__global__ void blank_marked(R* matrices, int64_t numbers, int64_t numel, const int32_t* marks) {
  for (int64_t i = global_thread(); i < numel; i += global_threads())
    if (marks[i / numbers] != 0) matrices[i] = 0;
}

__global__ void write_codes(const int32_t* marks, int32_t code, int32_t* info, int64_t count) {
  for (int64_t i = global_thread(); i < count; i += global_threads())
    if (marks[i] != 0) info[i] = code;
}

template <class R>
__global__ void join_pairs(const R* columns, const R* values, R* out, int64_t n, int64_t numel) {
  for (int64_t i = global_thread(); i < numel; i += global_threads()) {
    const int64_t matrix = i / (n * n), row = i / n % n, column = i % n;
    const R imaginary = values[2 * (matrix * n + column) + 1];
    const bool first = imaginary > 0 && column + 1 < n, second = imaginary < 0 && column > 0;
    const R* at = columns + matrix * n * n + (second ? column - 1 : column) * n + row;
    out[2 * i] = at[0];
    out[2 * i + 1] = first ? at[n] : second ? -at[n] : R(0);
  }
}

template <class F>
void with_real(DType real, F&& f) {
  if (item_size(real) == 4)
    f(float{});
  else
    f(double{});
}

}  // namespace

void blank_not_finite(const Call& call, void* matrices, DType real, int64_t numbers, int64_t count,
                      int32_t* marks) {
  fill_bytes(call, marks, count * 4, 0);
  const int64_t numel = numbers * count;
  const Shape shape = shape_for(call, numel);
  with_real(real, [&](auto tag) {
    using R = decltype(tag);
    auto* at = static_cast<R*>(matrices);
    launch<mark_not_finite<R>>(call, shape, at, numbers, numel, marks);
    launch<blank_marked<R>>(call, shape, at, numbers, numel, marks);
  });
}

void report_marked(const Call& call, const int32_t* marks, int32_t code, int32_t* info,
                   int64_t count) {
  launch<write_codes>(call, shape_for(call, count), marks, code, info, count);
}

void write_eigenvectors(const Call& call, const void* columns, DType real, const Tensor& values,
                        const Tensor& out, int64_t n) {
  with_real(real, [&](auto tag) {
    using R = decltype(tag);
    launch<join_pairs<R>>(call, shape_for(call, out.numel()), static_cast<const R*>(columns),
                          reinterpret_cast<const R*>(values.data<char>()),
                          reinterpret_cast<R*>(out.data<char>()), n, out.numel());
  });
}

}  // namespace tenon::cuda
