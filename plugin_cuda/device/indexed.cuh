// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Indexing operators as one loop: each position has an element of a dense operand and one of
// another operand, whose offset follows from the position and from the index tensors there. An
// index out of bounds is written to the stream's error word and replaced by 0.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"

namespace tenon::cuda {

inline constexpr int kMaxIndices = 4;

// Index tensor k moves the element by index * step bytes.
struct Indices {
  int32_t n = 0;
  bool from_end = false;  // negative indices count from the end
  Code code[kMaxIndices];
  int64_t size[kMaxIndices], step[kMaxIndices];
  Faults faults;
};

// Operands: dense, other, index tensors. The offset of the other operand's element from its base,
// in bytes.
template <int N>
TN_DEVICE int64_t indexed_offset(const Strided<N>& at, const Indices& by,
                                 const int64_t (&offset)[N]) {
  int64_t to = offset[1];
  for (int k = 0; k < N - 2; ++k) {
    if (k >= by.n) break;
    const int64_t v = load<int64_t>(at.base[k + 2] + offset[k + 2], by.code[k]);
    to += (by.from_end ? by.faults.wrapped(v, by.size[k]) : by.faults.checked(v, by.size[k])) *
          by.step[k];
  }
  return to;
}
template <int N>
TN_DEVICE void find_addresses(const Strided<N>& at, const Indices& by, int64_t i, char** dense,
                              char** other) {
  int64_t offset[N];
  at.offsets(static_cast<uint32_t>(i), offset);
  *dense = at.base[0] + offset[0];
  *other = at.base[1] + indexed_offset(at, by, offset);
}

// A loop over a shape, built operand by operand: dense, other, indices.
class IndexLoop {
 public:
  IndexLoop(const sdk::Call& call, sdk::Ints shape) : loop_(shape) { by.faults = Faults(call); }
  // strides[d] in elements, of dimension d of the shape.
  void add(const sdk::Tensor& t, const int64_t* strides) {
    const int64_t item = sdk::item_size(t.dtype());
    const int k = loop_.operands++;
    loop_.base[k] = t.data<char>();
    for (int d = 0; d < loop_.ndim; ++d) loop_.strides[d][k] = strides[loop_.ndim - 1 - d] * item;
  }
  // A dimension without elements has no element to replace an invalid index.
  void add_index(const sdk::Tensor& t, const int64_t* strides, int64_t size, int64_t step_bytes) {
    if (size == 0 && loop_.numel > 0) {
      throw sdk::Error(TN_ERROR_INDEX, "an index is out of bounds for a dimension of size 0");
    }
    by.code[by.n] = code_of(t.dtype());
    by.size[by.n] = size;
    by.step[by.n++] = step_bytes;
    add(t, strides);
  }
  bool empty() const { return loop_.numel == 0; }
  // Makes one element of neighbors in the innermost dimension that move together: up to 16 bytes.
  // Returns the bytes of an element; `item` is what they are now.
  int64_t widen(int64_t item) {
    int64_t wide = 16;
    while (wide > item && !moves_together(item, wide)) wide /= 2;
    if (wide <= item) return item;
    loop_.sizes[0] /= wide / item;
    loop_.numel /= wide / item;
    loop_.strides[0][0] = loop_.strides[0][1] = wide;
    return wide;
  }
  const sdk::StridedLoop& loop() const { return loop_; }
  // f(Strided of all operands)
  template <class F>
  void run(F&& f) {
    if (by.n == 1) return run_one(f);
    if (empty()) return;
    pad_operands(&loop_);
    loop_.finish();
    for_each_piece<kMaxIndices + 2>(loop_, f);
  }
  // The same for at most one index tensor.
  template <class F>
  void run_one(F&& f) {
    if (empty()) return;
    loop_.finish();
    for_each_piece<3>(loop_, f);
  }
  // Adds empty operands, up to the number that a kernel has.
  static void pad_operands(sdk::StridedLoop* loop) {
    while (loop->operands < kMaxIndices + 2) {
      const int k = loop->operands++;
      loop->base[k] = nullptr;
      for (int d = 0; d < loop->ndim; ++d) loop->strides[d][k] = 0;
    }
  }
  Indices by;

 private:
  // Whether both operands have `wide` bytes of one index side by side, and aligned, at each
  // position.
  bool moves_together(int64_t item, int64_t wide) const {
    if (loop_.ndim == 0 || empty() || loop_.sizes[0] % (wide / item) != 0) return false;
    uint64_t bits = 0;
    for (int k = 0; k < 2; ++k) {
      if (loop_.strides[0][k] != item) return false;
      bits |= reinterpret_cast<uintptr_t>(loop_.base[k]);
      for (int d = 1; d < loop_.ndim; ++d) bits |= static_cast<uint64_t>(loop_.strides[d][k]);
    }
    for (int k = 0; k < by.n; ++k) {
      if (loop_.strides[0][k + 2] != 0) return false;
      bits |= static_cast<uint64_t>(by.step[k]);
    }
    return bits % static_cast<uint64_t>(wide) == 0;
  }
  sdk::StridedLoop loop_;
};

// dense = other; other = dense; other = a scalar.
void launch_gather(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype);
void launch_scatter(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype);
void launch_scatter_scalar(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype,
                           const sdk::Scalar& value);

struct Strides {
  int64_t of[sdk::kMaxDims];
  // The strides of a tensor of the loop's rank (0-dim: none); 0 for dimension `except`.
  explicit Strides(const sdk::Tensor& t, int except = -1) {
    for (int d = 0; d < t.ndim(); ++d) of[d] = d == except ? 0 : t.stride(d);
    if (t.ndim() == 0) of[0] = 0;
  }
  Strides(int ndim, int at, int64_t stride) {
    for (int d = 0; d < std::max(ndim, 1); ++d) of[d] = d == at ? stride : 0;
  }
};

inline int64_t extent(const sdk::Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }
inline int64_t step_of(const sdk::Tensor& t, int dim) {
  return t.ndim() ? t.stride(dim) * sdk::item_size(t.dtype()) : 0;
}

}  // namespace tenon::cuda
