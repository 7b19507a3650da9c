// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Means of windows or cells and their gradients. Overwritten: the output. 16-bit floats are summed
// in float, integers in int64.
#include "tenon/sdk/ops/_adaptive_avg_pool2d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool2d_backward.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d_backward.h"
#include "tenon/sdk/ops/avg_pool2d.h"
#include "tenon/sdk/ops/avg_pool2d_backward.h"
#include "tenon/sdk/ops/avg_pool3d.h"
#include "tenon/sdk/ops/avg_pool3d_backward.h"

#include "plugin_cpu/kernels/mean_window.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

// f(index of the output in its plane, window)
template <class Windows, class F>
void each_output(const Pool& p, Windows&& windows, F&& f) {
  int64_t at = 0;
  int64_t o[3];
  for (o[0] = 0; o[0] < p.out[0]; ++o[0]) {
    for (o[1] = 0; o[1] < p.out[1]; ++o[1]) {
      for (o[2] = 0; o[2] < p.out[2]; ++o[2]) f(at++, windows(o));
    }
  }
}

// Sixteen sums side by side, joined in a fixed order. A few elements are of the first alone.
template <class C, class T>
C sum_of(const T* x, int64_t n) {
  constexpr int64_t kSums = 16;
  if (n < kSums) {
    C sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = static_cast<C>(sum + static_cast<C>(x[i]));
    return sum;
  }
  C sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k)
      sums[k] = static_cast<C>(sums[k] + static_cast<C>(x[i + k]));
  }
  for (; i < n; ++i) sums[0] = static_cast<C>(sums[0] + static_cast<C>(x[i]));
  for (int64_t half = kSums / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) sums[k] = static_cast<C>(sums[k] + sums[k + half]);
  }
  return sums[0];
}

// The mean of one window.
template <class T>
T mean(const Pool& p, const T* plane, const Window& w) {
  using C = sum_t<T>;
  const bool lines = w.from[2] == 0 && w.to[2] == p.in[2];  // whole ones, side by side
  const int64_t joined = lines ? w.to[1] - w.from[1] : 1, run = w.to[2] - w.from[2];
  C sum = 0;
  for (int64_t d = w.from[0]; d < w.to[0]; ++d) {
    for (int64_t h = w.from[1]; h < w.to[1]; h += joined) {
      const T* line = plane + (d * p.in[1] + h) * p.in[2] + w.from[2];
      sum = static_cast<C>(sum + sum_of<C>(line, joined * run));
    }
  }
  return mean_of<T>(sum, w.divisor);
}

// The taps of n windows that begin `stride` apart, each added to the sum of its window.
template <class C, class T>
void add_taps(const T* x, int64_t taps, int64_t stride, int64_t n, C* sums) {
  for (int64_t t = 0; t < taps; ++t, ++x) {
    if (stride == 1) {
      for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<C>(sums[i] + static_cast<C>(x[i]));
    } else if (stride == 2) {
      for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<C>(sums[i] + static_cast<C>(x[2 * i]));
    } else {
      for (int64_t i = 0; i < n; ++i)
        sums[i] = static_cast<C>(sums[i] + static_cast<C>(x[i * stride]));
    }
  }
}

// The means of `side` in a line of outputs, the first of which has the window w. All of them lie
// inside of the line, so that their divisor is one.
template <class T>
void means(const Pool& p, const T* plane, const Window& w, Taps side, T* out) {
  using C = sum_t<T>;
  constexpr int64_t kTogether = 64;
  C sums[kTogether];
  for (int64_t o = side.first; o < side.last; o += kTogether) {
    const int64_t n = std::min(kTogether, side.last - o), at = o * p.stride[2] - p.pad[2];
    std::fill_n(sums, n, C(0));
    for (int64_t d = w.from[0]; d < w.to[0]; ++d) {
      for (int64_t h = w.from[1]; h < w.to[1]; ++h)
        add_taps(plane + (d * p.in[1] + h) * p.in[2] + at, p.kernel[2], p.stride[2], n, sums);
    }
    for (int64_t i = 0; i < n; ++i) out[o + i] = mean_of<T>(sums[i], w.divisor);
  }
}

// Of each line of outputs those of `side` are computed side by side, the others one by one.
template <class T, class Windows>
void forward(const Pool& p, const T* x, T* y, Taps side, Windows&& windows) {
  parallel_for(p.planes, p.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const T* plane = x + q * p.in_plane();
      T* out = y + q * p.out_plane();
      int64_t o[3];
      for (o[0] = 0; o[0] < p.out[0]; ++o[0]) {
        for (o[1] = 0; o[1] < p.out[1]; ++o[1], out += p.out[2]) {
          for (o[2] = 0; o[2] < side.first; ++o[2]) out[o[2]] = mean(p, plane, windows(o));
          if (side.first < side.last) means(p, plane, windows(o), side, out);
          for (o[2] = side.last; o[2] < p.out[2]; ++o[2]) out[o[2]] = mean(p, plane, windows(o));
        }
      }
    }
  });
}

// The outputs of a line whose windows lie inside of it, where those are short: a long one is summed
// faster by itself.
Taps side_by_side(const Pool& p) {
  const Taps inside{outputs_inside(p, 0).first, outputs_inside(p, p.kernel[2] - 1).last};
  return p.kernel[2] <= 16 && inside.first < inside.last ? inside : Taps{0, 0};
}

template <class T, class Windows>
void backward(const Pool& p, const T* dy, T* dx, Windows&& windows) {
  using C = compute_t<T>;
  sum_planes(p, p.grain(), dx, [&](int64_t q, C* sums) {
    const T* grad = dy + q * p.out_plane();
    each_output(p, windows, [&](int64_t at, const Window& w) {
      C share;
      if constexpr (std::is_integral_v<C>)
        share = static_cast<C>(
            math::div_trunc<int64_t>(grad[at], w.divisor));  // a divisor need not fit
      else
        share = static_cast<C>(grad[at]) / static_cast<C>(w.divisor);
      for (int64_t d = w.from[0]; d < w.to[0]; ++d) {
        for (int64_t h = w.from[1]; h < w.to[1]; ++h) {
          C* line = sums + (d * p.in[1] + h) * p.in[2];
          for (int64_t i = w.from[2]; i < w.to[2]; ++i) line[i] = static_cast<C>(line[i] + share);
        }
      }
    });
  });
}

tn_status avg_forward(Tensor out, Tensor self, int nd, Ints kernel, Ints stride, Ints pad,
                      Divisor divisor) {
  if (out.numel() == 0) return TN_OK;
  const Pool p = pool_windows(self, out, nd, kernel, stride, pad, {});
  dispatch_number(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    forward<T>(p, self.data<T>(), out.data<T>(), side_by_side(p),
               [&](const int64_t(&o)[3]) { return window(p, divisor, o); });
  });
  return TN_OK;
}

tn_status avg_backward(Tensor out, Tensor grad, int nd, Ints kernel, Ints stride, Ints pad,
                       Divisor divisor) {
  if (out.numel() == 0) return TN_OK;
  const Pool p = pool_windows(out, grad, nd, kernel, stride, pad, {});
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    backward<T>(p, grad.data<T>(), out.data<T>(),
                [&](const int64_t(&o)[3]) { return window(p, divisor, o); });
  });
  return TN_OK;
}

tn_status cells(Tensor out, Tensor self, int nd) {
  if (out.numel() == 0) return TN_OK;
  const Pool p = pool_shape(self, out, nd);
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (p.out_plane() == 1) {  // every plane has the same window
      const Window whole = cell_window(p, {0, 0, 0});
      forward<T>(p, self.data<T>(), out.data<T>(), {0, 0},
                 [&](const int64_t(&)[3]) { return whole; });
      return;
    }
    forward<T>(p, self.data<T>(), out.data<T>(), {0, 0},
               [&](const int64_t(&o)[3]) { return cell_window(p, o); });
  });
  return TN_OK;
}

tn_status cells_backward(Tensor out, Tensor grad, int nd) {
  if (out.numel() == 0) return TN_OK;
  const Pool p = pool_shape(out, grad, nd);
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    backward<T>(p, grad.data<T>(), out.data<T>(),
                [&](const int64_t(&o)[3]) { return cell_window(p, o); });
  });
  return TN_OK;
}

using OptInt = std::optional<int64_t>;

tn_status avg_pool2d(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
                     bool include_pad, OptInt divisor) {
  return avg_forward(out, self, 2, kernel, stride, pad, {include_pad, divisor});
}
tn_status avg_pool3d(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
                     bool include_pad, OptInt divisor) {
  return avg_forward(out, self, 3, kernel, stride, pad, {include_pad, divisor});
}
tn_status avg_pool2d_backward(Call&, Tensor out, Tensor grad, Tensor, Ints kernel, Ints stride,
                              Ints pad, bool, bool include_pad, OptInt divisor) {
  return avg_backward(out, grad, 2, kernel, stride, pad, {include_pad, divisor});
}
tn_status avg_pool3d_backward(Call&, Tensor out, Tensor grad, Tensor, Ints kernel, Ints stride,
                              Ints pad, bool, bool include_pad, OptInt divisor) {
  return avg_backward(out, grad, 3, kernel, stride, pad, {include_pad, divisor});
}
tn_status adaptive2d(Call&, Tensor out, Tensor self, Ints) { return cells(out, self, 2); }
tn_status adaptive3d(Call&, Tensor out, Tensor self, Ints) { return cells(out, self, 3); }
tn_status adaptive2d_backward(Call&, Tensor out, Tensor grad, Tensor) {
  return cells_backward(out, grad, 2);
}
tn_status adaptive3d_backward(Call&, Tensor out, Tensor grad, Tensor) {
  return cells_backward(out, grad, 3);
}

}  // namespace

TN_KERNEL(avg_pool2d, avg_pool2d, dtypes("number"));
TN_KERNEL(avg_pool3d, avg_pool3d, dtypes("number"));
TN_KERNEL(avg_pool2d_backward, avg_pool2d_backward, dtypes("number"));
TN_KERNEL(avg_pool3d_backward, avg_pool3d_backward, dtypes("number"));
TN_KERNEL(_adaptive_avg_pool2d, adaptive2d, dtypes("floating"));
TN_KERNEL(_adaptive_avg_pool2d_backward, adaptive2d_backward, dtypes("floating"));
TN_KERNEL(_adaptive_avg_pool3d, adaptive3d, dtypes("floating"));
TN_KERNEL(_adaptive_avg_pool3d_backward, adaptive3d_backward, dtypes("floating"));
