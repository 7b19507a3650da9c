// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gather, scatter and all rows of index tensors are one loop: at each position there is an element of a dense operand
// and one of another operand, whose place follows from the position and from what the index tensors hold there. An
// index that is out of bounds goes into the stream's error word, and 0 stands for it.
#include <algorithm>
#include <vector>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"
#include "tenon/sdk/ops/_index.h"
#include "tenon/sdk/ops/embedding.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/index_add.h"
#include "tenon/sdk/ops/index_copy.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_put.h"
#include "tenon/sdk/ops/index_select.h"
#include "tenon/sdk/ops/scatter.h"
#include "tenon/sdk/ops/scatter_add.h"
#include "tenon/sdk/ops/scatter_reduce.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kMostIndices = 4;

// What index tensor k means: the element lies index * step bytes on.
struct Indices {
  int32_t n = 0;
  bool from_end = false;  // negative indices count from the end
  Code code[kMostIndices];
  int64_t size[kMostIndices], step[kMostIndices];
  Faults faults;
};

// Operands: the dense one, the other one, the index tensors.
template <int N>
TN_DEVICE void places(const Strided<N>& at, const Indices& by, int64_t i, char** dense, char** other) {
  int64_t offset[N];
  at.offsets(static_cast<uint32_t>(i), offset);
  int64_t to = offset[1];
  for (int k = 0; k < N - 2; ++k) {
    if (k >= by.n) break;
    const int64_t v = load<int64_t>(at.base[k + 2] + offset[k + 2], by.code[k]);
    to += (by.from_end ? by.faults.wrapped(v, by.size[k]) : by.faults.checked(v, by.size[k])) * by.step[k];
  }
  *dense = at.base[0] + offset[0];
  *other = at.base[1] + to;
}

template <class U, int N>
__global__ void take(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *to, *from;
    places(at, by, i, &to, &from);
    write(to, read<U>(from));
  }
}

template <class U, int N>
__global__ void put(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    places(at, by, i, &from, &to);
    write(to, read<U>(from));
  }
}

// There is no dense operand: one value for all.
template <class U, int N>
__global__ void put_value(Strided<N> at, Indices by, U value) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    places(at, by, i, &from, &to);
    write(to, value);
  }
}

enum class Join : int32_t { Add, Multiply, Highest, Lowest };

template <class C>
TN_DEVICE C joined(C a, C b, Join join) {
  switch (join) {
    case Join::Add:
      return a + b;
    case Join::Multiply:
      return a * b;
    case Join::Highest:
      return a > b || a != a ? a : b;
    default:
      return a < b || a != a ? a : b;
  }
}

// By compare and swap of the word around the element.
template <class W, class C>
TN_DEVICE void join_in_word(char* p, Code code, C v, Join join) {
  const std::size_t inside = reinterpret_cast<uintptr_t>(p) % sizeof(W);
  W* word = reinterpret_cast<W*>(p - inside);
  W seen = *word;
  for (;;) {
    W next = seen;
    char* at = reinterpret_cast<char*>(&next) + inside;
    store(at, code, joined(load<C>(at, code), v, join));
    const W before = atomicCAS(word, seen, next);
    if (before == seen) return;
    seen = before;
  }
}

template <class C>
TN_DEVICE void join_at(char* p, Code code, C v, Join join) {
  if (join == Join::Add && code == Code::F32) {
    atomicAdd(reinterpret_cast<float*>(p), static_cast<float>(v));
  } else if (join == Join::Add && code == Code::F64) {
    atomicAdd(reinterpret_cast<double*>(p), static_cast<double>(v));
  } else if (code_bytes(code) == 8) {
    join_in_word<unsigned long long>(p, code, v, join);
  } else {
    join_in_word<unsigned>(p, code, v, join);
  }
}

template <class C, int N>
__global__ void join_all(Strided<N> at, Indices by, Code code, C scale, Join join) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    places(at, by, i, &from, &to);
    join_at(to, code, static_cast<C>(load<C>(from, code) * scale), join);
  }
}

// A loop over a shape, made operand by operand.
class IndexLoop {
 public:
  IndexLoop(const Call& call, Ints shape) : loop_(shape) { by.faults = Faults(call); }
  // strides[d] in elements, of dimension d of the shape.
  void add(const Tensor& t, const int64_t* strides) {
    const int64_t item = item_size(t.dtype());
    const int k = loop_.operands++;
    loop_.base[k] = t.data<char>();
    for (int d = 0; d < loop_.ndim; ++d) loop_.strides[d][k] = strides[loop_.ndim - 1 - d] * item;
  }
  // A dimension without elements has none to stand for a wrong index.
  void add_index(const Tensor& t, const int64_t* strides, int64_t size, int64_t step_bytes) {
    if (size == 0 && loop_.numel > 0) {
      throw Error(TN_ERROR_INDEX, "an index is out of bounds for a dimension of size 0");
    }
    by.code[by.n] = code_of(t.dtype());
    by.size[by.n] = size;
    by.step[by.n++] = step_bytes;
    add(t, strides);
  }
  bool empty() const { return loop_.numel == 0; }
  // f(Strided of all operands)
  template <class F>
  void run(F&& f) {
    if (empty()) return;
    const bool one = by.n == 1;
    while (!one && loop_.operands < kMostIndices + 2) {
      const int k = loop_.operands++;
      loop_.base[k] = nullptr;
      for (int d = 0; d < loop_.ndim; ++d) loop_.strides[d][k] = 0;
    }
    loop_.finish();
    if (one)
      each_piece<3>(loop_, f);
    else
      each_piece<kMostIndices + 2>(loop_, f);
  }
  Indices by;

 private:
  StridedLoop loop_;
};

void take_all(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_size(dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<take<tn_type(tag), At::kOperands>>(call, shape_for(at.numel, 256, 2), at, loop.by);
    });
  });
}
void put_all(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_size(dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<put<tn_type(tag), At::kOperands>>(call, shape_for(at.numel, 256, 2), at, loop.by);
    });
  });
}
void put_one(const Call& call, IndexLoop& loop, DType dtype, const Scalar& value) {
  dispatch_size(dtype, [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(dtype, value));
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<put_value<U, At::kOperands>>(call, shape_for(at.numel, 256, 2), at, loop.by, bits);
    });
  });
}
void join_each(const Call& call, IndexLoop& loop, DType dtype, Join join,
               const Scalar& scale = Scalar::of(int64_t{1})) {
  with_compute(dtype, [&](auto tag) {
    using C = tn_type(tag);
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<join_all<C, At::kOperands>>(call, shape_for(at.numel), at, loop.by, code_of(dtype), scale.to<C>(), join);
    });
  });
}

// Sums of floats depend on the order in which threads come.
bool varies(const Call& call, DType dtype, Join join) {
  return call.deterministic() && is_floating(dtype) && (join == Join::Add || join == Join::Multiply);
}

struct Strides {
  int64_t of[kMaxDims];
  // Those of a tensor of the loop's rank (0-dim: none), without dimension `but`.
  explicit Strides(const Tensor& t, int but = -1) {
    for (int d = 0; d < t.ndim(); ++d) of[d] = d == but ? 0 : t.stride(d);
    if (t.ndim() == 0) of[0] = 0;
  }
  Strides(int ndim, int at, int64_t stride) {
    for (int d = 0; d < std::max(ndim, 1); ++d) of[d] = d == at ? stride : 0;
  }
};

int64_t extent(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }
int64_t step_of(const Tensor& t, int dim) { return t.ndim() ? t.stride(dim) * item_size(t.dtype()) : 0; }

tn_status gather(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, bool) {
  const int dim = wrap_dim(given, self.ndim());
  IndexLoop loop(call, index.sizes());
  loop.add(out, Strides(out).of);
  loop.add(self, Strides(self, dim).of);
  loop.add_index(index, Strides(index).of, extent(self, dim), step_of(self, dim));
  take_all(call, loop, out.dtype());
  return TN_OK;
}

// The loop of the scatter rows: src may be undefined.
void add_scatter(IndexLoop& loop, const Tensor& out, int64_t given, const Tensor& index, const Tensor& src) {
  const int dim = wrap_dim(given, out.ndim());
  if (src.defined())
    loop.add(src, Strides(src).of);
  else
    loop.add(index, Strides(index).of);
  loop.add(out, Strides(out, dim).of);
  loop.add_index(index, Strides(index).of, extent(out, dim), step_of(out, dim));
}

tn_status scatter_src(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  if (call.deterministic()) return TN_DECLINED;
  start_from(call, out, self);
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, src);
  put_all(call, loop, out.dtype());
  return TN_OK;
}

tn_status scatter_value(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Scalar value) {
  start_from(call, out, self);
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, Tensor());
  put_one(call, loop, out.dtype(), value);
  return TN_OK;
}

tn_status scatter_join(const Call& call, const Tensor& out, const Tensor& self, int64_t dim, const Tensor& index,
                       const Tensor& src, Join join) {
  if (varies(call, out.dtype(), join)) return TN_DECLINED;
  start_from(call, out, self);
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, src);
  join_each(call, loop, out.dtype(), join);
  return TN_OK;
}

tn_status scatter_add(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  return scatter_join(call, out, self, dim, index, src, Join::Add);
}

// A mean, and results without the elements of self, need counts: they are left to others.
tn_status scatter_reduce(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src, Str reduce,
                         bool include_self) {
  if (!include_self || reduce == "mean") return TN_DECLINED;
  const Join join = reduce == "sum"    ? Join::Add
                    : reduce == "prod" ? Join::Multiply
                    : reduce == "amax" ? Join::Highest
                                       : Join::Lowest;
  return scatter_join(call, out, self, dim, index, src, join);
}

// Vectors of indices into one dimension: each names a slice. `slices` has the index's length there.
void add_slices(IndexLoop& loop, const Tensor& slices, const Tensor& other, const Tensor& index, int dim) {
  loop.add(slices, Strides(slices).of);
  loop.add(other, Strides(other, dim).of);
  loop.add_index(index, Strides(slices.ndim(), dim, index.ndim() ? index.stride(0) : 0).of, extent(other, dim),
                 step_of(other, dim));
}

tn_status index_select(Call& call, Tensor out, Tensor self, int64_t given, Tensor index) {
  IndexLoop loop(call, out.sizes());
  add_slices(loop, out, self, index, wrap_dim(given, self.ndim()));
  take_all(call, loop, out.dtype());
  return TN_OK;
}

tn_status index_copy(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source) {
  if (call.deterministic() || source.ndim() != self.ndim()) return TN_DECLINED;
  start_from(call, out, self);
  IndexLoop loop(call, source.sizes());
  add_slices(loop, source, out, index, wrap_dim(given, self.ndim()));
  put_all(call, loop, out.dtype());
  return TN_OK;
}

tn_status index_add(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source, Scalar alpha) {
  if (varies(call, out.dtype(), Join::Add) || source.ndim() != self.ndim()) return TN_DECLINED;
  start_from(call, out, self);
  IndexLoop loop(call, source.sizes());
  add_slices(loop, source, out, index, wrap_dim(given, self.ndim()));
  join_each(call, loop, out.dtype(), Join::Add, alpha);
  return TN_OK;
}

tn_status index_fill(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, Scalar value) {
  const int dim = wrap_dim(given, self.ndim());
  start_from(call, out, self);
  if (index.numel() == 0) return TN_OK;  // which a number's empty shape cannot tell
  std::vector<int64_t> shape(self.sizes().begin(), self.sizes().end());
  if (!shape.empty()) shape[static_cast<std::size_t>(dim)] = index.numel();
  IndexLoop loop(call, Ints(shape.data(), self.ndim()));
  const int64_t along = index.ndim() ? index.stride(0) : 0;
  loop.by.from_end = true;
  loop.add(index, Strides(self.ndim(), dim, along).of);
  loop.add(out, Strides(out, dim).of);
  loop.add_index(index, Strides(self.ndim(), dim, along).of, extent(out, dim), step_of(out, dim));
  put_one(call, loop, out.dtype(), value);
  return TN_OK;
}

tn_status embedding(Call& call, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  IndexLoop loop(call, out.sizes());
  loop.add(out, Strides(out).of);
  loop.add(weight, Strides(out.ndim(), out.ndim() - 1, weight.stride(1)).of);
  int64_t along[kMaxDims];
  for (int d = 0; d < indices.ndim(); ++d) along[d] = indices.stride(d);
  along[indices.ndim()] = 0;
  loop.add_index(indices, along, weight.size(0), step_of(weight, 0));
  take_all(call, loop, out.dtype());
  return TN_OK;
}

// An indexing expression of one tensor an indexed dimension: the shape of its result, and how that is laid out.
struct Expression {
  std::vector<int64_t> shape, sizes;  // of the index tensors together; of the result
  std::vector<int> kept;              // dimensions without an index
  int at = 0;                         // where `shape` stands in `sizes`
  int count = 0;

  // False where there are masks, whose results have sizes that the device alone knows, or too many tensors.
  bool parse(const Tensor& self, const TensorList& indices) {
    int first = -1, last = -1;
    for (int d = 0; d < self.ndim(); ++d) {
      const Tensor t = d < indices.size() ? indices[d] : OptTensor();
      if (!t.defined()) {
        kept.push_back(d);
        continue;
      }
      if (is_bool(t.dtype()) || t.dtype() == kUInt8 || t.device().type == TN_CPU) return false;
      if (first < 0) first = d;
      last = d;
      ++count;
      broadcast(t);
    }
    if (count == 0 || count > kMostIndices) return false;
    at = last - first + 1 == count ? first : 0;
    for (int d : kept) {
      if (static_cast<int>(sizes.size()) == at) sizes.insert(sizes.end(), shape.begin(), shape.end());
      sizes.push_back(self.size(d));
    }
    if (static_cast<int>(kept.size()) <= at) sizes.insert(sizes.end(), shape.begin(), shape.end());
    return true;
  }
  void broadcast(const Tensor& t) {
    while (static_cast<int>(shape.size()) < t.ndim()) shape.insert(shape.begin(), 1);
    for (int d = 0; d < t.ndim(); ++d) {
      int64_t& s = shape[shape.size() - static_cast<std::size_t>(t.ndim() - d)];
      if (t.size(d) == 1 || t.size(d) == s) continue;
      if (s != 1) {
        throw Error(TN_ERROR_INDEX, "the shapes of the index tensors do not broadcast: ",
                    Ints(shape.data(), static_cast<int64_t>(shape.size())), " and ", t.sizes());
      }
      s = t.size(d);
    }
  }
  int wide() const { return static_cast<int>(shape.size()); }
  // Adds the indexed tensor and the index tensors.
  void add(IndexLoop& loop, const Tensor& self, const TensorList& indices) const {
    int64_t strides[kMaxDims] = {};
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const int place = static_cast<int>(k) < at ? static_cast<int>(k) : static_cast<int>(k) + wide();
      strides[place] = self.stride(kept[k]);
    }
    loop.by.from_end = true;
    loop.add(self, strides);
    for (int d = 0; d < self.ndim() && d < indices.size(); ++d) {
      const Tensor t = indices[d];
      if (!t.defined()) continue;
      int64_t along[kMaxDims] = {};
      for (int k = 0; k < t.ndim(); ++k) along[at + wide() - t.ndim() + k] = t.size(k) == 1 ? 0 : t.stride(k);
      loop.add_index(t, along, self.size(d), step_of(self, d));
    }
  }
};

tn_status index(Call& call, Tensor out, Tensor self, TensorList indices) {
  Expression e;
  if (!e.parse(self, indices)) return TN_DECLINED;
  if (out.numel() == 0) return TN_OK;
  IndexLoop loop(call, out.sizes());
  loop.add(out, Strides(out).of);
  e.add(loop, self, indices);
  take_all(call, loop, out.dtype());
  return TN_OK;
}

tn_status index_put(Call& call, Tensor out, Tensor self, TensorList indices, Tensor values, bool accumulate) {
  Expression e;
  if (!e.parse(self, indices)) return TN_DECLINED;
  if (accumulate ? varies(call, out.dtype(), Join::Add) : call.deterministic()) return TN_DECLINED;
  const int rank = static_cast<int>(e.sizes.size()), lead = rank - values.ndim();
  int64_t strides[kMaxDims] = {};
  for (int d = 0; d < values.ndim(); ++d) {
    if (values.size(d) == 1) continue;
    if (lead + d < 0 || values.size(d) != e.sizes[static_cast<std::size_t>(lead + d)]) {
      throw Error(TN_ERROR_INDEX, "argument 'values' of shape ", values.sizes(),
                  " does not broadcast to the indexed shape ", Ints(e.sizes.data(), rank));
    }
    strides[lead + d] = values.stride(d);
  }
  start_from(call, out, self);
  IndexLoop loop(call, Ints(e.sizes.data(), rank));
  loop.add(values, strides);
  e.add(loop, out, indices);
  if (accumulate)
    join_each(call, loop, out.dtype(), Join::Add);
  else
    put_all(call, loop, out.dtype());
  return TN_OK;
}

}  // namespace

TN_KERNEL(gather, gather, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(scatter_src, scatter_src, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(scatter_value, scatter_value, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(scatter_add, scatter_add, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(scatter_reduce_two, scatter_reduce, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(index_select, index_select, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(index_copy, index_copy, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(index_add, index_add, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(index_fill_int_Scalar, index_fill, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(_index, index, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(index_put, index_put, dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(embedding, embedding, dtypes("floating").mixed_dtypes().capture_safe());

}  // namespace tenon::cuda
