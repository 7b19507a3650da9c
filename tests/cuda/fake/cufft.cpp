// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuFFT's transforms by their definition, on the fake streams. As the real one, it overwrites the
// input of a transform to real numbers.
#include <cufft.h>

#include <cmath>
#include <complex>
#include <map>
#include <vector>

#include "late_work.h"

namespace {

using tenon::fake::enqueue;
using Complex = std::complex<double>;

constexpr std::size_t kWorkBytes = 512;

struct Plan {
  std::vector<int64_t> sizes;
  int64_t batch = 0;
  cufftType type = CUFFT_C2C;
  void *stream = nullptr, *work = nullptr;
  int64_t points() const {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return n;
  }
  int64_t half_points() const { return points() / sizes.back() * (sizes.back() / 2 + 1); }
};
std::map<cufftHandle, Plan>& plans() {
  static std::map<cufftHandle, Plan> p;
  return p;
}

#define BEGIN() \
  if (tenon_fake_call("cufft") != 0) return CUFFT_INTERNAL_ERROR

// One signal in place, dimension by dimension.
void transform(std::vector<Complex>& x, const std::vector<int64_t>& sizes, int direction) {
  int64_t inner = 1;
  for (std::size_t d = sizes.size(); d-- > 0; inner *= sizes[d]) {
    const int64_t n = sizes[d], outer = static_cast<int64_t>(x.size()) / (n * inner);
    std::vector<Complex> line(static_cast<std::size_t>(n));
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const auto at = [&](int64_t k) -> Complex& {
          return x[static_cast<std::size_t>((o * n + k) * inner + i)];
        };
        for (int64_t k = 0; k < n; ++k) {
          Complex sum = 0;
          for (int64_t j = 0; j < n; ++j) {
            const double angle =
                direction * 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
            sum += at(j) * std::polar(1.0, angle);
          }
          line[static_cast<std::size_t>(k)] = sum;
        }
        for (int64_t k = 0; k < n; ++k) at(k) = line[static_cast<std::size_t>(k)];
      }
    }
  }
}

// Element `i` of the whole spectrum from the half that is stored.
template <class C>
Complex from_half(const C* half, const std::vector<int64_t>& sizes, int64_t i) {
  const int64_t n = sizes.back(), kept = n / 2 + 1, last = i % n;
  const bool mirrored = last >= kept;
  int64_t rest = i / n, row = 0, apart = 1;
  for (std::size_t d = sizes.size() - 1; d-- > 0;) {
    const int64_t k = rest % sizes[d];
    row += (mirrored && k > 0 ? sizes[d] - k : k) * apart;
    apart *= sizes[d];
    rest /= sizes[d];
  }
  const C v = half[row * kept + (mirrored ? n - last : last)];
  return {v.x, mirrored ? -v.y : v.y};
}

template <class C>
void run_c2c(const Plan& p, const C* from, C* to, int direction) {
  const int64_t n = p.points();
  for (int64_t b = 0; b < p.batch; ++b) {
    std::vector<Complex> x;
    for (int64_t i = 0; i < n; ++i) x.emplace_back(from[b * n + i].x, from[b * n + i].y);
    transform(x, p.sizes, direction);
    for (int64_t i = 0; i < n; ++i) {
      const Complex v = x[static_cast<std::size_t>(i)];
      to[b * n + i] =
          C{static_cast<decltype(C::x)>(v.real()), static_cast<decltype(C::x)>(v.imag())};
    }
  }
}

template <class R, class C>
void run_r2c(const Plan& p, const R* from, C* to) {
  const int64_t n = p.points(), last = p.sizes.back(), kept = last / 2 + 1;
  for (int64_t b = 0; b < p.batch; ++b) {
    std::vector<Complex> x(from + b * n, from + (b + 1) * n);
    transform(x, p.sizes, CUFFT_FORWARD);
    for (int64_t i = 0; i < p.half_points(); ++i) {
      const Complex v = x[static_cast<std::size_t>(i / kept * last + i % kept)];
      to[b * p.half_points() + i] = C{static_cast<R>(v.real()), static_cast<R>(v.imag())};
    }
  }
}

template <class C, class R>
void run_c2r(const Plan& p, C* from, R* to) {
  const int64_t n = p.points();
  for (int64_t b = 0; b < p.batch; ++b) {
    std::vector<Complex> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(from_half(from + b * p.half_points(), p.sizes, i));
    transform(x, p.sizes, CUFFT_INVERSE);
    for (int64_t i = 0; i < n; ++i)
      to[b * n + i] = static_cast<R>(x[static_cast<std::size_t>(i)].real());
  }
  for (int64_t i = 0; i < p.batch * p.half_points(); ++i) from[i] = C{-7, -7};
}

// The real signal of a transform to or from one must begin where complex numbers may, too.
bool is_aligned(cufftType type, const void* p) {
  const bool wide = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
  return reinterpret_cast<uintptr_t>(p) % (wide ? 16 : 8) == 0;
}

// Runs f with a copy of the plan when the stream does; the type must be that of the call.
template <class F>
cufftResult execute(cufftHandle handle, cufftType type, const void* from, const void* to, F f) {
  BEGIN();
  if (!is_aligned(type, from) || !is_aligned(type, to)) return CUFFT_INVALID_VALUE;
  const auto at = plans().find(handle);
  if (at == plans().end()) return CUFFT_INVALID_PLAN;
  if (at->second.type != type || !at->second.work) return CUFFT_INVALID_VALUE;
  enqueue(at->second.stream, [plan = at->second, f] {
    std::fill_n(static_cast<char*>(plan.work), kWorkBytes, 7);
    f(plan);
  });
  return CUFFT_SUCCESS;
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  BEGIN();
  static cufftHandle next = 0;
  *handle = ++next;
  plans()[*handle];
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  if (plans().erase(handle)) tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle, int automatic) {
  BEGIN();
  return automatic ? CUFFT_NOT_SUPPORTED : CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* inembed,
                                long long istride, long long, long long* onembed, long long ostride,
                                long long, cufftType type, long long batch, size_t* bytes) {
  BEGIN();
  if (rank < 1 || rank > 3 || inembed || onembed || istride != 1 || ostride != 1 || batch < 1)
    return CUFFT_INVALID_VALUE;
  Plan& p = plans()[handle];
  p.sizes.assign(n, n + rank);
  for (const int64_t s : p.sizes)
    if (s < 1) return CUFFT_INVALID_SIZE;
  p.batch = batch;
  p.type = type;
  *bytes = kWorkBytes;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* work) {
  BEGIN();
  plans()[handle].work = work;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  BEGIN();
  plans()[handle].stream = stream;
  return CUFFT_SUCCESS;
}
cufftResult cufftExecC2C(cufftHandle h, cufftComplex* from, cufftComplex* to, int direction) {
  return execute(h, CUFFT_C2C, from, to, [=](const Plan& p) { run_c2c(p, from, to, direction); });
}
cufftResult cufftExecZ2Z(cufftHandle h, cufftDoubleComplex* from, cufftDoubleComplex* to,
                         int direction) {
  return execute(h, CUFFT_Z2Z, from, to, [=](const Plan& p) { run_c2c(p, from, to, direction); });
}
cufftResult cufftExecR2C(cufftHandle h, cufftReal* from, cufftComplex* to) {
  return execute(h, CUFFT_R2C, from, to, [=](const Plan& p) { run_r2c(p, from, to); });
}
cufftResult cufftExecD2Z(cufftHandle h, cufftDoubleReal* from, cufftDoubleComplex* to) {
  return execute(h, CUFFT_D2Z, from, to, [=](const Plan& p) { run_r2c(p, from, to); });
}
cufftResult cufftExecC2R(cufftHandle h, cufftComplex* from, cufftReal* to) {
  return execute(h, CUFFT_C2R, from, to, [=](const Plan& p) { run_c2r(p, from, to); });
}
cufftResult cufftExecZ2D(cufftHandle h, cufftDoubleComplex* from, cufftDoubleReal* to) {
  return execute(h, CUFFT_Z2D, from, to, [=](const Plan& p) { run_c2r(p, from, to); });
}
}
