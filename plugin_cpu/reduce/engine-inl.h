// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions for one instruction set. An Op has
//   In, Acc, Out                      types of elements, of the accumulator, of the result
//   Acc identity() const
//   Acc load(In, int64_t output) const   an element's contribution to the result of that number
//   static Acc combine(Acc, Acc)
//   Out finish(Acc) const
// Results depend on shape and strides alone: work is cut into fixed blocks, whose partial results
// are combined in a fixed tree. Nothing is accumulated over more than kBlock consecutive elements,
// so that the error of a float sum grows with the logarithm of its length.
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
inline constexpr int kTogether = 4;    // rows that are read side by side
inline constexpr int64_t kRows = 128;  // rows accumulated before they are added to the rest

// Partial results combined as the leaves of a balanced binary tree.
template <class Op>
class Cascade {
 public:
  void add(typename Op::Acc v) {
    for (uint64_t c = count_++; c & 1; c >>= 1) v = Op::combine(stack_[--top_], v);
    stack_[top_++] = v;
  }
  typename Op::Acc total(const Op& op) {
    if (top_ == 0) return op.identity();
    typename Op::Acc v = stack_[--top_];
    while (top_ > 0) v = Op::combine(stack_[--top_], v);
    return v;
  }

 private:
  uint64_t count_ = 0;
  int top_ = 0;
  typename Op::Acc stack_[64];
};

template <class Op>
typename Op::Acc Run(const Op& op, const char* p, int64_t stride, int64_t n, int64_t output) {
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

// Elements [begin, end) of the reduced dimensions, for one result.
template <class Op>
typename Op::Acc Rows(const Op& op, const Dims& red, const char* p, int64_t begin, int64_t end,
                      int64_t output) {
  Cascade<Op> sum;
  for (int64_t i = begin; i < end;) {
    int64_t in = 0, none = 0;
    red.locate(i, &in, &none);
    const int64_t left = red.sizes[0] - i % red.sizes[0];
    int64_t n = left < end - i ? left : end - i;
    if (n > kBlock) n = kBlock;
    sum.add(Run(op, p + in, red.in[0], n, output));
    i += n;
  }
  return sum.total(op);
}

// Results from the partial ones of their chunks, which lie side by side.
template <class Op>
__attribute__((noinline, noclone)) void Combine(const Op& op, const Plan& plan,
                                                const typename Op::Acc* partial, int64_t chunks) {
  for (int64_t o = 0; o < plan.kept.count; ++o) {
    Cascade<Op> sum;
    for (int64_t c = 0; c < chunks; ++c) sum.add(partial[o * chunks + c]);
    int64_t in, out;
    plan.kept.locate(o, &in, &out);
    *reinterpret_cast<typename Op::Out*>(plan.out + out) = op.finish(sum.total(op));
  }
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
      const Acc v = Rows(op, plan.reduced, plan.in + in, first, last, o);
      if (partial)
        partial[task] = v;
      else
        *reinterpret_cast<typename Op::Out*>(plan.out + out) = op.finish(v);
    }
  };
  sdk::parallel_for(outputs * chunks, kChunk / each, range);
  if (partial) Combine(op, plan, partial.get(), chunks);
}

// Rows [begin, end) of the reduced dimensions added into `columns` neighboring results.
template <class Op>
void Columns(const Op& op, const Dims& red, const char* p, int64_t begin, int64_t end,
             int64_t output, int64_t columns, typename Op::Acc* total) {
  using In = typename Op::In;
  using Acc = typename Op::Acc;
  const auto row = [&](int64_t i) HWY_ATTR {
    int64_t in = 0, none = 0;
    red.locate(i, &in, &none);
    return reinterpret_cast<const In*>(p + in);
  };
  Acc acc[kColumns];
  for (int64_t j = 0; j < columns; ++j) total[j] = op.identity();
  for (int64_t i = begin; i < end;) {
    for (int64_t j = 0; j < columns; ++j) acc[j] = op.identity();
    const int64_t last = i + kRows < end ? i + kRows : end;
    for (; i + kTogether <= last; i += kTogether) {
      const In *q0 = row(i), *q1 = row(i + 1), *q2 = row(i + 2), *q3 = row(i + 3);
      for (int64_t k = 0; k < columns; ++k) {
        Acc a = Op::combine(acc[k], op.load(q0[k], output + k));
        a = Op::combine(a, op.load(q1[k], output + k));
        a = Op::combine(a, op.load(q2[k], output + k));
        acc[k] = Op::combine(a, op.load(q3[k], output + k));
      }
    }
    for (; i < last; ++i) {
      const In* q = row(i);
      for (int64_t k = 0; k < columns; ++k) acc[k] = Op::combine(acc[k], op.load(q[k], output + k));
    }
    for (int64_t j = 0; j < columns; ++j) total[j] = Op::combine(total[j], acc[j]);
  }
}

template <class Op>
void Store(const Op& op, const Plan& plan, char* out, const typename Op::Acc* acc,
           int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    *reinterpret_cast<typename Op::Out*>(out + j * plan.kept.out[0]) = op.finish(acc[j]);
  }
}

// Rows of partial results, `step` apart, combined into the first: the tree of Cascade for each
// column.
template <class Op>
void CombineColumns(typename Op::Acc* rows, int64_t chunks, int64_t step, int64_t columns) {
  const auto join = [&](int64_t a, int64_t b) {
    typename Op::Acc *to = rows + a * step, *v = rows + b * step;
    for (int64_t j = 0; j < columns; ++j) to[j] = Op::combine(to[j], v[j]);
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
      Columns(op, plan.reduced, plan.in + in, r0, r1, first, columns, to);
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
      CombineColumns<Op>(partial.get() + first, chunks, plan.kept.count, columns);
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

// f(type, plan) reduces elements of that type, integers into int64: where another dtype is asked
// for, in a buffer.
template <class F>
void ReduceTo(const Plan& plan, sdk::DType in, sdk::DType out, F&& f) {
  const bool direct = sdk::is_floating(in) || sdk::dtype_key(out) == sdk::dtype_key(sdk::kInt64);
  const std::unique_ptr<WideResults> wide(direct ? nullptr : new WideResults(plan));
  const Plan& used = direct ? plan : wide->plan;
  sdk::dispatch_all(in, [&](auto tag) HWY_ATTR { f(tag, used); });
  if (wide) wide->store(plan, out);
}

}  // namespace
}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
