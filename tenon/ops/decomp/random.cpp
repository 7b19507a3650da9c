// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random operators: the words are those that the host would draw, and the results are the same
// except for the last digit of logarithms, sines and cosines. core hands over a generator that
// stands at the start of the reserved range.
#include <cmath>
#include <limits>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

using Gen = std::optional<Generator>;
constexpr double kTwoPi = 6.283185307179586476925;

// Words of one draw as non-negative int64, in rows of `per`.
Tensor random_words(int64_t n, int64_t per, const TensorOptions& options, const Gen& g) {
  const Tensor w = tenon::prim_philox({n, per}, options.dtype(kInt), g).to(kLong);
  return w.bitwise_and((int64_t{1} << 32) - 1);
}
Tensor random_words(const Tensor& like, int64_t per, const Gen& g) {
  return random_words(like.numel(), per, options_of(like), g);
}
// Two words as one of 64 bits, the first the high half.
Tensor random_wide_words(int64_t n, const TensorOptions& options, const Gen& g) {
  const Tensor w = random_words(n, 2, options, g);
  return w.select(1, 0).bitwise_left_shift(32).bitwise_or(w.select(1, 1));
}

// The top `bits` of a word, or 53 of two, as a value in [0, 1).
Tensor unit_uniform(const Tensor& like, ScalarType t, int bits, const Gen& g) {
  if (t == kDouble) {
    const Tensor w = random_wide_words(like.numel(), options_of(like), g);
    return (w.bitwise_right_shift(11).bitwise_and((int64_t{1} << 53) - 1).to(kDouble) * 0x1p-53)
        .reshape(like.sizes());
  }
  const Tensor w = random_words(like, 1, g).bitwise_right_shift(32 - bits).to(kFloat);
  return (w * std::ldexp(1.0, -bits)).reshape(like.sizes());
}
Tensor unit_uniform(const Tensor& like, const Gen& g) {
  return unit_uniform(like, like.scalar_type(), 24, g);
}

void check_probabilities(const Tensor& p) {
  const Tensor outside = p.ge(0).logical_and(p.le(1)).logical_not();
  TENON_CHECK(!outside.any().item<bool>(), ValueError,
              "bernoulli: probabilities must be in [0, 1]");
}

// v % r for 64-bit words and a range of 64 bits, both without a sign.
Tensor modulo(const Tensor& v, uint64_t range) {
  const int64_t r = static_cast<int64_t>(range), lowest = std::numeric_limits<int64_t>::min();
  if (range == 0) return v;
  if ((range & (range - 1)) == 0) return v.bitwise_and(r - 1);
  if (r < 0) {  // at most once in it; compared without a sign
    return tenon::where(v.bitwise_xor(lowest).ge(r ^ lowest), v - r, v);
  }
  // 2 * (v / 2 % r) + v % 2, less r if it reaches that.
  const Tensor half =
      v.bitwise_right_shift(1).bitwise_and(std::numeric_limits<int64_t>::max()).remainder(r);
  const Tensor low = v.bitwise_and(1), room = low.neg() + r - half;
  return tenon::where(half.ge(room), half - room, half * 2 + low);
}

Tensor random_integers(const Tensor& self, int64_t from, int64_t last, bool wide, const Gen& g) {
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
  wide = wide || range == 0 || (range - 1) >> 32 != 0;
  Tensor v;
  if (wide)
    v = modulo(random_wide_words(self.numel(), options_of(self), g), range);
  else
    v = range >> 32 ? random_words(self, 1, g)
                    : random_words(self, 1, g).remainder(static_cast<int64_t>(range));
  return (v + from).reshape(self.sizes());
}

}  // namespace

Tensor uniform(const Tensor& self, double from, double to, const Gen& g) {
  const ScalarType t = self.scalar_type();
  const Tensor u = unit_uniform(self, t, t == kHalf ? 11 : t == kBFloat16 ? 8 : 24, g);
  if (t == kDouble) return u * (to - from) + from;
  return u * static_cast<double>(static_cast<float>(to) - static_cast<float>(from)) + from;
}

// Box-Muller: normals 2j and 2j + 1 from the uniform values of elements 2j and 2j + 1, the first
// taken from (0, 1].
Tensor normal(const Tensor& self, double mean, double std, const Gen& g) {
  const int64_t pairs = (self.numel() + 1) / 2;
  const bool is_double = self.scalar_type() == kDouble;
  Tensor u, v;
  if (is_double) {
    const Tensor w = random_wide_words(2 * pairs, options_of(self), g)
                         .reshape({pairs, 2})
                         .bitwise_right_shift(11);
    const Tensor top = w.bitwise_and((int64_t{1} << 53) - 1);
    u = (top.select(1, 0) + 1).to(kDouble) * 0x1p-53;
    v = top.select(1, 1).to(kDouble) * 0x1p-53;
  } else {
    const Tensor top = random_words(pairs, 2, options_of(self), g).bitwise_right_shift(8);
    u = (top.select(1, 0) + 1).to(kFloat) * 0x1p-24;
    v = top.select(1, 1).to(kFloat) * 0x1p-24;
  }
  const Tensor r = (u.log() * -2).sqrt(), angle = v * kTwoPi;
  const Tensor z =
      tenon::stack({r * angle.cos(), r * angle.sin()}, 1).reshape({-1}).narrow(0, 0, self.numel());
  return (z * std + mean).reshape(self.sizes());
}

Tensor exponential(const Tensor& self, double lambd, const Gen& g) {
  return unit_uniform(self, g).neg().log1p().neg() / lambd;
}

Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, const Gen& g) {
  return random_integers(self, from, to ? *to - 1 : std::numeric_limits<int64_t>::max(), !to, g);
}
Tensor random_to(const Tensor& self, int64_t to, const Gen& g) {
  return random_integers(self, 0, to - 1, false, g);
}
Tensor random(const Tensor& self, const Gen& g) {
  const ScalarType t = self.scalar_type();
  int64_t last = t == kDouble     ? int64_t{1} << 53
                 : t == kFloat    ? 1 << 24
                 : t == kHalf     ? 1 << 11
                 : t == kBFloat16 ? 1 << 8
                                  : highest(t).toLong();
  return random_integers(self, 0, last, t == kLong || t == kDouble, g);
}

Tensor bernoulli(const Tensor& self, const Gen& g) {
  check_probabilities(self);
  return unit_uniform(self, g).lt(as(self, self.scalar_type() == kDouble ? kDouble : kFloat));
}
Tensor bernoulli_Tensor(const Tensor& self, const Tensor& p, const Gen& g) {
  check_probabilities(p);
  const Tensor u = unit_uniform(self, g);
  return u.lt(as(p, u.scalar_type()));
}
Tensor bernoulli_float(const Tensor& self, double p, const Gen& g) {
  if (self.scalar_type() == kDouble) return unit_uniform(self, g).lt(p);
  return random_words(self, 1, g)
      .bitwise_right_shift(8)
      .lt(static_cast<int64_t>(std::ceil(p * 0x1p24)))
      .reshape(self.sizes());
}

Both native_dropout(const Tensor& input, double p, std::optional<bool> train, const Gen& g) {
  if (train && !*train) return {input, full(input.sizes(), true, options_of(input, kBool))};
  const Tensor keep = bernoulli_float(input, 1 - p, g), x = wide(input);
  return {tenon::where(keep, x * (p == 1 ? 0.0 : 1 / (1 - p)), scalar_like(0, x)), keep};
}
Tensor native_dropout_backward(const Tensor& grad, const Tensor& mask, double scale) {
  const Tensor g = isFloatingType(grad.scalar_type()) ? wide(grad) : grad.to(get_default_dtype());
  return tenon::where(mask, g * scale, scalar_like(0, g));
}

// Weights are checked on the host: a bad one is an error, not a draw.
Tensor multinomial(const Tensor& self, int64_t draws, bool replacement, const Gen& g) {
  const Tensor w = (self.dim() == 1 ? self.unsqueeze(0) : self).to(kDouble);
  const int64_t rows = w.size(0), n = w.size(1);
  const Tensor usable = w.ge(0).logical_and(w.isfinite()), positive = w.gt(0);
  TENON_CHECK(usable.all().item<bool>(), ValueError,
              "multinomial: weights must be finite and not negative");
  const int64_t min_positive = rows == 0 ? n : positive.sum(1).min().item<int64_t>();
  TENON_CHECK(min_positive > 0, ValueError, "multinomial: the weights of a row sum up to 0");
  TENON_CHECK(replacement || min_positive >= draws, ValueError, "multinomial: cannot draw ", draws,
              " without replacement: only ", min_positive, " weights of a row are positive");
  const int64_t per_row = replacement ? draws : n;
  const Tensor bits =
      random_wide_words(rows * per_row, options_of(self), g).bitwise_right_shift(11);
  const Tensor u =
      bits.bitwise_and((int64_t{1} << 53) - 1).to(kDouble).reshape({rows, per_row}) * 0x1p-53;
  Tensor out;
  if (replacement) {
    const Tensor sums = w.cumsum(1);
    const Tensor at = u * sums.narrow(1, n - 1, 1);
    out = tenon::searchsorted(sums, at, false, true).clamp_max(n - 1);
  } else {
    const Tensor time = u.neg().log1p().neg() / w;
    const Tensor none = scalar_like(std::numeric_limits<double>::infinity(), time);
    out = tenon::prim_argsort(tenon::where(positive, time, none), false).narrow(1, 0, draws);
  }
  return self.dim() == 1 ? out.squeeze(0) : out;
}

// Positions in the order of random keys, which are compared without a sign.
Tensor randperm_generator(int64_t n, const Gen& g, const TensorOptions& options) {
  const Tensor keys = random_wide_words(n, options.requires_grad(std::nullopt), g);
  return tenon::prim_argsort(keys.bitwise_xor(std::numeric_limits<int64_t>::min()), false);
}

}  // namespace tenon::decomp
