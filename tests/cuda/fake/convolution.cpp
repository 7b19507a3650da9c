// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "convolution.h"

#include <vector>

#include "numbers.h"

namespace tenon::fake {
namespace {

int64_t product(const int64_t* v, int64_t n) {
  int64_t p = 1;
  for (int64_t i = 0; i < n; ++i) p *= v[i];
  return p;
}

// Advances `at` in a box of `sizes`; false after the last index.
bool next(int64_t* at, const int64_t* sizes, int64_t nd) {
  for (int64_t d = nd - 1; d >= 0; --d) {
    if (++at[d] < sizes[d]) return true;
    at[d] = 0;
  }
  return false;
}

// f(position in the input's plane, in the output's plane, tap) for each tap inside the input.
template <class F>
void for_each_tap(const Convolution& c, F&& f) {
  int64_t out[3] = {}, output = 0;
  do {
    int64_t tap[3] = {}, t = 0;
    do {
      int64_t input = 0;
      bool inside = true;
      for (int64_t d = 0; d < c.nd; ++d) {
        const int64_t at = out[d] * c.stride[d] - c.padding[d] + tap[d] * c.dilation[d];
        inside &= at >= 0 && at < c.x[2 + d];
        input = input * c.x[2 + d] + at;
      }
      if (inside) f(input, output, t);
      ++t;
    } while (next(tap, c.w + 2, c.nd));
    ++output;
  } while (next(out, c.y + 2, c.nd));
}

}  // namespace

bool fits(const Convolution& c) {
  bool ok = c.nd >= 2 && c.nd <= 3 && c.x[0] == c.y[0] && c.w[0] == c.y[1] && c.w[1] > 0 &&
            c.x[1] % c.w[1] == 0 && c.w[0] % (c.x[1] / c.w[1]) == 0;
  for (int64_t d = 0; ok && d < c.nd; ++d) {
    const int64_t room = c.x[2 + d] + 2 * c.padding[d] - c.dilation[d] * (c.w[2 + d] - 1) - 1;
    ok = room >= 0 && c.y[2 + d] == room / c.stride[d] + 1;
  }
  return ok;
}

void convolve(const Convolution& c, void* x, void* w, void* y) {
  const int64_t xs = product(c.x + 2, c.nd), ws = product(c.w + 2, c.nd),
                ys = product(c.y + 2, c.nd);
  const int64_t groups = c.x[1] / c.w[1], filters = c.w[0] / groups;
  const int64_t counts[] = {c.y[0] * c.y[1] * ys, c.x[0] * c.x[1] * xs, c.w[0] * c.w[1] * ws};
  std::vector<double> vy = read(c.type, y, counts[0]), vx = read(c.type, x, counts[1]),
                      vw = read(c.type, w, counts[2]);
  std::vector<double>& result = c.op == ConvOp::Forward        ? vy
                                : c.op == ConvOp::BackwardData ? vx
                                                               : vw;
  result.assign(result.size(), 0);
  for (int64_t n = 0; n < c.x[0]; ++n) {
    for (int64_t k = 0; k < c.w[0]; ++k) {
      for (int64_t q = 0; q < c.w[1]; ++q) {
        const int64_t channel = k / filters * c.w[1] + q;
        for_each_tap(c, [&](int64_t in, int64_t out, int64_t tap) {
          double& px = vx[static_cast<std::size_t>((n * c.x[1] + channel) * xs + in)];
          double& py = vy[static_cast<std::size_t>((n * c.y[1] + k) * ys + out)];
          double& pw = vw[static_cast<std::size_t>((k * c.w[1] + q) * ws + tap)];
          if (c.op == ConvOp::Forward) py += px * pw;
          if (c.op == ConvOp::BackwardData) px += py * pw;
          if (c.op == ConvOp::BackwardFilter) pw += px * py;
        });
      }
    }
  }
  write(c.type, result, c.op == ConvOp::Forward ? y : c.op == ConvOp::BackwardData ? x : w);
}

void add_bias(const Bias& b, const void* bias, void* image) {
  const std::vector<double> one = read(b.type, bias, b.channels);
  std::vector<double> all = read(b.type, image, b.batch * b.channels * b.plane);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto channel =
        i / static_cast<std::size_t>(b.plane) % static_cast<std::size_t>(b.channels);
    all[i] = b.alpha * one[channel] + b.beta * all[i];
  }
  write(b.type, all, image);
}

}  // namespace tenon::fake
