// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loops of one op for one instruction set. Included once per target and op, from a generated
// file that has defined the following, which this one undefines:
//   PW_TABLE, PW_NAMESPACE names of the function and of what it needs
//   PW_INPUTS, PW_PARAMS   counts
//   PW_TYPES               the types that loops are made for
//   PW_APPLY               `template <class T, class P> static PW_INLINE R apply(T a, ..., const P&
//   p)` PW_MASK, PW_OUT_BOOL, PW_SIMD   0 or 1
#include "hwy/highway.h"
#if PW_SIMD
#include "plugin_cpu/simd/vec-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::pw::HWY_NAMESPACE {
namespace {
namespace PW_NAMESPACE {

TN_MATH_USING
#if PW_SIMD
using cpu::HWY_NAMESPACE::Vec;
#endif

struct Op {
  PW_APPLY
};

template <class T>
using Out = std::conditional_t<PW_OUT_BOOL, bool, T>;
// A mask may be uint8, where any value but 0 is true.
template <class T>
using First = std::conditional_t<PW_MASK, uint8_t, T>;

// Elements do not depend on each other, also where the result is written over an operand.
#define PW_LOOP(expr) \
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { o[i] = static_cast<Out<T>>(expr); }

template <class T>
struct Numbers {
  T v[PW_PARAMS + 1];
  explicit Numbers(const char* from) {
    for (int i = 0; i < PW_PARAMS; ++i) v[i] = reinterpret_cast<const T*>(from)[i];
  }
  PW_INLINE T operator[](int i) const { return v[i]; }
};

template <class T>
void Full(char* out, const char* const* in, const char* params, int64_t n) {
  Out<T>* o = reinterpret_cast<Out<T>*>(out);
  const Numbers<T> p(params);
  const First<T>* a = reinterpret_cast<const First<T>*>(in[0]);
#if PW_INPUTS == 1
  PW_LOOP(Op::apply(a[i], p))
#else
  const T* b = reinterpret_cast<const T*>(in[1]);
#if PW_INPUTS == 2
  PW_LOOP(Op::apply(a[i], b[i], p))
#else
  const T* c = reinterpret_cast<const T*>(in[2]);
  PW_LOOP(Op::apply(a[i], b[i], c[i], p))
#endif
#endif
}

#if PW_INPUTS > 1
template <class T>
void Value(char* out, const char* const* in, const char* params, int64_t n) {
  Out<T>* o = reinterpret_cast<Out<T>*>(out);
  const Numbers<T> p(params);
  const First<T>* a = reinterpret_cast<const First<T>*>(in[0]);
#if PW_INPUTS == 2
  const T b = *reinterpret_cast<const T*>(in[1]);
  PW_LOOP(Op::apply(a[i], b, p))
#else
  const T* b = reinterpret_cast<const T*>(in[1]);
  const T c = *reinterpret_cast<const T*>(in[2]);
  PW_LOOP(Op::apply(a[i], b[i], c, p))
#endif
}
#endif

#if PW_SIMD
// Vectors throughout: the last, partial one goes through a buffer, so that a value does not depend
// on its position.
template <class T>
struct VecNumbers {
  Vec<T> v[PW_PARAMS + 1];
  explicit VecNumbers(const char* from) {
    for (int i = 0; i < PW_PARAMS; ++i) v[i] = Vec<T>(reinterpret_cast<const T*>(from)[i]);
  }
  PW_INLINE Vec<T> operator[](int i) const { return v[i]; }
};

template <class T, bool kLastIsValue>
void Simd(char* out, const char* const* in, const char* params, int64_t n) {
  const int64_t lanes = Vec<T>::lanes();
  T* o = reinterpret_cast<T*>(out);
  const T* q[PW_INPUTS];
  for (int k = 0; k < PW_INPUTS; ++k) q[k] = reinterpret_cast<const T*>(in[k]);
  const VecNumbers<T> p(params);
  const Vec<T> last(*q[PW_INPUTS - 1]);
  const auto at = [&](int k, int64_t i) HWY_ATTR {
    return kLastIsValue && k == PW_INPUTS - 1 ? last : Vec<T>::load(q[k] + i);
  };
  int64_t i = 0;
#if PW_INPUTS == 1
#define PW_VECTOR(at, i) Op::apply(at(0, i), p)
#elif PW_INPUTS == 2
#define PW_VECTOR(at, i) Op::apply(at(0, i), at(1, i), p)
#else
#define PW_VECTOR(at, i) Op::apply(at(0, i), at(1, i), at(2, i), p)
#endif
  for (; i + lanes <= n; i += lanes) PW_VECTOR(at, i).store(o + i);
  if (i == n) return;
  HWY_ALIGN T buffer[PW_INPUTS][HWY_MAX_BYTES / sizeof(T) + 1] = {};
  for (int k = 0; k < PW_INPUTS; ++k) {
    if (kLastIsValue && k == PW_INPUTS - 1) continue;
    for (int64_t j = i; j < n; ++j) buffer[k][j - i] = q[k][j];
  }
  const auto rest = [&](int k, int64_t) HWY_ATTR {
    return kLastIsValue && k == PW_INPUTS - 1 ? last : Vec<T>::load(buffer[k]);
  };
  HWY_ALIGN T result[HWY_MAX_BYTES / sizeof(T) + 1];
  PW_VECTOR(rest, 0).store(result);
  for (int64_t j = i; j < n; ++j) o[j] = result[j - i];
#undef PW_VECTOR
}
#endif

template <class T>
constexpr LoopFn full() {
#if PW_SIMD
  if constexpr (std::is_floating_point_v<T>) return &Simd<T, false>;
#endif
  return &Full<T>;
}

template <class T>
constexpr LoopFn value() {
#if PW_INPUTS == 1
  return nullptr;
#else
#if PW_SIMD
  if constexpr (std::is_floating_point_v<T>) return &Simd<T, true>;
#endif
  return &Value<T>;
#endif
}

constexpr Loops MakeLoops() {
  Loops l{};
  l.inputs = PW_INPUTS;
  l.mask = PW_MASK;
  l.out_bool = PW_OUT_BOOL;
#define PW_ADD(kind, T)     \
  l.full[kind] = full<T>(); \
  l.value[kind] = value<T>();
  PW_TYPES(PW_ADD)
#undef PW_ADD
  return l;
}

}  // namespace PW_NAMESPACE
}  // namespace

const Loops& PW_TABLE() {
  static constexpr Loops loops = PW_NAMESPACE::MakeLoops();
  return loops;
}

}  // namespace tenon::cpu::pw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#undef PW_LOOP
#undef PW_TABLE
#undef PW_NAMESPACE
#undef PW_INPUTS
#undef PW_PARAMS
#undef PW_MASK
#undef PW_OUT_BOOL
#undef PW_SIMD
#undef PW_TYPES
#undef PW_APPLY
