// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random operators. An element of float64, and of a range above 2^32, takes two words, the first
// one the high half; others take one. Bits depend on seed, offset and the element's position alone.
#include "tenon/sdk/ops/uniform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugin_cpu/memory/elements.h"
#include "plugin_cpu/random/floats.h"
#include "plugin_cpu/random/words.h"
#include "tenon/sdk/integers.h"
#include "tenon/sdk/ops/bernoulli.h"
#include "tenon/sdk/ops/exponential.h"
#include "tenon/sdk/ops/native_dropout.h"
#include "tenon/sdk/ops/native_dropout_backward.h"
#include "tenon/sdk/ops/normal.h"
#include "tenon/sdk/ops/prim_philox.h"
#include "tenon/sdk/ops/random.h"
#include "tenon/sdk/philox.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// Bits of a uniform number of T: its precision.
template <class T>
inline constexpr int kBits = 24;
template <>
inline constexpr int kBits<Half> = 11;
template <>
inline constexpr int kBits<BFloat16> = 8;
template <class T>
inline constexpr int kWords = 1;
template <>
inline constexpr int kWords<double> = 2;

tn_status uniform(Call&, Tensor out, Tensor, double from, double to, Generator g) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    T* p = out.data<T>();
    const C low = static_cast<C>(from), range = static_cast<C>(to) - low;
    each_random(g, out.numel(), kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
      if constexpr (std::is_same_v<T, float>) return uniform_floats(w, n, low, range, p + at);
      for (int64_t i = 0; i < n; ++i) {
        C u;
        if constexpr (std::is_same_v<T, double>)
          u = philox_double(wide_word(w, i));
        else
          u = static_cast<float>(static_cast<int32_t>(w[i] >> (32 - kBits<T>))) *
              (1.0f / (1 << kBits<T>));
        p[at + i] = T(u * range + low);
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(uniform, uniform, dtypes("floating").inplace("0=0"));

tn_status normal(Call&, Tensor out, Tensor, double mean, double std, Generator g) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    T* p = out.data<T>();
    const C shift = static_cast<C>(mean), scale = static_cast<C>(std);
    const int64_t size = out.numel();
    // Rounded up to pairs: the words of the last partner are reserved.
    each_random(g, (size + 1) / 2 * 2, kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
      if constexpr (!std::is_same_v<T, double>) {
        alignas(64) float z[kRandomRun + kNormalPad];
        normal_floats(w, n, z);
        const int64_t count = std::min(n, size - at);
        for (int64_t i = 0; i < count; ++i) p[at + i] = T(z[i] * scale + shift);
        return;
      }
      for (int64_t i = 0; i < n; i += 2) {
        double a, b;
        philox_normal2(wide_word(w, i), wide_word(w, i + 1), &a, &b);
        p[at + i] = T(a * scale + shift);
        if (at + i + 1 < size) p[at + i + 1] = T(b * scale + shift);
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(normal, normal, dtypes("floating").inplace("0=0"));

tn_status exponential(Call&, Tensor out, Tensor, double lambd, Generator g) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    T* p = out.data<T>();
    each_random(g, out.numel(), kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
      for (int64_t i = 0; i < n; ++i) {
        double u;
        if constexpr (std::is_same_v<T, double>)
          u = philox_double(wide_word(w, i));
        else
          u = static_cast<double>(w[i] >> 8) * 0x1p-24;
        p[at + i] = T(static_cast<C>(-std::log1p(-u) / lambd));
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(exponential, exponential, dtypes("floating").inplace("0=0"));

// from + word % range; a range of 0 stands for 2^64.
void integers(const Tensor& out, const Generator& g, int64_t from, uint64_t range, int words) {
  dispatch_all(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    T* p = out.data<T>();
    each_random(g, out.numel(), words, [&](int64_t at, int64_t n, const uint32_t* w) {
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t word = words == 2 ? wide_word(w, i) : w[i];
        const uint64_t v = range == 0    ? word
                           : words == 2  ? word % range
                           : range >> 32 ? word
                                         : w[i] % static_cast<uint32_t>(range);
        p[at + i] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(from) + v));
      }
    });
  });
}

void integers_to(const Tensor& out, const Generator& g, int64_t from, int64_t last, bool wide) {
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
  integers(out, g, from, range, wide || range == 0 || (range - 1) >> 32 != 0 ? 2 : 1);
}

tn_status random_from(Call&, Tensor out, Tensor, int64_t from, std::optional<int64_t> to,
                      Generator g) {
  integers_to(out, g, from, to ? *to - 1 : INT64_MAX, !to);
  return TN_OK;
}
TN_KERNEL(random_from, random_from, dtypes("all").inplace("0=0"));

tn_status random_to(Call&, Tensor out, Tensor, int64_t to, Generator g) {
  integers_to(out, g, 0, to - 1, false);
  return TN_OK;
}
TN_KERNEL(random_to, random_to, dtypes("all").inplace("0=0"));

// Up to the largest number below which the dtype holds all integers.
tn_status random_range(Call&, Tensor out, Tensor, Generator g) {
  const DType t = out.dtype();
  integers_to(out, g, 0, max_exact_integer(t), t == kInt64 || t == kFloat64);
  return TN_OK;
}
TN_KERNEL(random, random_range, dtypes("all").inplace("0=0"));

// The number of 24-bit words below p * 2^24: u < p for exactly those.
uint32_t threshold(double p) { return static_cast<uint32_t>(std::ceil(p * 0x1p24)); }

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) throw Error(TN_ERROR_VALUE, "probabilities must be in [0, 1], got ", p);
}

// T is the dtype of the result: float64 compares 53 bits.
template <class T>
void bernoulli_of(const Tensor& out, const Generator& g, double p) {
  T* o = out.data<T>();
  const uint32_t limit = threshold(p);
  each_random(g, out.numel(), kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
    if constexpr (std::is_same_v<T, double>) {
      for (int64_t i = 0; i < n; ++i) o[at + i] = philox_double(wide_word(w, i)) < p ? 1.0 : 0.0;
    } else if constexpr (std::is_same_v<T, float>) {
      bernoulli_floats(w, n, limit, o + at);
    } else {
      const T one = convert<T>(1.0f), zero = convert<T>(0.0f);
      for (int64_t i = 0; i < n; ++i) o[at + i] = (w[i] >> 8) < limit ? one : zero;
    }
  });
}

tn_status bernoulli_float(Call&, Tensor out, Tensor, double p, Generator g) {
  dispatch_all(out.dtype(), [&](auto tag) { bernoulli_of<tn_type(tag)>(out, g, p); });
  return TN_OK;
}
TN_KERNEL(bernoulli_float, bernoulli_float, dtypes("all").inplace("0=0"));

// Probabilities are all checked before the first write.
template <class T, class P>
void bernoulli_each(const Tensor& out, const P* p, const Generator& g) {
  T* o = out.data<T>();
  const int64_t size = out.numel();
  parallel_for(size, kMoveGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) check_probability(static_cast<double>(p[i]));
  });
  each_random(g, size, kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
    for (int64_t i = 0; i < n; ++i) {
      const double probability = static_cast<double>(p[at + i]);
      double u;
      if constexpr (std::is_same_v<T, double>)
        u = philox_double(wide_word(w, i));
      else
        u = static_cast<double>(w[i] >> 8) * 0x1p-24;
      o[at + i] = convert<T>(u < probability ? 1.0f : 0.0f);
    }
  });
}

tn_status bernoulli(Call&, Tensor out, Tensor self, Generator g) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    bernoulli_each<tn_type(tag)>(out, self.data<tn_type(tag)>(), g);
  });
  return TN_OK;
}
TN_KERNEL(bernoulli, bernoulli, dtypes("floating"));

tn_status bernoulli_tensor(Call&, Tensor out, Tensor, Tensor p, Generator g) {
  dispatch_all(out.dtype(), [&](auto tag) {
    dispatch_floating(p.dtype(), [&](auto p_tag) {
      bernoulli_each<tn_type(tag)>(out, p.data<tn_type(p_tag)>(), g);
    });
  });
  return TN_OK;
}
TN_KERNEL(bernoulli_Tensor, bernoulli_tensor, dtypes("all").mixed_dtypes().inplace("0=0"));

template <class T>
void apply_dropout(const Tensor& out, const Tensor& keep, const Tensor& input, double p,
                   const Generator& g) {
  using C = compute_t<T>;
  const T* x = input.data<T>();
  T* o = out.data<T>();
  uint8_t* k = keep.data<uint8_t>();
  const uint32_t limit = threshold(1 - p);
  const C scale = p == 1 ? C(0) : static_cast<C>(1 / (1 - p));
  each_random(g, out.numel(), kWords<T>, [&](int64_t at, int64_t n, const uint32_t* w) {
    uint8_t* __restrict kept = k + at;
    if constexpr (std::is_same_v<T, float>) {
      dropout_floats(w, x + at, o + at, kept, n, limit, scale);
      return;
    }
    if constexpr (std::is_same_v<T, double>) {
      for (int64_t i = 0; i < n; ++i) kept[i] = philox_double(wide_word(w, i)) < 1 - p;
    } else {
      for (int64_t i = 0; i < n; ++i) kept[i] = (w[i] >> 8) < limit;
    }
    for (int64_t i = 0; i < n; ++i)
      o[at + i] = kept[i] ? T(static_cast<C>(x[at + i]) * scale) : T(C(0));
  });
}

tn_status native_dropout(Call&, Tensor out, Tensor keep, Tensor input, double p,
                         std::optional<bool> train, Generator g) {
  if (train && !*train) {
    copy_elements(out, input);
    std::fill_n(keep.data<char>(), keep.numel(), char{1});
    return TN_OK;
  }
  dispatch_floating(out.dtype(),
                    [&](auto tag) { apply_dropout<tn_type(tag)>(out, keep, input, p, g); });
  return TN_OK;
}
TN_KERNEL(native_dropout, native_dropout, dtypes("floating"));

tn_status native_dropout_backward(Call&, Tensor out, Tensor grad, Tensor mask, double scale) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    const T* g = grad.data<T>();
    const uint8_t* m = mask.data<uint8_t>();
    T* o = out.data<T>();
    const C s = static_cast<C>(scale);
    parallel_for(out.numel(), kMoveGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) o[i] = m[i] ? T(static_cast<C>(g[i]) * s) : T(C(0));
    });
  });
  return TN_OK;
}
TN_KERNEL(native_dropout_backward, native_dropout_backward, dtypes("floating"));

// The raw words, from which devices without random operators compute their values.
tn_status prim_philox(Call&, Tensor out, Ints, std::optional<DType>, std::optional<int64_t>,
                      std::optional<Device>, std::optional<bool>, Generator g) {
  int32_t* p = out.data<int32_t>();
  each_random(g, out.numel(), 1, [&](int64_t at, int64_t n, const uint32_t* w) {
    std::memcpy(p + at, w, static_cast<std::size_t>(n) * sizeof(uint32_t));
  });
  return TN_OK;
}
TN_KERNEL(prim_philox, prim_philox, dtypes("int32"));

}  // namespace
}  // namespace tenon::cpu
