// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Accumulating and reducing into tensors: 16-bit floats are summed in float32 scratch.
#pragma once

#include <algorithm>
#include <cmath>

#include "plugin_cpu/memory/along_dim.h"

namespace tenon::cpu {

// Runs f(target, tag of its element type, tag of out's) with a float32 copy of out as the target
// for 16-bit floats.
template <class Tag, class F>
void accumulate_as(Tag tag, const sdk::Tensor& out, F&& f) {
  if constexpr (sdk::is_half_v<tn_type(tag)>) {
    Scratch wide(out.sizes(), sdk::kFloat32);
    copy_elements(wide.tensor(), out);
    f(wide.tensor(), sdk::Type<float>{}, tag);
    copy_elements(out, wide.tensor());
  } else {
    f(out, tag, tag);
  }
}
template <class F>
void accumulate_in(const sdk::Tensor& out, F&& f) {
  sdk::dispatch_all(out.dtype(), [&](auto tag) { accumulate_as(tag, out, f); });
}
// For sums, which complex numbers have, too.
template <class F>
void sum_in(const sdk::Tensor& out, F&& f) {
  sdk::dispatch_any(out.dtype(), [&](auto tag) { accumulate_as(tag, out, f); });
}

// Integers wrap; for bool, adding is "or" and multiplying is "and".
template <class A>
void add_to(A& t, A v) {
  if constexpr (std::is_same_v<A, bool>)
    t = t || v;
  else if constexpr (std::is_integral_v<A>)
    t = static_cast<A>(static_cast<uint64_t>(t) + static_cast<uint64_t>(v));
  else
    t += v;
}
template <class A>
void multiply_to(A& t, A v) {
  if constexpr (std::is_same_v<A, bool>)
    t = t && v;
  else if constexpr (std::is_integral_v<A>)
    t = static_cast<A>(static_cast<uint64_t>(t) * static_cast<uint64_t>(v));
  else
    t *= v;
}

enum class ReduceMode { Sum, Prod, Mean, Max, Min };

inline ReduceMode parse_reduce_mode(sdk::Str s) {
  if (s == "sum") return ReduceMode::Sum;
  if (s == "prod") return ReduceMode::Prod;
  if (s == "mean") return ReduceMode::Mean;
  return s == "amax" ? ReduceMode::Max : ReduceMode::Min;
}

template <class A>
void reduce_into(A& t, A v, ReduceMode mode) {
  switch (mode) {
    case ReduceMode::Sum:
    case ReduceMode::Mean:
      add_to<A>(t, v);
      return;
    case ReduceMode::Prod:
      multiply_to<A>(t, v);
      return;
    case ReduceMode::Max:
      if (v > t || v != v) t = v;
      return;
    case ReduceMode::Min:
      if (v < t || v != v) t = v;
      return;
  }
}

// Integers round towards minus infinity.
template <class A>
A mean_of(A sum, int64_t count) {
  if constexpr (std::is_floating_point_v<A>)
    return static_cast<A>(sum / static_cast<A>(count));
  else
    return static_cast<A>(std::floor(static_cast<double>(sum) / static_cast<double>(count)));
}

// target /= counts + own, where something was reduced into it.
template <class A>
void divide_by_counts(const sdk::Tensor& target, const sdk::Tensor& counts, int64_t own) {
  sdk::StridedLoop loop(target.sizes());
  if (loop.numel == 0) return;
  loop.add(target);
  loop.add(counts);
  loop.finish();
  loop.run(0, loop.numel, [&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = *reinterpret_cast<const int64_t*>(p[1] + i * s[1]);
      A& t = *reinterpret_cast<A*>(p[0] + i * s[0]);
      if (count > 0) t = mean_of<A>(t, count + own);
    }
  });
}

// Reduces values into out by the name of a reduction: f(target, counts, reduce) calls
// reduce(element of target, its count, value) with their addresses, for each value. The first one
// replaces an element that is not included.
template <class F>
void reduce_all_into(const sdk::Tensor& out, sdk::Str reduce, bool include_self, F&& f) {
  const ReduceMode mode = parse_reduce_mode(reduce);
  Scratch counts(out.sizes(), sdk::kInt64);
  std::fill_n(counts.tensor().data<int64_t>(), out.numel(), int64_t{0});
  accumulate_in(out, [&](const sdk::Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    f(target, counts.tensor(), [mode, include_self](char* element, char* count, const char* value) {
      A& t = *reinterpret_cast<A*>(element);
      const A v = convert<A>(*reinterpret_cast<const T*>(value));
      if ((*reinterpret_cast<int64_t*>(count))++ == 0 && !include_self)
        t = v;
      else
        reduce_into<A>(t, v, mode);
    });
    if (mode == ReduceMode::Mean)
      divide_by_counts<A>(target, counts.tensor(), include_self ? 1 : 0);
  });
}

}  // namespace tenon::cpu
