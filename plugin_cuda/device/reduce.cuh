// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions over any dimensions of tensors of any strides. An Op has
//   Acc                              what is accumulated; copied by memcpy
//   identity(first)                  the neutral value; `first`: the first element of the row
//   reduce(acc, value, i, first)     adds element i of the row
//   combine(a, b)                    of parts in any order
//   store(acc, first, count, place)  writes the results
// Few rows are cut into parts; a second pass combines the parts in order. Which thread reduces
// which elements follows from sizes, strides and whether rows begin at multiples of 16 bytes.
#pragma once

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

// Where a result is stored; ops of one result use entry 0.
struct Place {
  char* at[2];
  Code code[2];
};

namespace reduction {

inline constexpr int64_t kMaxParts = 49152;  // accumulators of all parts of a call
inline constexpr int64_t kMaxBytes = kMaxParts * 16;

struct Layout {
  Strided<3> kept;      // two results and the input
  Strided<1> reduced;   // the input, from the start of a row
  int64_t count;        // elements of a row
  int64_t parts, part;  // of a row, and elements of one
  Code in, out[2];
  bool packed;  // rows are dense and begin, as parts do, at multiples of 16 bytes

  TN_DEVICE int64_t offset(int64_t i) const {
    if (reduced.ndim == 1) return i * reduced.stride[0][0];
    int64_t at[1];
    reduced.offsets(static_cast<uint32_t>(i), at);
    return at[0];
  }
  TN_DEVICE const char* row(uint32_t k, Place* place) const {
    int64_t at[3];
    kept.offsets(k, at);
    *place = {{kept.base[0] + at[0], kept.base[1] + at[1]}, {out[0], out[1]}};
    return kept.base[2] + at[2];
  }
};

template <class Op, class C>
struct Combine {
  Op op;
  TN_DEVICE typename Op::Acc operator()(const typename Op::Acc& a,
                                        const typename Op::Acc& b) const {
    return op.combine(a, b);
  }
};

// Elements [begin, end) of a dense row, 16 bytes at a time.
template <class T, bool kIsBool, class Op, class C>
TN_DEVICE typename Op::Acc reduce_packs(const Op& op, typename Op::Acc acc, const char* row,
                                        int64_t begin, int64_t end, C first) {
  constexpr int kWidth = kPackWidth<T>;
  const auto element = [](T v) {
    if constexpr (kIsBool)
      return static_cast<C>(v != 0);
    else
      return static_cast<C>(v);
  };
  const auto* packs = reinterpret_cast<const Pack<T, kWidth>*>(row);
  const int64_t last = end / kWidth;
  TN_UNROLL(4)
  for (int64_t p = begin / kWidth + threadIdx.x; p < last; p += blockDim.x) {
    const Pack<T, kWidth> pack = packs[p];
    for (int k = 0; k < kWidth; ++k)
      acc = op.reduce(acc, element(pack.v[k]), p * kWidth + k, first);
  }
  for (int64_t i = last * kWidth + threadIdx.x; i < end; i += blockDim.x) {
    acc = op.reduce(acc, element(reinterpret_cast<const T*>(row)[i]), i, first);
  }
  return acc;
}

// The dtypes that are read as C.
template <class C>
constexpr bool has_packs(Code code) {
  if (std::is_same_v<C, int64_t>) return !is_floating(code);
  return is_floating(code) && (code != Code::F64 || std::is_same_v<C, double>);
}
template <class Op, class C>
TN_DEVICE typename Op::Acc reduce_dense(const Layout& l, const Op& op, typename Op::Acc acc,
                                        const char* row, int64_t begin, int64_t end, C first) {
  if constexpr (std::is_same_v<C, int64_t>) {
    switch (l.in) {
      case Code::BOOL:
        return reduce_packs<uint8_t, true>(op, acc, row, begin, end, first);
      case Code::U8:
        return reduce_packs<uint8_t, false>(op, acc, row, begin, end, first);
      case Code::I8:
        return reduce_packs<int8_t, false>(op, acc, row, begin, end, first);
      case Code::I16:
        return reduce_packs<int16_t, false>(op, acc, row, begin, end, first);
      case Code::I32:
        return reduce_packs<int32_t, false>(op, acc, row, begin, end, first);
      default:
        return reduce_packs<int64_t, false>(op, acc, row, begin, end, first);
    }
  } else {
    if (l.in == Code::F16) return reduce_packs<sdk::Half, false>(op, acc, row, begin, end, first);
    if (l.in == Code::BF16)
      return reduce_packs<sdk::BFloat16, false>(op, acc, row, begin, end, first);
    if constexpr (std::is_same_v<C, double>) {
      if (l.in == Code::F64) return reduce_packs<double, false>(op, acc, row, begin, end, first);
    }
    return reduce_packs<float, false>(op, acc, row, begin, end, first);
  }
}

// One block per part.
template <class Op, class C>
__global__ void by_blocks(Layout l, Op op, typename Op::Acc* parts) {
  using Acc = typename Op::Acc;
  for (int64_t b = blockIdx.x; b < l.kept.numel * l.parts; b += gridDim.x) {
    Place place;
    const char* row = l.row(static_cast<uint32_t>(b / l.parts), &place);
    const C first = l.count > 0 ? load<C>(row, l.in) : C(0);
    const int64_t begin = b % l.parts * l.part,
                  end = begin + l.part < l.count ? begin + l.part : l.count;
    Acc acc = op.identity(first);
    if (l.packed) {
      acc = reduce_dense(l, op, acc, row, begin, end, first);
    } else {
      TN_UNROLL(4)
      for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        acc = op.reduce(acc, load<C>(row + l.offset(i), l.in), i, first);
      }
    }
    acc = block_reduce(acc, op.identity(first), Combine<Op, C>{op});
    if (threadIdx.x != 0) continue;
    if (parts == nullptr)
      op.store(acc, first, l.count, place);
    else
      parts[b] = acc;
  }
}

// One thread per part: neighbors work on neighboring results.
template <class Op, class C>
__global__ void by_threads(Layout l, Op op, typename Op::Acc* parts) {
  const int64_t rows = l.kept.numel, all = rows * l.parts;
  for (int64_t t = global_thread(); t < all; t += global_threads()) {
    const int64_t k = t % rows, p = t / rows;
    Place place;
    const char* row = l.row(static_cast<uint32_t>(k), &place);
    const C first = l.count > 0 ? load<C>(row, l.in) : C(0);
    const int64_t begin = p * l.part, end = begin + l.part < l.count ? begin + l.part : l.count;
    typename Op::Acc acc = op.identity(first);
    TN_UNROLL(4)
    for (int64_t i = begin; i < end; ++i)
      acc = op.reduce(acc, load<C>(row + l.offset(i), l.in), i, first);
    if (parts == nullptr)
      op.store(acc, first, l.count, place);
    else
      parts[k * l.parts + p] = acc;
  }
}

template <class Op, class C>
__global__ void combine_parts(Layout l, Op op, const typename Op::Acc* parts) {
  for (int64_t k = global_thread(); k < l.kept.numel; k += global_threads()) {
    Place place;
    const char* row = l.row(static_cast<uint32_t>(k), &place);
    typename Op::Acc acc = parts[k * l.parts];
    for (int64_t p = 1; p < l.parts; ++p) acc = op.combine(acc, parts[k * l.parts + p]);
    op.store(acc, load<C>(row, l.in), l.count, place);
  }
}

// The same for rows of many parts: a block each.
template <class Op, class C>
__global__ void combine_by_blocks(Layout l, Op op, const typename Op::Acc* parts) {
  for (int64_t k = blockIdx.x; k < l.kept.numel; k += gridDim.x) {
    Place place;
    const char* row = l.row(static_cast<uint32_t>(k), &place);
    const C first = load<C>(row, l.in);
    typename Op::Acc acc = op.identity(first);
    for (int64_t p = threadIdx.x; p < l.parts; p += blockDim.x)
      acc = op.combine(acc, parts[k * l.parts + p]);
    acc = block_reduce(acc, op.identity(first), Combine<Op, C>{op});
    if (threadIdx.x == 0) op.store(acc, first, l.count, place);
  }
}

// Whether each row of the input begins at a multiple of 16 bytes.
inline bool rows_aligned(const Strided<3>& kept) {
  uintptr_t bits = reinterpret_cast<uintptr_t>(kept.base[2]);
  for (int d = 0; d < kept.ndim; ++d) bits |= static_cast<uintptr_t>(kept.stride[2][d]);
  return bits % 16 == 0;
}

// Sizes and strides of the dimensions of a mask.
struct DimSubset {
  int n = 0;
  int64_t sizes[sdk::kMaxDims], strides[3][sdk::kMaxDims];
};

void split_dims(const sdk::Tensor* results, int n_results, const sdk::Tensor& self, uint64_t mask,
                bool keepdim, DimSubset* kept, DimSubset* reduced);
sdk::StridedLoop loop_of(const DimSubset& c, int operands, char* const* base, int key);

}  // namespace reduction

// The workspace function of every kernel with reductions.
tn_status reduction_workspace(tn_call* call, uint64_t* bytes);

// Reduces the dimensions of the mask; `results` (one or two) have them as ones or not at all. C:
// the type that elements are read as. Declines what the 32-bit index cannot hold.
template <class C, class Op>
tn_status reduce(const sdk::Call& call, const sdk::Tensor* results, int n_results,
                 const sdk::Tensor& self, uint64_t mask, const Op& op) {
  using namespace reduction;
  static_assert(sizeof(typename Op::Acc) <= 16,
                "reduction_workspace() counts 16 bytes per accumulator");
  DimSubset kept, reduced;
  split_dims(results, n_results, self, mask, results[0].ndim() == self.ndim(), &kept, &reduced);
  char* base[3] = {results[0].data<char>(), results[n_results - 1].data<char>(), self.data<char>()};
  const sdk::StridedLoop rows = loop_of(kept, 3, base, 2);
  char* zero[1] = {nullptr};
  const sdk::StridedLoop row = loop_of(reduced, 1, zero, 0);
  if (rows.numel == 0) return TN_OK;
  const bool line = row.ndim == 1 || row.numel == 0;  // indexed with 64 bits
  if (!line && (row.ndim > kIndexDims || row.numel > kPieceElements)) return TN_DECLINED;
  if (rows.numel > kPieceElements || rows.ndim > kIndexDims) return TN_DECLINED;

  Layout l{};
  l.kept = make_strided<3>(rows, rows.ndim, rows.sizes, base);
  const int64_t one = 1;
  l.reduced = make_strided<1>(row, line ? 1 : row.ndim, line ? &one : row.sizes, zero);
  l.count = row.numel;
  l.in = code_of(self.dtype());
  l.out[0] = code_of(results[0].dtype());
  l.out[1] = code_of(results[n_results - 1].dtype());
  const bool along = row.strides[0][0] == sdk::item_size(self.dtype());
  const bool blocks = l.count >= 64 && (along || rows.numel < 1024);
  const int64_t min_part = blocks ? 4096 : 128,
                wanted = blocks ? kWantedParts : 16384;  // elements of a part, parts in all
  int64_t parts = rows.numel >= wanted
                      ? 1
                      : std::min(ceil_div(l.count, min_part), ceil_div(wanted, rows.numel));
  if (parts < 1 || call.workspace_bytes() < kMaxBytes) parts = 1;
  l.packed = blocks && along && line && has_packs<C>(l.in) && rows_aligned(l.kept);
  l.part = ceil_div(l.count, parts);
  if (parts > 1) l.part = ceil_div(l.part, 16) * 16;
  l.parts = parts = l.part > 0 ? ceil_div(l.count, l.part) : 1;
  auto* partial = parts > 1 ? call.workspace<typename Op::Acc>() : nullptr;
  if (blocks) {
    const int size = l.part >= 1024 ? 256 : l.part >= 256 ? 128 : 32;
    launch<by_blocks<Op, C>>(call, {std::min(rows.numel * parts, 4 * max_blocks(call)), size}, l,
                             op, partial);
  } else {
    launch<by_threads<Op, C>>(call, shape_for(call, rows.numel * parts, 128), l, op, partial);
  }
  constexpr int64_t kManyParts = 64;
  if (parts >= kManyParts) {
    launch<combine_by_blocks<Op, C>>(call, {std::min(rows.numel, max_blocks(call)), 256}, l, op,
                                     partial);
  } else if (parts > 1) {
    launch<combine_parts<Op, C>>(call, shape_for(call, rows.numel, 128), l, op, partial);
  }
  return TN_OK;
}

// Op<C>{p...} with the type C that elements of self are computed in; one result.
template <template <class> class Op, class... P>
tn_status reduce_computed(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                          uint64_t mask, P... p) {
  tn_status status = TN_OK;
  with_compute(self.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    status = reduce<C>(call, &out, 1, self, mask, Op<C>{p...});
  });
  return status;
}

}  // namespace tenon::cuda
