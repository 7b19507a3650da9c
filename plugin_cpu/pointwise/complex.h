// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loops of pointwise operators over complex numbers, which are compiled for one instruction set
// only: their functions are the C library's. Op is what opgen writes for an operator.
#pragma once

#include <type_traits>

#include "plugin_cpu/pointwise/engine.h"

namespace tenon::cpu::pw {

template <class Op, class T>
struct ComplexLoops {
  using Out = std::conditional_t<Op::kOutBool, bool, T>;
  using First = std::conditional_t<Op::kMask, uint8_t, T>;

  template <bool kLastIsValue>
  static void run(char* out, const char* const* in, const char* params, int64_t n) {
    Out* o = reinterpret_cast<Out*>(out);
    const T* p = reinterpret_cast<const T*>(params);
    const First* a = reinterpret_cast<const First*>(in[0]);
    if constexpr (Op::kInputs == 1) {
      for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(a[i], p);
    } else {
      const T* b = reinterpret_cast<const T*>(in[1]);
      const auto last = [&](const T* v, int64_t i) { return kLastIsValue ? *v : v[i]; };
      if constexpr (Op::kInputs == 2) {
        for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(a[i], last(b, i), p);
      } else {
        const T* c = reinterpret_cast<const T*>(in[2]);
        for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(a[i], b[i], last(c, i), p);
      }
    }
  }
};

template <class Op>
const Loops* complex_loops() {
  using Narrow = ComplexLoops<Op, sdk::complex<float>>;
  using Wide = ComplexLoops<Op, sdk::complex<double>>;
  static constexpr Loops loops = [] {
    Loops l{};
    l.inputs = Op::kInputs;
    l.mask = Op::kMask;
    l.out_bool = Op::kOutBool;
    l.full[kKindC64] = &Narrow::template run<false>;
    l.full[kKindC128] = &Wide::template run<false>;
    if constexpr (Op::kInputs > 1) {
      l.value[kKindC64] = &Narrow::template run<true>;
      l.value[kKindC128] = &Wide::template run<true>;
    }
    return l;
  }();
  return &loops;
}

}  // namespace tenon::cpu::pw
