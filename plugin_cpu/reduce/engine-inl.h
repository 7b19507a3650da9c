// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions for one instruction set. An Op has
//   In, Acc, Out                      types of elements, of the accumulator, of the result
//   Acc identity() const
//   Acc load(In, int64_t output) const   an element's contribution to the result of that number
//   static Acc combine(Acc, Acc)
//   Out finish(Acc) const
// and those that combine in one way share `Combiner`, which has Acc and combine. An Op on float
// serves 16-bit floats, too: they are widened block by block, and results are rounded as they are
// written. Results depend on shape and strides alone: work is cut into fixed blocks, whose partial
// results are combined in a fixed tree. Nothing is accumulated over more than kBlock consecutive
// elements, so that the error of a float sum grows with the logarithm of its length.
#if defined(TENON_CPU_REDUCE_ENGINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_REDUCE_ENGINE_INL_H_
#undef TENON_CPU_REDUCE_ENGINE_INL_H_
#else
#define TENON_CPU_REDUCE_ENGINE_INL_H_
#endif

#include <memory>

#include "hwy/highway.h"
#include "plugin_cpu/reduce/plan.h"
#include "tenon/sdk/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

// Accumulators of a run: fewer, and GCC 12 leaves comparisons scalar.
inline constexpr int kLanes = 32;
inline constexpr int64_t kBlock = 1024;   // elements of a run
inline constexpr int64_t kChunk = 32768;  // elements of a task
// Results side by side: a run of memory long enough to be fetched ahead.
inline constexpr int64_t kColumns = 4096;
inline constexpr int kTogether = 4;       // rows that are read side by side
inline constexpr int64_t kWidened = 512;  // columns of 16-bit floats that are widened at a time
inline constexpr int64_t kRows = 128;     // rows accumulated before they are added to the rest

// Partial results combined as the leaves of a balanced binary tree.
template <class Combiner>
class Cascade {
  using Acc = typename Combiner::Acc;

 public:
  void add(Acc v) {
    for (uint64_t c = count_++; c & 1; c >>= 1) v = Combiner::combine(stack_[--top_], v);
    stack_[top_++] = v;
  }
  Acc total(Acc identity) {
    if (top_ == 0) return identity;
    Acc v = stack_[--top_];
    while (top_ > 0) v = Combiner::combine(stack_[--top_], v);
    return v;
  }

 private:
  uint64_t count_ = 0;
  int top_ = 0;
  Acc stack_[64];
};

template <class Op>
void Write(const Op& op, const Plan& plan, char* out, typename Op::Acc total) {
  const typename Op::Out v = op.finish(total);
  if constexpr (std::is_same_v<typename Op::Out, float>) {
    if (plan.out_kind != Narrow::None) return narrow(plan.out_kind, v, out);
  }
  *reinterpret_cast<typename Op::Out*>(out) = v;
}

template <class Op>
typename Op::Acc RunOf(const Op& op, const char* p, int64_t stride, int64_t n, int64_t output) {
  using In = typename Op::In;
  using Acc = typename Op::Acc;
  if (n < kLanes) {
    Acc a = op.identity();
    for (int64_t i = 0; i < n; ++i)
      a = Op::combine(a, op.load(*reinterpret_cast<const In*>(p + i * stride), output));
    return a;
  }
  Acc acc[kLanes];
  for (int l = 0; l < kLanes; ++l) acc[l] = op.identity();
  int64_t i = 0;
  if (stride == static_cast<int64_t>(sizeof(In))) {
    const In* q = reinterpret_cast<const In*>(p);
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) acc[l] = Op::combine(acc[l], op.load(q[i + l], output));
    }
    for (int l = 0; i < n; ++i, ++l) acc[l] = Op::combine(acc[l], op.load(q[i], output));
  } else {
    for (; i < n; ++i) {
      Acc& a = acc[i % kLanes];
      a = Op::combine(a, op.load(*reinterpret_cast<const In*>(p + i * stride), output));
    }
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) acc[l] = Op::combine(acc[l], acc[l + half]);
  }
  return acc[0];
}

// n elements, at most kBlock.
template <class Op>
typename Op::Acc Run(const Op& op, Narrow kind, const char* p, int64_t stride, int64_t n,
                     int64_t output) {
  if constexpr (std::is_same_v<typename Op::In, float>) {
    if (kind != Narrow::None) {
      float wide[kBlock];
      widen(kind, p, stride, n, wide);
      return RunOf(op, reinterpret_cast<const char*>(wide), sizeof(float), n, output);
    }
  }
  return RunOf(op, p, stride, n, output);
}

// Elements [begin, end) of the reduced dimensions, for one result.
template <class Op>
typename Op::Acc Rows(const Op& op, const Plan& plan, const char* p, int64_t begin, int64_t end,
                      int64_t output) {
  const Dims& red = plan.reduced;
  Cascade<typename Op::Combiner> sum;
  for (int64_t i = begin; i < end;) {
    int64_t in = 0, none = 0;
    red.locate(i, &in, &none);
    const int64_t left = red.sizes[0] - i % red.sizes[0];
    int64_t n = left < end - i ? left : end - i;
    if (n > kBlock) n = kBlock;
    sum.add(Run(op, plan.in_kind, p + in, red.in[0], n, output));
    i += n;
  }
  return sum.total(op.identity());
}

// Of one result, from the partial ones of its chunks, of which there is one at least.
template <class Combiner>
__attribute__((noinline, noclone)) typename Combiner::Acc Combine(
    const typename Combiner::Acc* partial, int64_t chunks) {
  Cascade<Combiner> sum;
  for (int64_t c = 0; c < chunks; ++c) sum.add(partial[c]);
  return sum.total(partial[0]);
}

// One result per kept element; long reductions are cut into chunks. Here and below: inlined where
// the pool calls it and where one thread does, a range would be compiled twice.
template <class Op>
void ByRows(const Op& op, const Plan& plan) {
  using Acc = typename Op::Acc;
  const int64_t outputs = plan.kept.count, length = plan.reduced.count;
  const int64_t chunks = length <= kChunk ? 1 : (length + kChunk - 1) / kChunk;
  std::unique_ptr<Acc[]> partial(chunks > 1 ? new Acc[static_cast<std::size_t>(outputs * chunks)]
                                            : nullptr);
  const int64_t each = length < kChunk ? (length > 0 ? length : 1) : kChunk;
  const auto range = [&](int64_t begin, int64_t end) HWY_NOINLINE {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t o = task / chunks, first = task % chunks * kChunk;
      const int64_t last = first + kChunk < length ? first + kChunk : length;
      int64_t in, out;
      plan.kept.locate(o, &in, &out);
      const Acc v = Rows(op, plan, plan.in + in, first, last, o);
      if (partial)
        partial[task] = v;
      else
        Write(op, plan, plan.out + out, v);
    }
  };
  sdk::parallel_for(outputs * chunks, kChunk / each, range);
  for (int64_t o = 0; partial && o < outputs; ++o) {
    int64_t in, out;
    plan.kept.locate(o, &in, &out);
    Write(op, plan, plan.out + out,
          Combine<typename Op::Combiner>(partial.get() + o * chunks, chunks));
  }
}

// Rows added into the results of their columns.
template <class Op>
void AddRows(const Op& op, const char* const* p, int64_t rows, int64_t columns, int64_t output,
             typename Op::Acc* acc) {
  using In = typename Op::In;
  using Acc = typename Op::Acc;
  const auto at = [&](int64_t r) HWY_ATTR { return reinterpret_cast<const In*>(p[r]); };
  if (rows == kTogether) {
    const In *q0 = at(0), *q1 = at(1), *q2 = at(2), *q3 = at(3);
    for (int64_t k = 0; k < columns; ++k) {
      Acc a = Op::combine(acc[k], op.load(q0[k], output + k));
      a = Op::combine(a, op.load(q1[k], output + k));
      a = Op::combine(a, op.load(q2[k], output + k));
      acc[k] = Op::combine(a, op.load(q3[k], output + k));
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const In* q = at(r);
    for (int64_t k = 0; k < columns; ++k) acc[k] = Op::combine(acc[k], op.load(q[k], output + k));
  }
}

// The same of rows of 16-bit floats.
template <class Op>
void AddNarrowRows(const Op& op, Narrow kind, const char* const* p, int64_t rows, int64_t columns,
                   int64_t output, typename Op::Acc* acc) {
  float wide[kTogether][kWidened];
  const char* q[kTogether];
  for (int64_t k = 0; k < columns; k += kWidened) {
    const int64_t n = columns - k < kWidened ? columns - k : kWidened;
    for (int64_t r = 0; r < rows; ++r) {
      widen(kind, p[r] + 2 * k, 2, n, wide[r]);
      q[r] = reinterpret_cast<const char*>(wide[r]);
    }
    AddRows(op, q, rows, n, output + k, acc + k);
  }
}

// Rows [begin, end) of the reduced dimensions added into `columns` neighboring results.
template <class Op>
void Columns(const Op& op, const Plan& plan, const char* p, int64_t begin, int64_t end,
             int64_t output, int64_t columns, typename Op::Acc* total) {
  using Acc = typename Op::Acc;
  Acc acc[kColumns];
  for (int64_t j = 0; j < columns; ++j) total[j] = op.identity();
  for (int64_t i = begin; i < end;) {
    for (int64_t j = 0; j < columns; ++j) acc[j] = op.identity();
    const int64_t last = i + kRows < end ? i + kRows : end;
    while (i < last) {
      const char* rows[kTogether] = {};
      const int64_t n = last - i < kTogether ? last - i : kTogether;
      for (int64_t r = 0; r < n; ++r, ++i) {
        int64_t in = 0, none = 0;
        plan.reduced.locate(i, &in, &none);
        rows[r] = p + in;
      }
      if constexpr (std::is_same_v<typename Op::In, float>) {
        if (plan.in_kind != Narrow::None) {
          AddNarrowRows(op, plan.in_kind, rows, n, columns, output, acc);
          continue;
        }
      }
      AddRows(op, rows, n, columns, output, acc);
    }
    for (int64_t j = 0; j < columns; ++j) total[j] = Op::combine(total[j], acc[j]);
  }
}

template <class Op>
void Store(const Op& op, const Plan& plan, char* out, const typename Op::Acc* acc,
           int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) Write(op, plan, out + j * plan.kept.out[0], acc[j]);
}

// Rows of partial results, `step` apart, combined into the first: the tree of Cascade for each
// column.
template <class Combiner>
void CombineColumns(typename Combiner::Acc* rows, int64_t chunks, int64_t step, int64_t columns) {
  const auto join = [&](int64_t a, int64_t b) HWY_NOINLINE {
    typename Combiner::Acc *to = rows + a * step, *v = rows + b * step;
    for (int64_t j = 0; j < columns; ++j) to[j] = Combiner::combine(to[j], v[j]);
  };
  int64_t stack[64];
  int top = 0;
  for (int64_t c = 0; c < chunks; ++c) {
    stack[top++] = c;
    for (int64_t n = c; n & 1; n >>= 1, --top) join(stack[top - 2], stack[top - 1]);
  }
  for (; top > 1; --top) join(stack[top - 2], stack[top - 1]);
}

template <class Op>
void ByColumns(const Op& op, const Plan& plan) {
  using Acc = typename Op::Acc;
  const int64_t inner = plan.kept.sizes[0], blocks = (inner + kColumns - 1) / kColumns;
  const int64_t width = inner < kColumns ? inner : kColumns, outer = plan.kept.count / inner;
  const int64_t length = plan.reduced.count,
                height = kChunk / width > kRows ? kChunk / width : kRows;
  const int64_t chunks = (length + height - 1) / height;
  std::unique_ptr<Acc[]> partial(
      chunks > 1 ? new Acc[static_cast<std::size_t>(plan.kept.count * chunks)] : nullptr);
  const int64_t each = width * (length < height ? length : height);
  // Tasks on the same results are neighbors: a thread combines what it has computed.
  const auto range = [&](int64_t begin, int64_t end) HWY_NOINLINE {
    Acc acc[kColumns];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t chunk = task % chunks, at = task / chunks;
      const int64_t first = at / blocks * inner + at % blocks * kColumns;
      const int64_t left = inner - at % blocks * kColumns,
                    columns = left < kColumns ? left : kColumns;
      const int64_t r0 = chunk * height, r1 = r0 + height < length ? r0 + height : length;
      int64_t in, out;
      plan.kept.locate(first, &in, &out);
      Acc* to = partial ? partial.get() + chunk * plan.kept.count + first : acc;
      Columns(op, plan, plan.in + in, r0, r1, first, columns, to);
      if (!partial) Store(op, plan, plan.out + out, acc, columns);
    }
  };
  sdk::parallel_for(outer * blocks * chunks, each < kChunk ? kChunk / each : 1, range);
  if (!partial) return;
  const auto combine = [&](int64_t begin, int64_t end) HWY_NOINLINE {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t first = at / blocks * inner + at % blocks * kColumns;
      const int64_t left = inner - at % blocks * kColumns,
                    columns = left < kColumns ? left : kColumns;
      int64_t in, out;
      plan.kept.locate(first, &in, &out);
      CombineColumns<typename Op::Combiner>(partial.get() + first, chunks, plan.kept.count,
                                            columns);
      Store(op, plan, plan.out + out, partial.get() + first, columns);
    }
  };
  sdk::parallel_for(outer * blocks, 1 + kChunk / (width * chunks), combine);
}

template <class Op>
void Reduce(const Op& op, const Plan& plan) {
  if (plan.kept.count == 0) return;
  if (plan.by_columns)
    ByColumns(op, plan);
  else
    ByRows(op, plan);
}

// f(type) of a float dtype: float for those of 16 bits.
template <class F>
void DispatchWide(sdk::DType dtype, F&& f) {
  if (dtype.bits == 64)
    f(sdk::Type<double>());
  else
    f(sdk::Type<float>());
}

// What adds.
template <class A>
struct Adder {
  using Acc = A;
  using Combiner = Adder;
  static Acc identity() { return Acc(0); }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a + b; }
};

// f(type, plan) reduces elements of that type, integers into int64: where another dtype is asked
// for, in a buffer.
template <class F>
void ReduceTo(const Plan& plan, sdk::DType in, sdk::DType out, F&& f) {
  const bool direct = sdk::is_floating(in) || sdk::dtype_key(out) == sdk::dtype_key(sdk::kInt64);
  const std::unique_ptr<WideResults> wide(direct ? nullptr : new WideResults(plan));
  const Plan& used = direct ? plan : wide->plan;
  if (sdk::is_floating(in))
    DispatchWide(in, [&](auto tag) HWY_ATTR { f(tag, used); });
  else
    sdk::dispatch_integral(sdk::is_bool(in) ? sdk::kUInt8 : in,
                           [&](auto tag) HWY_ATTR { f(tag, used); });
  if (wide) wide->store(plan, out);
}

}  // namespace
}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
