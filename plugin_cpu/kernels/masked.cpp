// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Masks: masked_fill, masked_select, masked_scatter, nonzero. Results whose size depends on the
// data take two passes over fixed blocks: count, then write without branches.
#include "tenon/sdk/ops/masked_fill.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/along_dim.h"
#include "plugin_cpu/rowwise/scan.h"
#include "tenon/sdk/ops/masked_scatter.h"
#include "tenon/sdk/ops/masked_select.h"
#include "tenon/sdk/ops/nonzero.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int64_t kBlock = 1 << 14;

template <class T>
void fill_masked(const Tensor& out, const Tensor& self, const Tensor& mask, T value) {
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.add(self);
  loop.add(mask);
  loop.finish();
  parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      if (s[0] == sizeof(T) && s[1] == sizeof(T) && s[2] == 1) {
        T* o = reinterpret_cast<T*>(p[0]);
        const T* x = reinterpret_cast<const T*>(p[1]);
        const uint8_t* m = reinterpret_cast<const uint8_t*>(p[2]);
        for (int64_t i = 0; i < n; ++i) o[i] = m[i] ? value : x[i];
        return;
      }
      for (int64_t i = 0; i < n; ++i) {
        const T x = *reinterpret_cast<const T*>(p[1] + i * s[1]);
        *reinterpret_cast<T*>(p[0] + i * s[0]) =
            *reinterpret_cast<const uint8_t*>(p[2] + i * s[2]) ? value : x;
      }
    });
  });
}

// Moves the bits of a value as an unsigned integer of its size: one loop per size instead of one
// per dtype.
template <class T, class V>
void fill_masked_bits(const Tensor& out, const Tensor& self, const Tensor& mask, V value) {
  T bits;
  static_assert(sizeof(T) == sizeof(V));
  std::memcpy(&bits, &value, sizeof bits);
  fill_masked<T>(out, self, mask, bits);
}

template <class V>
void fill_masked_value(const Tensor& out, const Tensor& self, const Tensor& mask, V value) {
  if constexpr (sizeof(V) == 1)
    fill_masked_bits<uint8_t>(out, self, mask, value);
  else if constexpr (sizeof(V) == 2)
    fill_masked_bits<uint16_t>(out, self, mask, value);
  else if constexpr (sizeof(V) == 4)
    fill_masked_bits<uint32_t>(out, self, mask, value);
  else if constexpr (sizeof(V) == 8)
    fill_masked_bits<uint64_t>(out, self, mask, value);
  else
    fill_masked(out, self, mask, value);
}

tn_status masked_fill(Call&, Tensor out, Tensor self, Tensor mask, Scalar value) {
  dispatch_any(out.dtype(),
               [&](auto tag) { fill_masked_value(out, self, mask, value.to<tn_type(tag)>()); });
  return TN_OK;
}
TN_KERNEL(masked_fill_Scalar, masked_fill,
          dtypes("all,complex").any_strides().mixed_dtypes().broadcasts().inplace("0=0"));

tn_status masked_fill_tensor(Call&, Tensor out, Tensor self, Tensor mask, Tensor value) {
  dispatch_any(out.dtype(),
               [&](auto tag) { fill_masked_value(out, self, mask, element<tn_type(tag)>(value)); });
  return TN_OK;
}
TN_KERNEL(masked_fill_Tensor, masked_fill_tensor,
          dtypes("all,complex").any_strides().mixed_dtypes().broadcasts().inplace("0=0"));

// Where each block's results start; the last entry is the total.
template <class F>
std::vector<int64_t> block_starts(int64_t n, F&& count) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<int64_t> starts(static_cast<std::size_t>(blocks) + 1, 0);
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    // A call may span several blocks when n is at most one grain; blocks never straddle calls.
    for (int64_t b = begin; b < end; b += kBlock) {
      starts[static_cast<std::size_t>(b / kBlock) + 1] = count(b, std::min(end, b + kBlock));
    }
  });
  for (std::size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
  return starts;
}

// Sums of 64 fit the elements' own width, so that a vector holds as many sums as elements.
template <class T>
int64_t count_set(const T* x, int64_t begin, int64_t end) {
  using Sum = std::conditional_t<sizeof(T) == 1, uint8_t,
                                 std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  int64_t n = 0, i = begin;
  for (; i + 64 <= end; i += 64) {
    Sum sum = 0;
    for (int64_t j = i; j < i + 64; ++j) sum = static_cast<Sum>(sum + (x[j] != T(0) ? 1 : 0));
    n += sum;
  }
  for (; i < end; ++i) n += x[i] != T(0);
  return n;
}

// to[0..count) = value(i) for each i below n with x[i] != 0. A value is stored before its mask is
// tested, but never past the end, where another thread has its results.
template <class X, class T, class F>
void pack(const X* x, int64_t n, T* to, int64_t count, F&& value) {
  constexpr int64_t kStep = 8;
  int64_t i = 0, k = 0;
  for (; i + kStep <= n && k + kStep <= count; i += kStep) {
    for (int64_t j = i; j < i + kStep; ++j) {
      to[k] = value(j);
      k += x[j] != X(0);
    }
  }
  for (; k < count; ++i) {
    to[k] = value(i);
    k += x[i] != X(0);
  }
}

std::vector<int64_t> joint_shape(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> shape(static_cast<std::size_t>(std::max(a.ndim(), b.ndim())), 1);
  for (const Tensor& t : {a, b}) {
    for (int d = 0; d < t.ndim(); ++d) {
      int64_t& s = shape[shape.size() - static_cast<std::size_t>(t.ndim() - d)];
      if (t.size(d) != 1) s = t.size(d);
    }
  }
  return shape;
}

tn_status masked_select(Call& call, Tensor, Tensor self, Tensor mask) {
  const std::vector<int64_t> shape = joint_shape(self, mask);
  const Ints sizes(shape.data(), static_cast<int64_t>(shape.size()));
  const Dense dense_self(self, sizes), dense_mask(mask, sizes);
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  const uint8_t* m = dense_mask.tensor().data<uint8_t>();
  const std::vector<int64_t> starts =
      block_starts(n, [&](int64_t b, int64_t e) { return count_set(m, b, e); });
  const int64_t total = starts.back();
  const Tensor out = call.alloc_out(0, Ints(&total, 1), self.dtype());
  dispatch_any_size(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* from = dense_self.tensor().data<T>();
    T* to = out.data<T>();
    parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
      const int64_t k = starts[static_cast<std::size_t>(begin / kBlock)];
      const int64_t stop = starts[static_cast<std::size_t>((end + kBlock - 1) / kBlock)];
      pack(m + begin, end - begin, to + k, stop - k, [&](int64_t i) { return from[begin + i]; });
    });
  });
  return TN_OK;
}
TN_KERNEL(masked_select, masked_select,
          dtypes("all,complex").any_strides().mixed_dtypes().dynamic());

tn_status masked_scatter(Call&, Tensor out, Tensor self, Tensor mask, Tensor source) {
  const Dense dense_mask(mask, out.sizes()), dense_source(source);
  const uint8_t* m = dense_mask.tensor().data<uint8_t>();
  const int64_t n = out.numel(), found = count_set(m, 0, n);
  if (found > source.numel()) {
    throw Error(TN_ERROR_VALUE, "argument 'source' has ", source.numel(),
                " elements but the mask selects ", found);
  }
  if (out.data<char>() != self.data<char>()) copy_elements(out, self);
  dispatch_any_size(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* from = dense_source.tensor().data<T>();
    if (out.contiguous()) {
      T* to = out.data<T>();
      for (int64_t i = 0; i < n; ++i) {
        if (m[i]) to[i] = *from++;
      }
      return;
    }
    Scratch whole(out.sizes(), out.dtype());
    copy_elements(whole.tensor(), out);
    T* to = whole.tensor().data<T>();
    for (int64_t i = 0; i < n; ++i) {
      if (m[i]) to[i] = *from++;
    }
    copy_elements(out, whole.tensor());
  });
  return TN_OK;
}
TN_KERNEL(masked_scatter, masked_scatter,
          dtypes("all,complex").any_strides().mixed_dtypes().broadcasts().inplace("0=0"));

// Row-major positions of [begin, end) that are set, one row of `ndim` integers each; at most
// `limit` rows are written.
template <class T>
void write_positions(const T* x, Ints sizes, int64_t begin, int64_t end, int64_t* out,
                     int64_t limit) {
  const int rank = static_cast<int>(sizes.size());
  if (rank == 1) {
    if constexpr (std::is_same_v<T, uint8_t>)
      return positions_set(x + begin, end - begin, begin, out, limit);
    pack(x + begin, end - begin, out, limit, [&](int64_t i) { return begin + i; });
    return;
  }
  int64_t at[kMaxDims];
  int64_t rest = begin;
  for (int d = rank - 1; d >= 0; --d) {
    at[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  for (int64_t i = begin, k = 0; i < end && k < limit; ++i) {
    if (x[i] != T(0)) {
      for (int d = 0; d < rank; ++d) out[k * rank + d] = at[d];
      ++k;
    }
    for (int d = rank - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
  }
}

tn_status nonzero(Call& call, Tensor, Tensor self) {
  const int64_t n = self.numel(), rank = self.ndim();
  dispatch_any(self.dtype(), [&](auto tag) {
    using T = std::conditional_t<std::is_same_v<tn_type(tag), bool>, uint8_t, tn_type(tag)>;
    const T* x = self.data<T>();
    const std::vector<int64_t> starts =
        block_starts(n, [&](int64_t b, int64_t e) { return count_set(x, b, e); });
    const int64_t sizes[2] = {starts.back(), rank};
    const Tensor out = call.alloc_out(0, Ints(sizes, 2), kInt64);
    if (rank == 0) return;
    int64_t* to = out.data<int64_t>();
    parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
      const int64_t start = starts[static_cast<std::size_t>(begin / kBlock)];
      // Its own rows alone: with several threads the next row belongs to another block.
      const int64_t rows = starts[static_cast<std::size_t>((end + kBlock - 1) / kBlock)] - start;
      write_positions<T>(x, self.sizes(), begin, end, to + start * rank, rows);
    });
  });
  return TN_OK;
}
TN_KERNEL(nonzero, nonzero, dtypes("all,complex").dynamic());

}  // namespace
}  // namespace tenon::cpu
