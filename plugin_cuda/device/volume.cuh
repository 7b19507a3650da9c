// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Images and volumes with any strides, as [N, C, depth, height, width]: missing dimensions have one
// element. A thread's element is found by 32-bit divisions where there are fewer than 2^31.
#pragma once

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

inline constexpr int kVolumeDims = 5;

// The index of the first of nd spatial dimensions among the five.
inline constexpr int first_spatial(int nd) { return kVolumeDims - nd; }

// The dimension of a tensor that is dimension k of the five; -1: none.
inline int dim_of(const sdk::Tensor& t, int nd, int k) {
  const int d = k >= first_spatial(nd) ? k - kVolumeDims + t.ndim()
                : k >= 2               ? -1
                                       : k - 2 + t.ndim() - nd;
  return d >= 0 ? d : -1;
}
inline int64_t extent_of(const sdk::Tensor& t, int nd, int k) {
  const int d = dim_of(t, nd, k);
  return d < 0 ? 1 : t.size(d);
}

struct Place {
  int32_t at[kVolumeDims];
};

// The shape that a loop runs over.
struct Extents {
  int64_t numel = 1;
  int32_t size[kVolumeDims];
  Divider by[kVolumeDims];
  bool narrow;

  Extents() = default;
  explicit Extents(const int64_t* sizes) {
    for (int k = 0; k < kVolumeDims; ++k) {
      size[k] = static_cast<int32_t>(sizes[k]);
      by[k] = Divider(static_cast<uint32_t>(sizes[k] > 0 ? sizes[k] : 1));
      numel *= sizes[k];
    }
    narrow = numel <= INT32_MAX;
  }
  Extents(const sdk::Tensor& t, int nd) {
    int64_t sizes[kVolumeDims];
    for (int k = 0; k < kVolumeDims; ++k) sizes[k] = extent_of(t, nd, k);
    *this = Extents(sizes);
  }

  TN_DEVICE Place place(int64_t i) const {
    Place p;
    if (narrow) {
      uint32_t rest = static_cast<uint32_t>(i);
      for (int k = kVolumeDims - 1; k > 0; --k) {
        const uint32_t next = by[k].divide(rest);
        p.at[k] = static_cast<int32_t>(rest - next * by[k].divisor);
        rest = next;
      }
      p.at[0] = static_cast<int32_t>(rest);
    } else {
      for (int k = kVolumeDims - 1; k > 0; --k) {
        p.at[k] = static_cast<int32_t>(i % size[k]);
        i /= size[k];
      }
      p.at[0] = static_cast<int32_t>(i);
    }
    return p;
  }
};

// The addresses of a tensor's elements.
struct Volume {
  char* p = nullptr;
  int64_t stride[kVolumeDims] = {};  // bytes

  Volume() = default;
  Volume(const sdk::Tensor& t, int nd) : p(t.data<char>()) {
    for (int k = 0; k < kVolumeDims; ++k) {
      const int d = dim_of(t, nd, k);
      stride[k] = d < 0 ? 0 : t.stride(d) * sdk::item_size(t.dtype());
    }
  }
  // The plane of a place.
  TN_DEVICE char* plane(const Place& at) const {
    return p + at.at[0] * stride[0] + at.at[1] * stride[1];
  }
  TN_DEVICE char* element(const Place& at) const {
    return plane(at) + at.at[2] * stride[2] + at.at[3] * stride[3] + at.at[4] * stride[4];
  }
};

// Whether sums of a few 32-bit positions cannot overflow.
inline bool fits_volume(const sdk::Tensor& t) {
  for (int64_t s : t.sizes()) {
    if (s > INT32_MAX / 4) return false;
  }
  return true;
}

// How elements are read and computed: T as its compute type, integers of any width as int64_t.
template <class T>
struct FloatElements {
  using C = sdk::compute_t<T>;
  TN_DEVICE C get(const char* p) const { return static_cast<C>(read<T>(p)); }
  TN_DEVICE void put(char* p, C v) const { write(p, T(v)); }
};
struct IntegerElements {
  using C = int64_t;
  Code code;
  TN_DEVICE C get(const char* p) const { return load<int64_t>(p, code); }
  TN_DEVICE void put(char* p, C v) const { store(p, code, v); }
};

template <class F>
void with_elements(sdk::DType d, F&& f) {
  if (!sdk::is_floating(d)) return f(IntegerElements{code_of(d)});
  sdk::dispatch_floating(d, [&](auto tag) { f(FloatElements<tn_type(tag)>{}); });
}

}  // namespace tenon::cuda
