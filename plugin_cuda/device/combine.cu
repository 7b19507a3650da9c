// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scatters with duplicate indices. Atomics combine elements if their order does not matter or none
// was asked for; else positions are sorted by offset, and one thread combines those of an offset in
// order, or a block if they are many.
#include "plugin_cuda/device/combine.cuh"

#include "plugin_cuda/device/order.cuh"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class C>
TN_DEVICE C combine(C a, C b, CombineOp op) {
  switch (op) {
    case CombineOp::Add:
    case CombineOp::Mean:
      return a + b;
    case CombineOp::Multiply:
      return a * b;
    case CombineOp::Max:
      return a > b || a != a ? a : b;
    case CombineOp::Min:
      return a < b || a != a ? a : b;
    default:
      return b;
  }
}

// By compare and swap of the word that contains the element.
template <class W, class C>
TN_DEVICE void combine_in_word(char* p, Code code, C v, CombineOp op) {
  const std::size_t inside = reinterpret_cast<uintptr_t>(p) % sizeof(W);
  W* word = reinterpret_cast<W*>(p - inside);
  W seen = *word;
  for (;;) {
    W next = seen;
    char* at = reinterpret_cast<char*>(&next) + inside;
    store(at, code, combine(load<C>(at, code), v, op));
    const W before = atomicCAS(word, seen, next);
    if (before == seen) return;
    seen = before;
  }
}

template <class C>
TN_DEVICE void combine_at(char* p, Code code, C v, CombineOp op) {
  if (op == CombineOp::Add && code == Code::F32) {
    atomicAdd(reinterpret_cast<float*>(p), static_cast<float>(v));
  } else if (op == CombineOp::Add && code == Code::F64) {
    atomicAdd(reinterpret_cast<double*>(p), static_cast<double>(v));
  } else if (code_bytes(code) == 8) {
    combine_in_word<unsigned long long>(p, code, v, op);
  } else {
    combine_in_word<unsigned>(p, code, v, op);
  }
}

template <class C, int N>
__global__ void combine_atomic(Strided<N> at, Indices by, Code code, C scale, CombineOp op) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    find_addresses(at, by, i, &from, &to);
    combine_at(to, code, static_cast<C>(load<C>(from, code) * scale), op);
  }
}

// The loop, split: dimensions whose index decides about the offset, and the others.
struct Places {
  Strided<kMaxIndices + 2> at;
  Strided<1> dense;  // of `at`
  Strided<2> rest;   // dense, other; relative to the offset
  Indices by;
  Code code;
  int64_t item;
};

__global__ void offsets_as_keys(Places s, Pairs p) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    int64_t offset[kMaxIndices + 2];
    s.at.offsets(static_cast<uint32_t>(i), offset);
    p.keys[i] = static_cast<uint64_t>(indexed_offset(s.at, s.by, offset) / s.item);
    p.values[i] = static_cast<uint32_t>(i);
  }
}

// Integers round towards minus infinity, from a sum that fits their dtype.
template <class C>
TN_DEVICE C mean_of(C sum, int64_t count, Code code) {
  if constexpr (std::is_floating_point_v<C>) {
    return sum / static_cast<C>(count);
  } else {
    uint64_t bits = 0;
    char* p = reinterpret_cast<char*>(&bits);
    store(p, code, sum);
    return static_cast<C>(
        std::floor(static_cast<double>(load<C>(p, code)) / static_cast<double>(count)));
  }
}

constexpr int64_t kLongRun = 512;  // positions of an offset that one thread combines

struct Rule {
  CombineOp op;
  bool with_self;
};

// The combined elements of an offset.
template <class C>
struct Combined {
  C value;
  int64_t count;
};
template <class C>
struct CombineParts {
  CombineOp op;
  TN_DEVICE Combined<C> operator()(const Combined<C>& a, const Combined<C>& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    return {combine(a.value, b.value, op), a.count + b.count};
  }
};

// One column of an offset: its address and those of its elements.
template <class C>
struct Column {
  const Places& s;
  const Pairs& p;
  C scale;
  char* to;
  const char* from;

  TN_DEVICE Column(const Places& s, const Pairs& p, C scale, uint64_t place, int64_t column)
      : s(s), p(p), scale(scale) {
    int64_t rest[2];
    s.rest.offsets(static_cast<uint32_t>(column), rest);
    to = s.at.base[1] + static_cast<int64_t>(place) * s.item + rest[1];
    from = s.at.base[0] + rest[0];
  }
  TN_DEVICE Combined<C> element(int64_t i) const {
    int64_t offset[1];
    s.dense.offsets(p.values_out[i], offset);
    return {static_cast<C>(load<C>(from + offset[0], s.code) * scale), 1};
  }
  TN_DEVICE Combined<C> self(const Rule& rule) const {
    return {rule.with_self ? load<C>(to, s.code) : C(0), rule.with_self ? 1 : 0};
  }
  TN_DEVICE void finish(const Combined<C>& all, const Rule& rule) const {
    store(to, s.code,
          rule.op == CombineOp::Mean ? mean_of(all.value, all.count, s.code) : all.value);
  }
};

// The thread at the first position of an offset combines one column of it.
template <class C>
__global__ void combine_sorted(Places s, Pairs p, C scale, Rule rule) {
  const int64_t width = s.rest.numel;
  const CombineParts<C> combine_parts{rule.op};
  for (int64_t t = global_thread(); t < p.n * width; t += global_threads()) {
    int64_t i = t / width;
    const uint64_t place = p.keys_out[i];
    if (i > 0 && p.keys_out[i - 1] == place) continue;
    if (i + kLongRun < p.n && p.keys_out[i + kLongRun] == place) continue;
    const Column<C> column(s, p, scale, place, t % width);
    Combined<C> all = column.self(rule);
    for (; i < p.n && p.keys_out[i] == place; ++i) all = combine_parts(all, column.element(i));
    column.finish(all, rule);
  }
}

// The others hold a multiple of kLongRun: the block of the first one combines them. Lanes are
// neighboring columns if there are enough, else all threads share the positions of one.
template <class C, bool kWide>
__global__ void combine_long_runs(Places s, Pairs p, C scale, Rule rule) {
  const CombineParts<C> combine_parts{rule.op};
  const Combined<C> none{C(0), 0};
  for (int64_t at = blockIdx.x * kLongRun; at < p.n; at += gridDim.x * kLongRun) {
    const uint64_t place = p.keys_out[at];
    int64_t start = first_of(p, place);
    const int64_t end = first_of(p, place + 1);
    if (end - start <= kLongRun || at - start >= kLongRun) continue;
    if (rule.op == CombineOp::Last) start = end - 1;
    for (int64_t c = 0; c < s.rest.numel; c += kWide ? kWarp : 1) {
      const int64_t mine = kWide ? c + lane() : c;
      const bool inside = mine < s.rest.numel;
      const Column<C> column(s, p, scale, place, inside ? mine : 0);
      Combined<C> all = none;
      const int64_t first = kWide ? warp_in_block() : threadIdx.x,
                    step = kWide ? warps_of_block() : blockDim.x;
      for (int64_t i = start + first; inside && i < end; i += step)
        all = combine_parts(all, column.element(i));
      if constexpr (kWide) {
        TN_SHARED(Combined<C>, parts, 256);
        parts[threadIdx.x] = all;
        __syncthreads();
        all = none;
        for (int w = 0; w < warps_of_block() && warp_in_block() == 0; ++w) {
          const Combined<C> part = parts[w * kWarp + lane()];
          all = combine_parts(all, part);
        }
        __syncthreads();
        if (warp_in_block() == 0 && inside)
          column.finish(combine_parts(column.self(rule), all), rule);
      } else {
        all = block_reduce(all, none, combine_parts);
        if (threadIdx.x == 0) column.finish(combine_parts(column.self(rule), all), rule);
      }
    }
  }
}

// Splits the loop; false if its indices have too many dimensions or elements. Keeps row-major
// order, which finish() does not.
bool make_places(const IndexLoop& loop, const Tensor& out, Places* s) {
  StridedLoop all = loop.loop();
  IndexLoop::pad_operands(&all);
  StridedLoop rest(Ints(nullptr, 0));
  int64_t sizes[kIndexDims], n = 1;
  int dims = 0;
  rest.operands = 2;
  for (int d = 0; d < all.ndim; ++d) {
    if (all.sizes[d] == 1) continue;
    bool decides = all.strides[d][1] == 0;
    for (int k = 0; k < loop.by.n; ++k) decides = decides || all.strides[d][k + 2] != 0;
    if (!decides) {
      rest.sizes[rest.ndim] = all.sizes[d];
      rest.numel *= all.sizes[d];
      for (int k = 0; k < 2; ++k) rest.strides[rest.ndim][k] = all.strides[d][k];
      ++rest.ndim;
      continue;
    }
    if (dims == kIndexDims) return false;
    sizes[dims] = all.sizes[d];
    n *= all.sizes[d];
    for (int k = 0; k < all.operands; ++k) all.strides[dims][k] = all.strides[d][k];
    ++dims;
  }
  if (dims == 0) {
    sizes[dims] = 1;
    for (int k = 0; k < all.operands; ++k) all.strides[dims][k] = 0;
    ++dims;
  }
  rest.base[0] = rest.base[1] = nullptr;
  rest.finish(1);
  if (n > kMaxPlaces || rest.numel > kPieceElements || rest.ndim > kIndexDims) return false;
  s->at = make_strided<kMaxIndices + 2>(all, dims, sizes, all.base);
  s->dense = make_strided<1>(all, dims, sizes, all.base);
  s->rest = make_strided<2>(rest, rest.ndim, rest.sizes, rest.base);
  s->by = loop.by;
  s->code = code_of(out.dtype());
  s->item = item_size(out.dtype());
  return true;
}

void combine_in_order(const Call& call, const Places& s, const Tensor& out,
                      const CombineRule& how) {
  int64_t last = 0;
  for (int d = 0; d < out.ndim(); ++d) last += (out.size(d) - 1) * out.stride(d);
  const SortMemory memory(call, s.at.numel);
  launch<offsets_as_keys>(call, shape_for(call, s.at.numel), s, memory.pairs);
  sort_pairs(call, memory.pairs, bits_for(last + 1), memory.scratch, memory.scratch_bytes);
  with_compute(out.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    const Rule rule{how.op, how.with_self && how.op != CombineOp::Last};
    const C scale = how.scale.to<C>();
    launch<combine_sorted<C>>(call, shape_for(call, memory.pairs.n * s.rest.numel), s, memory.pairs,
                              scale, rule);
    if (memory.pairs.n <= kLongRun) return;
    const Shape shape{std::min(ceil_div(memory.pairs.n, kLongRun), max_blocks(call)), 256, 0};
    if (s.rest.numel >= kWarp)
      launch<combine_long_runs<C, true>>(call, shape, s, memory.pairs, scale, rule);
    else
      launch<combine_long_runs<C, false>>(call, shape, s, memory.pairs, scale, rule);
  });
}

}  // namespace

bool combines_in_order(const Call& call, DType dtype, const CombineRule& how) {
  if (how.op == CombineOp::Mean || how.op == CombineOp::Last || !how.with_self) return true;
  const bool varies =
      is_floating(dtype) && (how.op == CombineOp::Add || how.op == CombineOp::Multiply);
  return varies && call.deterministic() && !how.distinct;
}

uint64_t combine_workspace_bytes(int64_t combinations) {
  return combinations == 0 || combinations > kMaxPlaces ? 0 : sort_workspace_bytes(combinations);
}

tn_status combine_elements(const Call& call, IndexLoop& loop, const Tensor& out, const Tensor& self,
                           const CombineRule& how) {
  const bool sorted = combines_in_order(call, out.dtype(), how);
  Places s{};
  if (sorted && !loop.empty() && !make_places(loop, out, &s)) return TN_DECLINED;
  copy_unless_same(call, out, self);
  if (loop.empty()) return TN_OK;
  if (sorted) {
    combine_in_order(call, s, out, how);
    return TN_OK;
  }
  with_compute(out.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<combine_atomic<C, At::kOperands>>(call, shape_for(call, at.numel), at, loop.by,
                                               code_of(out.dtype()), how.scale.to<C>(), how.op);
    });
  });
  return TN_OK;
}

}  // namespace tenon::cuda
