// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products over unfolded images, for every dtype that oneDNN does not
// support.
#include <algorithm>
#include <type_traits>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/conv/unfold.h"
#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

namespace tenon::cpu {
namespace {

using sdk::Scalar;

struct Group {
  int64_t channels, filters, columns, plane;
  explicit Group(const Conv& c)
      : channels(c.channels / c.groups),
        filters(c.filters / c.groups),
        columns(channels * c.taps()),
        plane(c.out_plane()) {}
};

template <class T>
Mat<const void> rows(const T* p, int64_t stride) {
  return {p, stride, 1};
}
template <class T>
Mat<const void> flipped(const T* p, int64_t stride) {
  return {p, 1, stride};
}

// A large image is parallelized inside of the product, small ones are distributed over the threads.
template <class F>
void each_image(const Conv& c, F&& f) {
  const int64_t n = c.batch * c.groups, work = std::max<int64_t>(1, c.work() / c.groups);
  if (work > 8 * kGemmSerial && n < 8) {
    f(int64_t{0}, n);
    return;
  }
  sdk::parallel_for(n, std::max<int64_t>(1, kGemmSerial / 4 / work), f);
}

template <class T>
void forward(sdk::DType t, const Conv& c, const T* x, const T* w, const T* bias, T* y) {
  const Group g(c);
  const bool plain = c.plain();
  each_image(c, [&](int64_t begin, int64_t end) {
    Buffer memory(plain ? 0 : g.columns * g.plane * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = begin; i < end; ++i) {
      const T* image = x + i * g.channels * c.in_plane();
      if (!plain) unfold_into(c, g.channels, image, memory.as<T>());
      const int64_t group = i % c.groups;
      T* out = y + i * g.filters * g.plane;
      if (bias) {
        for (int64_t f = 0; f < g.filters; ++f) {
          std::fill(out + f * g.plane, out + (f + 1) * g.plane, bias[group * g.filters + f]);
        }
      }
      gemm(t, g.filters, g.plane, g.columns, Scalar::of(int64_t{1}),
           rows(w + group * g.filters * g.columns, g.columns),
           rows(plain ? image : memory.as<T>(), g.plane), Scalar::of(int64_t{bias != nullptr}),
           {out, g.plane, 1});
    }
  });
}

template <class T>
void backward_data(sdk::DType t, const Conv& c, const T* dy, const T* w, T* dx) {
  const Group g(c);
  const bool plain = c.plain();
  each_image(c, [&](int64_t begin, int64_t end) {
    Buffer memory(plain ? 0 : g.columns * g.plane * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = begin; i < end; ++i) {
      T* image = dx + i * g.channels * c.in_plane();
      T* columns = plain ? image : memory.as<T>();
      const T* weight = w + i % c.groups * g.filters * g.columns;
      gemm(t, g.columns, g.plane, g.filters, Scalar::of(int64_t{1}), flipped(weight, g.columns),
           rows(dy + i * g.filters * g.plane, g.plane), Scalar::of(int64_t{0}),
           {columns, g.plane, 1});
      if (!plain) fold_into(c, g.channels, columns, image);
    }
  });
}

template <class T>
void backward_weights(sdk::DType t, const Conv& c, const T* x, const T* dy, T* dw) {
  const Group g(c);
  const bool plain = c.plain();
  // Groups side by side, images in order: each weight is one sum over the batch.
  const auto run = [&](int64_t begin, int64_t end) {
    Buffer memory(plain ? 0 : g.columns * g.plane * static_cast<int64_t>(sizeof(T)));
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t n = 0; n < c.batch; ++n) {
        const int64_t i = n * c.groups + group;
        const T* image = x + i * g.channels * c.in_plane();
        if (!plain) unfold_into(c, g.channels, image, memory.as<T>());
        gemm(t, g.filters, g.columns, g.plane, Scalar::of(int64_t{1}),
             rows(dy + i * g.filters * g.plane, g.plane),
             flipped(plain ? image : memory.as<T>(), g.plane), Scalar::of(int64_t{n > 0}),
             {dw + group * g.filters * g.columns, g.columns, 1});
      }
    }
  };
  if (c.groups < 4)
    run(0, c.groups);
  else
    sdk::parallel_for(c.groups, 1, run);
}

template <class F>
void typed(sdk::DType t, F&& f) {
  using sdk::operator==;
  if (t == sdk::kFloat32) return f(sdk::Type<float>{});
  if (t == sdk::kFloat64) return f(sdk::Type<double>{});
  sdk::dispatch_integral(t, f);
}

}  // namespace

void conv_forward(sdk::DType t, const Conv& c, const void* x, const void* w, const void* bias,
                  void* y) {
  typed(t, [&](auto tag) {
    using T = tn_type(tag);
    forward<T>(t, c, static_cast<const T*>(x), static_cast<const T*>(w),
               static_cast<const T*>(bias), static_cast<T*>(y));
  });
}

void conv_backward_data(sdk::DType t, const Conv& c, const void* dy, const void* w, void* dx) {
  typed(t, [&](auto tag) {
    using T = tn_type(tag);
    backward_data<T>(t, c, static_cast<const T*>(dy), static_cast<const T*>(w),
                     static_cast<T*>(dx));
  });
}

void conv_backward_weights(sdk::DType t, const Conv& c, const void* x, const void* dy, void* dw) {
  typed(t, [&](auto tag) {
    using T = tn_type(tag);
    backward_weights<T>(t, c, static_cast<const T*>(x), static_cast<const T*>(dy),
                        static_cast<T*>(dw));
  });
}

void add_bias(sdk::DType t, int64_t batch, int64_t filters, int64_t plane, const void* bias,
              void* y) {
  typed(t, [&](auto tag) {
    using T = tn_type(tag);
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, plane));
    sdk::parallel_for(batch * filters, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T b = static_cast<const T*>(bias)[i % filters];
        T* p = static_cast<T*>(y) + i * plane;
        for (int64_t j = 0; j < plane; ++j) p[j] = static_cast<T>(p[j] + b);
      }
    });
  });
}

void bias_gradient(sdk::DType t, int64_t batch, int64_t filters, int64_t plane, const void* dy,
                   void* db) {
  typed(t, [&](auto tag) {
    using T = tn_type(tag);
    using A = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, batch * plane));
    sdk::parallel_for(filters, grain, [&](int64_t begin, int64_t end) {
      for (int64_t f = begin; f < end; ++f) {
        A total = 0;
        for (int64_t n = 0; n < batch; ++n) {
          const T* p = static_cast<const T*>(dy) + (n * filters + f) * plane;
          A part[4] = {};
          int64_t j = 0;
          for (; j + 4 <= plane; j += 4) {
            for (int q = 0; q < 4; ++q) part[q] += static_cast<A>(p[j + q]);
          }
          for (; j < plane; ++j) part[0] += static_cast<A>(p[j]);
          total += part[0] + part[1] + part[2] + part[3];
        }
        static_cast<T*>(db)[f] = static_cast<T>(total);
      }
    });
  });
}

}  // namespace tenon::cpu
