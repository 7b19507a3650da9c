// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batches of row-major matrices, and the column-major copies that cuSOLVER works on.
#pragma once

#include <library_types.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "plugin_cuda/device/copy.h"
#include "plugin_cuda/device/factors.h"
#include "plugin_cuda/runtime/runtime.h"
#include "plugin_cuda/solver/libraries.h"

namespace tenon::cuda {

#define TENON_SOLVER_DTYPES dtypes("float32,float64,complex64,complex128")

// The library's name of a dtype, and that of its real and imaginary parts.
inline cudaDataType_t solver_type(sdk::DType d) {
  if (sdk::is_complex(d)) return sdk::item_size(d) == 8 ? CUDA_C_32F : CUDA_C_64F;
  return sdk::item_size(d) == 4 ? CUDA_R_32F : CUDA_R_64F;
}
inline sdk::DType real_dtype(sdk::DType d) {
  if (!sdk::is_complex(d)) return d;
  return sdk::item_size(d) == 8 ? sdk::kFloat32 : sdk::kFloat64;
}

inline cudaDataType_t complex_solver_type(sdk::DType d) {
  return sdk::item_size(real_dtype(d)) == 4 ? CUDA_C_32F : CUDA_C_64F;
}

inline int solver_int(int64_t n) {
  if (n > std::numeric_limits<int>::max())
    throw sdk::Error(TN_ERROR_VALUE, "a matrix with a side of ", n, " is too large for cuSOLVER");
  return static_cast<int>(n);
}

// The sides of the matrices of a contiguous tensor, and how many there are.
struct Matrices {
  int64_t rows, columns, count = 1;
  explicit Matrices(const sdk::Tensor& t)
      : rows(t.size(t.ndim() - 2)), columns(t.size(t.ndim() - 1)) {
    for (int d = 0; d + 2 < t.ndim(); ++d) count *= t.size(d);
  }
  int64_t shorter() const { return std::min(rows, columns); }
  int64_t elements() const { return rows * columns; }
  int64_t lead() const { return std::max<int64_t>(1, rows); }  // of a column-major copy
};

// Offsets of the parts of a workspace, each aligned as cudaMalloc aligns.
class Room {
 public:
  uint64_t add(int64_t bytes) {
    const uint64_t at = total_;
    total_ += (static_cast<uint64_t>(bytes) + 255) / 256 * 256;
    return at;
  }
  uint64_t total() const { return total_; }

 private:
  uint64_t total_ = 0;
};

// The workspace query of a kernel whose first operand is a batch of matrices: f(self, session)
// returns the room that the kernel needs.
template <class F>
tn_status solver_workspace(tn_call* c, uint64_t* bytes, F f) {
  return sdk::detail::report_exceptions(c, [&] {
    const sdk::Tensor self(c->in[0].u.tensor);
    *bytes = 0;
    if (self.numel() == 0) return TN_OK;
    if (!solver_libraries()) return TN_DECLINED;
    *bytes = f(self, SolverSession(self, c->stream)).total();
    return TN_OK;
  });
}

// Matrix `i` of a dense batch.
inline void* matrix_at(void* memory, sdk::DType dtype, int64_t elements, int64_t i) {
  return static_cast<char*>(memory) + i * elements * sdk::item_size(dtype);
}

// Copies between a contiguous batch and column-major memory without gaps.
void to_columns(const sdk::Call& call, const sdk::Tensor& from, void* to);
void to_rows(const sdk::Call& call, void* from, const sdk::Tensor& to);

}  // namespace tenon::cuda
