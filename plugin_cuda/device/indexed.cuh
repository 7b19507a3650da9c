// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows of index tensors are one loop: at each position there is an element of a dense operand and one of another
// operand, whose place follows from the position and from what the index tensors hold there. An index that is out of
// bounds goes into the stream's error word, and 0 stands for it.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"

namespace tenon::cuda {

inline constexpr int kMostIndices = 4;

// What index tensor k means: the element lies index * step bytes on.
struct Indices {
  int32_t n = 0;
  bool from_end = false;  // negative indices count from the end
  Code code[kMostIndices];
  int64_t size[kMostIndices], step[kMostIndices];
  Faults faults;
};

// Operands: the dense one, the other one, the index tensors. Where the other one's element lies, from its base.
template <int N>
TN_DEVICE int64_t indexed_offset(const Strided<N>& at, const Indices& by, const int64_t (&offset)[N]) {
  int64_t to = offset[1];
  for (int k = 0; k < N - 2; ++k) {
    if (k >= by.n) break;
    const int64_t v = load<int64_t>(at.base[k + 2] + offset[k + 2], by.code[k]);
    to += (by.from_end ? by.faults.wrapped(v, by.size[k]) : by.faults.checked(v, by.size[k])) * by.step[k];
  }
  return to;
}
template <int N>
TN_DEVICE void places(const Strided<N>& at, const Indices& by, int64_t i, char** dense, char** other) {
  int64_t offset[N];
  at.offsets(static_cast<uint32_t>(i), offset);
  *dense = at.base[0] + offset[0];
  *other = at.base[1] + indexed_offset(at, by, offset);
}

// A loop over a shape, made operand by operand: dense, other, indices.
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
  // A dimension without elements has none to stand for a wrong index.
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
  const sdk::StridedLoop& loop() const { return loop_; }
  // f(Strided of all operands)
  template <class F>
  void run(F&& f) {
    if (by.n == 1) return run_one(f);
    if (empty()) return;
    fill_up(&loop_);
    loop_.finish();
    each_piece<kMostIndices + 2>(loop_, f);
  }
  // The same where there is never more than one index.
  template <class F>
  void run_one(F&& f) {
    if (empty()) return;
    loop_.finish();
    each_piece<3>(loop_, f);
  }
  // Operands without effect, up to the number that a kernel has.
  static void fill_up(sdk::StridedLoop* loop) {
    while (loop->operands < kMostIndices + 2) {
      const int k = loop->operands++;
      loop->base[k] = nullptr;
      for (int d = 0; d < loop->ndim; ++d) loop->strides[d][k] = 0;
    }
  }
  Indices by;

 private:
  sdk::StridedLoop loop_;
};

// dense = other; other = dense; other = a number.
void take_all(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype);
void put_all(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype);
void put_one(const sdk::Call& call, IndexLoop& loop, sdk::DType dtype, const sdk::Scalar& value);

// What becomes of elements of `dense` that meet in one of `other`: Last puts the last one there.
enum class Join : int32_t { Add, Multiply, Highest, Lowest, Mean, Last };
struct Joining {
  Join join;
  bool with_self = true;  // what was there takes part
  sdk::Scalar scale = sdk::Scalar::of(int64_t{1});
  bool distinct = false;  // no two positions have one place
};
inline Join join_named(sdk::Str s) {
  if (s == "sum") return Join::Add;
  if (s == "prod") return Join::Multiply;
  if (s == "mean") return Join::Mean;
  return s == "amax" ? Join::Highest : Join::Lowest;
}

// Whether positions are sorted by place first, for a fixed order or because a count is wanted; else they join by
// atomics.
bool joins_in_order(const sdk::Call& call, sdk::DType dtype, const Joining& how);
// What that needs, for so many combinations of indices.
inline constexpr int64_t kMostPlaces = int64_t{1} << 30;
uint64_t join_workspace_bytes(int64_t combinations);
// `out`, the loop's other operand, becomes self with the elements joined in.
tn_status join_each(const sdk::Call& call, IndexLoop& loop, const sdk::Tensor& out, const sdk::Tensor& self,
                    const Joining& how);

struct Strides {
  int64_t of[sdk::kMaxDims];
  // Those of a tensor of the loop's rank (0-dim: none), without dimension `but`.
  explicit Strides(const sdk::Tensor& t, int but = -1) {
    for (int d = 0; d < t.ndim(); ++d) of[d] = d == but ? 0 : t.stride(d);
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
