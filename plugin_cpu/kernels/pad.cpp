// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Borders made of the elements themselves, and their gradients. Overwritten: the output. 16-bit
// floats are summed in float.
#include <algorithm>
#include <vector>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/reflection_pad1d.h"
#include "tenon/sdk/ops/reflection_pad1d_backward.h"
#include "tenon/sdk/ops/reflection_pad2d.h"
#include "tenon/sdk/ops/reflection_pad2d_backward.h"
#include "tenon/sdk/ops/reflection_pad3d.h"
#include "tenon/sdk/ops/reflection_pad3d_backward.h"
#include "tenon/sdk/ops/replication_pad1d.h"
#include "tenon/sdk/ops/replication_pad1d_backward.h"
#include "tenon/sdk/ops/replication_pad2d.h"
#include "tenon/sdk/ops/replication_pad2d_backward.h"
#include "tenon/sdk/ops/replication_pad3d.h"
#include "tenon/sdk/ops/replication_pad3d_backward.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// Where each element of a padded dimension comes from.
struct Axis {
  int64_t in = 1, out = 1;
  std::vector<int64_t> source{0};
};

Axis axis(int64_t in, int64_t out, int64_t before, bool reflect) {
  Axis a{in, out, std::vector<int64_t>(static_cast<std::size_t>(out))};
  for (int64_t o = 0; o < out; ++o) {
    const int64_t i = o - before, low = reflect ? -i : 0,
                  high = reflect ? 2 * (in - 1) - i : in - 1;
    a.source[static_cast<std::size_t>(o)] = i < 0 ? low : i >= in ? high : i;
  }
  return a;
}

// Planes of up to three dimensions; those that are not there have one element.
struct Padding {
  int64_t planes = 1;
  Axis depth, height, width;
  int64_t before, run;  // elements of a line that lie in one piece: out[before + i] = in[from + i]
  int64_t from;

  Padding(Tensor in, Tensor out, Ints pad, bool reflect) {
    const int nd = static_cast<int>(pad.size()) / 2;
    for (int d = 0; d < in.ndim() - nd; ++d) planes *= in.size(d);
    Axis* const axes[] = {&width, &height, &depth};
    for (int k = 0; k < nd; ++k) {
      const int d = in.ndim() - 1 - k;
      *axes[k] = axis(in.size(d), out.size(d), pad[2 * k], reflect);
    }
    const int64_t first = pad[0];
    before = std::clamp<int64_t>(first, 0,
                                 width.out);  // negative padding after it may cut the border off
    from = std::clamp<int64_t>(-first, 0, width.in);
    run = std::max<int64_t>(0, std::min(width.out - before, width.in - from));
  }
  int64_t in_plane() const { return depth.in * height.in * width.in; }
  int64_t lines() const { return depth.out * height.out; }
  // The input line of an output line, both counted in their planes.
  int64_t line_source(int64_t line) const {
    return depth.source[static_cast<std::size_t>(line / height.out)] * height.in +
           height.source[static_cast<std::size_t>(line % height.out)];
  }
};

template <class T>
void pad_lines(const Padding& p, const T* x, T* y) {
  const int64_t lines = p.lines();
  parallel_for(p.planes * lines, std::max<int64_t>(1, kMoveGrain / p.width.out),
               [&](int64_t begin, int64_t end) {
                 for (int64_t n = begin; n < end; ++n) {
                   const T* in =
                       x + n / lines * p.in_plane() + p.line_source(n % lines) * p.width.in;
                   T* out = y + n * p.width.out;
                   const int64_t* source = p.width.source.data();
                   for (int64_t o = 0; o < p.before; ++o) out[o] = in[source[o]];
                   std::copy(in + p.from, in + p.from + p.run, out + p.before);
                   for (int64_t o = p.before + p.run; o < p.width.out; ++o) out[o] = in[source[o]];
                 }
               });
}

template <class T>
void add_lines(const Padding& p, const T* dy, T* dx) {
  using C = compute_t<T>;
  const int64_t lines = p.lines(), n = p.in_plane();
  const int64_t grain = std::max<int64_t>(1, kMoveGrain / (lines * p.width.out));
  parallel_for(p.planes, grain, [&](int64_t begin, int64_t end) {
    std::vector<C> sums(std::is_same_v<C, T> ? 0 : static_cast<std::size_t>(n));
    for (int64_t plane = begin; plane < end; ++plane) {
      C* sum;
      if constexpr (std::is_same_v<C, T>)
        sum = dx + plane * n;
      else
        sum = sums.data();
      std::fill(sum, sum + n, C(0));
      for (int64_t l = 0; l < lines; ++l) {
        const T* grad = dy + (plane * lines + l) * p.width.out;
        C* to = sum + p.line_source(l) * p.width.in;
        for (int64_t o = 0; o < p.width.out; ++o) {
          to[p.width.source[static_cast<std::size_t>(o)]] += static_cast<C>(grad[o]);
        }
      }
      if constexpr (!std::is_same_v<C, T>) {
        for (int64_t i = 0; i < n; ++i) dx[plane * n + i] = T(sum[i]);
      }
    }
  });
}

template <bool reflect>
tn_status pad(Call&, Tensor out, Tensor self, Ints padding) {
  if (out.numel() == 0) return TN_OK;
  const Padding p(self, out, padding, reflect);
  dispatch_any_size(self.dtype(), [&](auto tag) {
    pad_lines(p, self.data<tn_type(tag)>(), out.data<tn_type(tag)>());
  });
  return TN_OK;
}

template <bool reflect>
tn_status pad_backward(Call&, Tensor out, Tensor grad, Tensor, Ints padding) {
  if (out.numel() == 0) return TN_OK;
  const Padding p(out, grad, padding, reflect);
  dispatch_floating(out.dtype(), [&](auto tag) {
    add_lines(p, grad.data<tn_type(tag)>(), out.data<tn_type(tag)>());
  });
  return TN_OK;
}

constexpr bool kReflect = true, kReplicate = false;

}  // namespace

TN_KERNEL(reflection_pad1d, pad<kReflect>, dtypes("all,complex"));
TN_KERNEL(reflection_pad1d_backward, pad_backward<kReflect>, dtypes("floating"));
TN_KERNEL(reflection_pad2d, pad<kReflect>, dtypes("all,complex"));
TN_KERNEL(reflection_pad2d_backward, pad_backward<kReflect>, dtypes("floating"));
TN_KERNEL(reflection_pad3d, pad<kReflect>, dtypes("all,complex"));
TN_KERNEL(reflection_pad3d_backward, pad_backward<kReflect>, dtypes("floating"));
TN_KERNEL(replication_pad1d, pad<kReplicate>, dtypes("all,complex"));
TN_KERNEL(replication_pad1d_backward, pad_backward<kReplicate>, dtypes("floating"));
TN_KERNEL(replication_pad2d, pad<kReplicate>, dtypes("all,complex"));
TN_KERNEL(replication_pad2d_backward, pad_backward<kReplicate>, dtypes("floating"));
TN_KERNEL(replication_pad3d, pad<kReplicate>, dtypes("all,complex"));
TN_KERNEL(replication_pad3d_backward, pad_backward<kReplicate>, dtypes("floating"));

}  // namespace tenon::cpu
