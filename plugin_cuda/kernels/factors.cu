// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What stands around the calls of cuSOLVER: triangles, addresses of a batch, and pivots.
#include "plugin_cuda/device/factors.h"

#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/ops/_pivots_to_permutation.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct alignas(16) Bytes16 {
  uint64_t w[2];
};

template <class U>
__global__ void keep_triangle(const U* from, U* to, int64_t n, int64_t numel, bool upper) {
  for (int64_t i = global_thread(); i < numel; i += global_threads()) {
    const int64_t row = i / n % n, column = i % n;
    to[i] = (upper ? column >= row : column <= row) ? from[i] : U{};
  }
}

__global__ void write_each_address(char** out, char* base, int64_t bytes, int64_t count) {
  for (int64_t i = global_thread(); i < count; i += global_threads()) out[i] = base + i * bytes;
}

__global__ void cast_pivots(const int64_t* from, int32_t* to, int64_t n) {
  for (int64_t i = global_thread(); i < n; i += global_threads())
    to[i] = static_cast<int32_t>(from[i]);
}

// k pivots per matrix.
template <class To>
__global__ void copy_checked_pivots(const int32_t* from, To* to, int64_t n, int64_t k, int64_t rows,
                                    Faults faults) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const int64_t row = from[i];
    const bool valid = row >= 1 && row <= rows;
    if (!valid) faults.report(TN_ERROR_VALUE, row, rows + 1);
    to[i] = static_cast<To>(valid ? row : i % k + 1);
  }
}

template <class To>
void launch_check(const Call& call, const int32_t* from, To* to, int64_t n, int64_t k,
                  int64_t rows) {
  if (n > 0)
    launch<copy_checked_pivots<To>>(call, shape_for(call, n), from, to, n, k, rows, Faults(call));
}

// A thread per matrix: where a block begins depends on those before it.
__global__ void copy_checked_blocks(const int32_t* from, int64_t* to, int64_t n, int64_t count,
                                    Faults faults) {
  for (int64_t b = global_thread(); b < count; b += global_threads()) {
    const int32_t* pivots = from + b * n;
    int64_t* out = to + b * n;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t pivot = pivots[i], row = pivot < 0 ? -pivot : pivot;
      const bool pair = pivot < 0 && i + 1 < n && pivots[i + 1] == pivot;
      const bool valid = row >= 1 && row <= n && (pivot > 0 || pair);
      if (!valid) faults.report(TN_ERROR_VALUE, pivot, n + 1);
      out[i] = valid ? pivot : i + 1;
      if (valid && pair) out[++i] = pivot;
    }
  }
}

// A thread per matrix: each exchange depends on those before it. A pivot outside of the matrix
// exchanges nothing and is reported.
__global__ void exchange_rows(const int32_t* pivots, int64_t k, int64_t* out, int64_t n,
                              int64_t count, Faults faults) {
  for (int64_t b = global_thread(); b < count; b += global_threads()) {
    int64_t* rows = out + b * n;
    for (int64_t i = 0; i < n; ++i) rows[i] = i;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t other = int64_t{pivots[b * k + i]} - 1;
      if (other < 0 || other >= n) {
        faults.report(TN_ERROR_VALUE, other, n);
        continue;
      }
      const int64_t row = rows[i];
      rows[i] = rows[other];
      rows[other] = row;
    }
  }
}

template <class U>
void launch_triangle(const Call& call, const Tensor& out, const Tensor& self, bool upper) {
  launch<keep_triangle<U>>(call, shape_for(call, out.numel()), self.data<U>(), out.data<U>(),
                           out.size(out.ndim() - 1), out.numel(), upper);
}

}  // namespace

void copy_triangle(const Call& call, const Tensor& out, const Tensor& self, bool upper) {
  if (out.numel() == 0) return;
  const int64_t item = item_size(out.dtype());
  if (item == 4) launch_triangle<uint32_t>(call, out, self, upper);
  if (item == 8) launch_triangle<uint64_t>(call, out, self, upper);
  if (item == 16) launch_triangle<Bytes16>(call, out, self, upper);
}

void write_addresses(const Call& call, void** out, const void* base, int64_t bytes, int64_t count) {
  launch<write_each_address>(call, shape_for(call, count), reinterpret_cast<char**>(out),
                             const_cast<char*>(static_cast<const char*>(base)), bytes, count);
}

void check_pivots(const Call& call, const int32_t* from, int32_t* to, int64_t n, int64_t k,
                  int64_t rows) {
  launch_check(call, from, to, n, k, rows);
}
void check_pivots(const Call& call, const int32_t* from, int64_t* to, int64_t n, int64_t k,
                  int64_t rows) {
  launch_check(call, from, to, n, k, rows);
}
void check_blocks(const Call& call, const int32_t* from, int64_t* to, int64_t n, int64_t count) {
  launch<copy_checked_blocks>(call, shape_for(call, count, 64), from, to, n, count, Faults(call));
}
void narrow_pivots(const Call& call, const int64_t* from, int32_t* to, int64_t n) {
  if (n > 0) launch<cast_pivots>(call, shape_for(call, n), from, to, n);
}

namespace {

tn_status pivots_to_permutation(Call& call, Tensor out, Tensor pivots, int64_t n) {
  if (out.numel() == 0) return TN_OK;
  const int64_t count = out.numel() / n;
  launch<exchange_rows>(call, shape_for(call, count, 64), pivots.data<int32_t>(),
                        pivots.size(pivots.ndim() - 1), out.data<int64_t>(), n, count,
                        Faults(call));
  return TN_OK;
}

}  // namespace

TN_KERNEL(_pivots_to_permutation, pivots_to_permutation, dtypes("int32").capture_safe());

}  // namespace tenon::cuda
