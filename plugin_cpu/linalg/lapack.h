// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LAPACK through its C interface, opened when the first factorization needs it. Matrices are
// column-major. The routines are those that take their work space, and look for no NaN.
#pragma once

#include <type_traits>

#include "tenon/sdk/complex.h"

namespace tenon::cpu::lapack {

inline constexpr int kColumnMajor = 102;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<sdk::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename RealOf<T>::type;

// The routines for one element type; complex ones take real work space, too.
template <class T, class R = real_t<T>, bool complex = sdk::is_complex_v<T>>
struct Routines;

// Those whose arguments are the same for real and complex numbers, or that have real ones alone:
// routine of float, double, complex<float> and complex<double>, and the type of the function.
#define TENON_LAPACK_COMMON(X)                                                                  \
  X(getrf, sgetrf, dgetrf, cgetrf, zgetrf, int (*)(int, int, int, T*, int, int*))               \
  X(getrs, sgetrs, dgetrs, cgetrs, zgetrs,                                                      \
    int (*)(int, char, int, int, const T*, int, const int*, T*, int))                           \
  X(potrf, spotrf, dpotrf, cpotrf, zpotrf, int (*)(int, char, int, T*, int))                    \
  X(pstrf, spstrf, dpstrf, cpstrf, zpstrf, int (*)(int, char, int, T*, int, int*, int*, R, R*)) \
  X(geqrf, sgeqrf, dgeqrf, cgeqrf, zgeqrf, int (*)(int, int, int, T*, int, T*, T*, int))        \
  X(orgqr, sorgqr, dorgqr, cungqr, zungqr,                                                      \
    int (*)(int, int, int, int, T*, int, const T*, T*, int))                                    \
  X(ormqr, sormqr, dormqr, cunmqr, zunmqr,                                                      \
    int (*)(int, char, char, int, int, int, const T*, int, const T*, T*, int, T*, int))         \
  X(sytrf, ssytrf, dsytrf, csytrf, zsytrf, int (*)(int, char, int, T*, int, int*, T*, int))     \
  X(sytrs, ssytrs, dsytrs, csytrs, zsytrs,                                                      \
    int (*)(int, char, int, int, const T*, int, const int*, T*, int))                           \
  X(hetrf, ssytrf, dsytrf, chetrf, zhetrf, int (*)(int, char, int, T*, int, int*, T*, int))     \
  X(hetrs, ssytrs, dsytrs, chetrs, zhetrs,                                                      \
    int (*)(int, char, int, int, const T*, int, const int*, T*, int))                           \
  X(gels, sgels, dgels, cgels, zgels,                                                           \
    int (*)(int, char, int, int, int, T*, int, T*, int, T*, int))                               \
  X(larfg, slarfg, dlarfg, clarfg, zlarfg, int (*)(int, T*, T*, int, T*))                       \
  X(sterf, ssterf, dsterf, ssterf, dsterf, int (*)(int, R*, R*))                                \
  X(stedc, sstedc, dstedc, sstedc, dstedc,                                                      \
    int (*)(int, char, int, R*, R*, R*, int, R*, int, int*, int))                               \
  X(bdsdc, sbdsdc, dbdsdc, sbdsdc, dbdsdc,                                                      \
    int (*)(int, char, char, int, R*, R*, R*, int, R*, int, R*, int*, R*, int*))

// Those that differ: the same, with the types of the real and of the complex function.
#define TENON_LAPACK_OTHERS(X)                                                      \
  X(syevd, ssyevd, dsyevd, cheevd, zheevd,                                          \
    int (*)(int, char, char, int, T*, int, R*, T*, int, int*, int),                 \
    int (*)(int, char, char, int, T*, int, R*, T*, int, R*, int, int*, int))        \
  X(geev, sgeev, dgeev, cgeev, zgeev,                                               \
    int (*)(int, char, char, int, T*, int, R*, R*, T*, int, T*, int, T*, int),      \
    int (*)(int, char, char, int, T*, int, T*, T*, int, T*, int, T*, int, R*))      \
  X(gesdd, sgesdd, dgesdd, cgesdd, zgesdd,                                          \
    int (*)(int, char, int, int, T*, int, R*, T*, int, T*, int, T*, int, int*),     \
    int (*)(int, char, int, int, T*, int, R*, T*, int, T*, int, T*, int, R*, int*)) \
  X(gelsy, sgelsy, dgelsy, cgelsy, zgelsy,                                          \
    int (*)(int, int, int, int, T*, int, T*, int, int*, R, int*, T*, int),          \
    int (*)(int, int, int, int, T*, int, T*, int, int*, R, int*, T*, int, R*))      \
  X(gelsd, sgelsd, dgelsd, cgelsd, zgelsd,                                          \
    int (*)(int, int, int, int, T*, int, T*, int, R*, R, int*, T*, int, int*),      \
    int (*)(int, int, int, int, T*, int, T*, int, R*, R, int*, T*, int, R*, int*))  \
  X(gelss, sgelss, dgelss, cgelss, zgelss,                                          \
    int (*)(int, int, int, int, T*, int, T*, int, R*, R, int*, T*, int),            \
    int (*)(int, int, int, int, T*, int, T*, int, R*, R, int*, T*, int, R*))

template <class F>
using function_t = F;

template <class T, class R, bool complex>
struct Routines {
#define TENON_MEMBER(name, s, d, c, z, ...) function_t<__VA_ARGS__> name;
  TENON_LAPACK_COMMON(TENON_MEMBER)
#undef TENON_MEMBER
#define TENON_TWO_TYPES(...) std::conditional_t<complex, Second<__VA_ARGS__>, First<__VA_ARGS__>>
  template <class A, class B>
  using First = A;
  template <class A, class B>
  using Second = B;
#define TENON_MEMBER(name, s, d, c, z, ...) TENON_TWO_TYPES(__VA_ARGS__) name;
  TENON_LAPACK_OTHERS(TENON_MEMBER)
#undef TENON_MEMBER
#undef TENON_TWO_TYPES
  // BLAS, of Fortran: side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb.
  void (*trsm)(const char*, const char*, const char*, const char*, const int*, const int*, const T*,
               const T*, const int*, T*, const int*);
  // The parts of stedc, of Fortran: k, n, n1, d, q, ldq, indxq, rho, z, dlamda, w, q2, indx, indxc,
  // indxp, coltyp, info; n, i, d, z, delta, rho, dlam, info; n1, n2, a, dtrd1, dtrd2, index.
  void (*laed2)(int*, const int*, const int*, R*, R*, const int*, int*, R*, R*, R*, R*, R*, int*,
                int*, int*, int*, int*);
  void (*laed4)(const int*, const int*, const R*, const R*, R*, const R*, R*, int*);
  void (*lamrg)(const int*, const int*, const R*, const int*, const int*, int*);
};

// Opens the library at the first call. Error with the name of the package where it is missing, and
// where the first call of a process would find no memory for its work space.
template <class T>
const Routines<T>& routines();

}  // namespace tenon::cpu::lapack
