// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements that meet in one place. By atomics where their order does not matter or nobody asked for one; else positions
// are sorted by place, and one thread joins those of a place in their order, or a block where they are many.
#include "plugin_cuda/device/indexed.cuh"
#include "plugin_cuda/device/order.cuh"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class C>
TN_DEVICE C joined(C a, C b, Join join) {
  switch (join) {
    case Join::Add:
    case Join::Mean:
      return a + b;
    case Join::Multiply:
      return a * b;
    case Join::Highest:
      return a > b || a != a ? a : b;
    case Join::Lowest:
      return a < b || a != a ? a : b;
    default:
      return b;
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

// The loop in two: dimensions whose index decides about the place, and those that are the same for all of them.
struct Places {
  Strided<kMostIndices + 2> at;
  Strided<1> dense;  // of `at`
  Strided<2> rest;   // dense, other; from the place
  Indices by;
  Code code;
  int64_t item;
};

__global__ void places_as_keys(Places s, Pairs p) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    int64_t offset[kMostIndices + 2];
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
    return static_cast<C>(std::floor(static_cast<double>(load<C>(p, code)) / static_cast<double>(count)));
  }
}

constexpr int64_t kLongRun = 512;  // positions of a place that one thread joins

struct Rule {
  Join join;
  bool with_self;
};

// What has been joined of a place.
template <class C>
struct Joined {
  C value;
  int64_t count;
};
template <class C>
struct JoinParts {
  Join join;
  TN_DEVICE Joined<C> operator()(const Joined<C>& a, const Joined<C>& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    return {joined(a.value, b.value, join), a.count + b.count};
  }
};

// One column of a place: where it is and where its elements are.
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
  TN_DEVICE Joined<C> element(int64_t i) const {
    int64_t offset[1];
    s.dense.offsets(p.values_out[i], offset);
    return {static_cast<C>(load<C>(from + offset[0], s.code) * scale), 1};
  }
  TN_DEVICE Joined<C> self(const Rule& rule) const {
    return {rule.with_self ? load<C>(to, s.code) : C(0), rule.with_self ? 1 : 0};
  }
  TN_DEVICE void finish(const Joined<C>& all, const Rule& rule) const {
    store(to, s.code, rule.join == Join::Mean ? mean_of(all.value, all.count, s.code) : all.value);
  }
};

// The thread at the first position of a place joins one column of it.
template <class C>
__global__ void join_sorted(Places s, Pairs p, C scale, Rule rule) {
  const int64_t width = s.rest.numel;
  const JoinParts<C> join{rule.join};
  for (int64_t t = global_thread(); t < p.n * width; t += global_threads()) {
    int64_t i = t / width;
    const uint64_t place = p.keys_out[i];
    if (i > 0 && p.keys_out[i - 1] == place) continue;
    if (i + kLongRun < p.n && p.keys_out[i + kLongRun] == place) continue;
    const Column<C> column(s, p, scale, place, t % width);
    Joined<C> all = column.self(rule);
    for (; i < p.n && p.keys_out[i] == place; ++i) all = join(all, column.element(i));
    column.finish(all, rule);
  }
}

// The others hold a multiple of kLongRun: the block of the first one joins them. Lanes are neighbouring columns where
// there are enough, else all threads share the positions of one.
template <class C, bool kWide>
__global__ void join_long(Places s, Pairs p, C scale, Rule rule) {
  const JoinParts<C> join{rule.join};
  const Joined<C> none{C(0), 0};
  for (int64_t at = blockIdx.x * kLongRun; at < p.n; at += gridDim.x * kLongRun) {
    const uint64_t place = p.keys_out[at];
    int64_t start = first_of(p, place);
    const int64_t end = first_of(p, place + 1);
    if (end - start <= kLongRun || at - start >= kLongRun) continue;
    if (rule.join == Join::Last) start = end - 1;
    for (int64_t c = 0; c < s.rest.numel; c += kWide ? kWarp : 1) {
      const int64_t mine = kWide ? c + lane() : c;
      const bool inside = mine < s.rest.numel;
      const Column<C> column(s, p, scale, place, inside ? mine : 0);
      Joined<C> all = none;
      const int64_t first = kWide ? warp_in_block() : threadIdx.x, step = kWide ? warps_of_block() : blockDim.x;
      for (int64_t i = start + first; inside && i < end; i += step) all = join(all, column.element(i));
      if constexpr (kWide) {
        TN_SHARED(Joined<C>, parts, 256);
        parts[threadIdx.x] = all;
        __syncthreads();
        all = none;
        for (int w = 0; w < warps_of_block() && warp_in_block() == 0; ++w) {
          const Joined<C> part = parts[w * kWarp + lane()];
          all = join(all, part);
        }
        __syncthreads();
        if (warp_in_block() == 0 && inside) column.finish(join(column.self(rule), all), rule);
      } else {
        all = block_fold(all, none, join);
        if (threadIdx.x == 0) column.finish(join(column.self(rule), all), rule);
      }
    }
  }
}

// Cuts the loop; false if its indices have too many dimensions or elements. Row-major, which finish() would not keep.
bool make_places(const IndexLoop& loop, const Tensor& out, Places* s) {
  StridedLoop all = loop.loop();
  IndexLoop::fill_up(&all);
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
  if (n > kMostPlaces || rest.numel > kPieceElements || rest.ndim > kIndexDims) return false;
  s->at = make_strided<kMostIndices + 2>(all, dims, sizes, all.base);
  s->dense = make_strided<1>(all, dims, sizes, all.base);
  s->rest = make_strided<2>(rest, rest.ndim, rest.sizes, rest.base);
  s->by = loop.by;
  s->code = code_of(out.dtype());
  s->item = item_size(out.dtype());
  return true;
}

void join_in_order(const Call& call, const Places& s, const Tensor& out, const Joining& how) {
  int64_t last = 0;
  for (int d = 0; d < out.ndim(); ++d) last += (out.size(d) - 1) * out.stride(d);
  const SortMemory memory(call, s.at.numel);
  launch<places_as_keys>(call, shape_for(s.at.numel), s, memory.pairs);
  sort_pairs(call, memory.pairs, bits_for(last + 1), memory.scratch, memory.scratch_bytes);
  with_compute(out.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    const Rule rule{how.join, how.with_self && how.join != Join::Last};
    const C scale = how.scale.to<C>();
    launch<join_sorted<C>>(call, shape_for(memory.pairs.n * s.rest.numel), s, memory.pairs, scale, rule);
    if (memory.pairs.n <= kLongRun) return;
    const Shape shape{std::min(ceil_div(memory.pairs.n, kLongRun), kMostBlocks), 256, 0};
    if (s.rest.numel >= kWarp)
      launch<join_long<C, true>>(call, shape, s, memory.pairs, scale, rule);
    else
      launch<join_long<C, false>>(call, shape, s, memory.pairs, scale, rule);
  });
}

}  // namespace

bool joins_in_order(const Call& call, DType dtype, const Joining& how) {
  if (how.join == Join::Mean || how.join == Join::Last || !how.with_self) return true;
  const bool varies = is_floating(dtype) && (how.join == Join::Add || how.join == Join::Multiply);
  return varies && call.deterministic() && !how.distinct;
}

uint64_t join_workspace_bytes(int64_t combinations) {
  return combinations == 0 || combinations > kMostPlaces ? 0 : sort_workspace_bytes(combinations);
}

tn_status join_each(const Call& call, IndexLoop& loop, const Tensor& out, const Tensor& self, const Joining& how) {
  const bool sorted = joins_in_order(call, out.dtype(), how);
  Places s{};
  if (sorted && !loop.empty() && !make_places(loop, out, &s)) return TN_DECLINED;
  start_from(call, out, self);
  if (loop.empty()) return TN_OK;
  if (sorted) {
    join_in_order(call, s, out, how);
    return TN_OK;
  }
  with_compute(out.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<join_all<C, At::kOperands>>(call, shape_for(at.numel), at, loop.by, code_of(out.dtype()),
                                         how.scale.to<C>(), how.join);
    });
  });
  return TN_OK;
}

}  // namespace tenon::cuda
