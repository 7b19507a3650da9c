// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions of Vec<T> from SLEEF (libm on the baseline). SLEEF's header hides what the command line
// does not enable, hence the declarations. Included by vec-inl.h, once per target.
HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
#define TN_SLEEF_F(name, ulp) Sleef_##name##f16_##ulp##avx512f
#define TN_SLEEF_D(name, ulp) Sleef_##name##d8_##ulp##avx512f
#define TN_SLEEF_FV __m512
#define TN_SLEEF_DV __m512d
#elif HWY_TARGET == HWY_AVX2
#define TN_SLEEF_F(name, ulp) Sleef_##name##f8_##ulp##avx2
#define TN_SLEEF_D(name, ulp) Sleef_##name##d4_##ulp##avx2
#define TN_SLEEF_FV __m256
#define TN_SLEEF_DV __m256d
#elif HWY_TARGET == HWY_NEON
#define TN_SLEEF_F(name, ulp) Sleef_##name##f4_##ulp##advsimd
#define TN_SLEEF_D(name, ulp) Sleef_##name##d2_##ulp##advsimd
#define TN_SLEEF_FV float32x4_t
#define TN_SLEEF_DV float64x2_t
#endif

#ifdef TN_SLEEF_F
#define TN_SLEEF_1(kind, name, sleef, ulp)                               \
  extern "C" TN_SLEEF_FV TN_SLEEF_F(sleef, ulp)(TN_SLEEF_FV);            \
  extern "C" TN_SLEEF_DV TN_SLEEF_D(sleef, ulp)(TN_SLEEF_DV);            \
  TN_SLEEF_FLOAT_##kind(TN_V Vec<float> name(Vec<float> a) {             \
    return Vec<float>(Vec<float>::V{TN_SLEEF_F(sleef, ulp)(a.v.raw)});   \
  }) TN_V Vec<double>                                                    \
  name(Vec<double> a) {                                                  \
    return Vec<double>(Vec<double>::V{TN_SLEEF_D(sleef, ulp)(a.v.raw)}); \
  }
#define TN_SLEEF_2(name, sleef, ulp)                                              \
  extern "C" TN_SLEEF_FV TN_SLEEF_F(sleef, ulp)(TN_SLEEF_FV, TN_SLEEF_FV);        \
  extern "C" TN_SLEEF_DV TN_SLEEF_D(sleef, ulp)(TN_SLEEF_DV, TN_SLEEF_DV);        \
  TN_V Vec<float> name(Vec<float> a, Vec<float> b) {                              \
    return Vec<float>(Vec<float>::V{TN_SLEEF_F(sleef, ulp)(a.v.raw, b.v.raw)});   \
  }                                                                               \
  TN_V Vec<double> name(Vec<double> a, Vec<double> b) {                           \
    return Vec<double>(Vec<double>::V{TN_SLEEF_D(sleef, ulp)(a.v.raw, b.v.raw)}); \
  }
#define TN_SLEEF_ALWAYS TN_SLEEF_1
#else  // one lane a vector
#define TN_SLEEF_1(kind, name, sleef, ulp)                   \
  TN_SLEEF_FLOAT_##kind(TN_V Vec<float> name(Vec<float> a) { \
    return Vec<float>(sdk::math::sleef(hn::GetLane(a.v)));   \
  }) TN_V Vec<double>                                        \
  name(Vec<double> a) {                                      \
    return Vec<double>(sdk::math::sleef(hn::GetLane(a.v)));  \
  }
// For functions that libm rounds by 3 ULP and more.
#define TN_SLEEF_ALWAYS(kind, name, sleef, ulp)                  \
  extern "C" float Sleef_##sleef##f_##ulp(float);                \
  extern "C" double Sleef_##sleef##_##ulp(double);               \
  TN_SLEEF_FLOAT_##kind(TN_V Vec<float> name(Vec<float> a) {     \
    return Vec<float>(Sleef_##sleef##f_##ulp(hn::GetLane(a.v))); \
  }) TN_V Vec<double>                                            \
  name(Vec<double> a) {                                          \
    return Vec<double>(Sleef_##sleef##_##ulp(hn::GetLane(a.v))); \
  }
#define TN_SLEEF_2(name, sleef, ulp)                                         \
  TN_V Vec<float> name(Vec<float> a, Vec<float> b) {                         \
    return Vec<float>(sdk::math::name(hn::GetLane(a.v), hn::GetLane(b.v)));  \
  }                                                                          \
  TN_V Vec<double> name(Vec<double> a, Vec<double> b) {                      \
    return Vec<double>(sdk::math::name(hn::GetLane(a.v), hn::GetLane(b.v))); \
  }
#endif

// OWN: vec_float-inl.h has the float.
#define TN_SLEEF_FLOAT_OWN(...)
#define TN_SLEEF_FLOAT_BOTH(...) __VA_ARGS__
TN_SLEEF_1(OWN, exp, exp, u10)
TN_SLEEF_1(OWN, log, log, u10)
TN_SLEEF_1(OWN, tanh, tanh, u10)
TN_SLEEF_1(OWN, erf, erf, u10)
TN_SLEEF_ALWAYS(OWN, erfc, erfc, u15)
TN_SLEEF_1(BOTH, exp2, exp2, u10)
TN_SLEEF_1(BOTH, expm1, expm1, u10)
TN_SLEEF_1(BOTH, log2, log2, u10)
TN_SLEEF_1(BOTH, log10, log10, u10)
TN_SLEEF_1(BOTH, log1p, log1p, u10)
TN_SLEEF_1(BOTH, sin, sin, u10)
TN_SLEEF_1(BOTH, cos, cos, u10)
TN_SLEEF_1(BOTH, tan, tan, u10)
TN_SLEEF_1(BOTH, asin, asin, u10)
TN_SLEEF_1(BOTH, acos, acos, u10)
TN_SLEEF_1(BOTH, atan, atan, u10)
TN_SLEEF_1(BOTH, sinh_below_end, sinh, u10)
TN_SLEEF_1(BOTH, cosh_below_end, cosh, u10)
TN_SLEEF_1(BOTH, asinh, asinh, u10)
TN_SLEEF_1(BOTH, acosh, acosh, u10)
TN_SLEEF_1(BOTH, atanh, atanh, u10)
TN_SLEEF_ALWAYS(BOTH, lgamma, lgamma, u10)
TN_SLEEF_2(pow, pow, u10)
TN_SLEEF_2(atan2, atan2, u10)
TN_SLEEF_2(hypot, hypot, u05)

#undef TN_SLEEF_1
#undef TN_SLEEF_2
#undef TN_SLEEF_ALWAYS
#undef TN_SLEEF_F
#undef TN_SLEEF_D
#undef TN_SLEEF_FV
#undef TN_SLEEF_DV
#undef TN_SLEEF_FLOAT_OWN
#undef TN_SLEEF_FLOAT_BOTH

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
