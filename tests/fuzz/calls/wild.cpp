// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "wild.h"

#include <cmath>
#include <limits>

namespace tenon::fuzz {

double largest(ScalarType dtype) {
  return dtype == kHalf     ? 65504.0
         : dtype == kDouble ? std::numeric_limits<double>::max()
         : dtype == kFloat  ? static_cast<double>(std::numeric_limits<float>::max())
                            : 3.3895313892515355e38;
}
double unit(ScalarType dtype) {
  return dtype == kHalf       ? 0x1p-10
         : dtype == kBFloat16 ? 0x1p-7
         : dtype == kFloat    ? 0x1p-23
                              : 0x1p-52;
}
double smallest(ScalarType dtype) {
  return dtype == kHalf       ? 0x1p-24
         : dtype == kBFloat16 ? 0x1p-133
         : dtype == kFloat    ? 0x1p-149
                              : 0x1p-1074;
}

namespace {

int lowest_power(ScalarType t) { return t == kHalf ? -8 : t == kDouble ? -320 : -44; }
int highest_power(ScalarType t) { return t == kHalf ? 4 : t == kDouble ? 308 : 38; }

double special(ScalarType t, const Wild& how, Random& random) {
  const double inf = std::numeric_limits<double>::infinity(), near = 1 + unit(t);
  const double max = largest(t), min = smallest(t), normal = min / unit(t);
  switch (random.below(how.finite ? 9 : 12)) {
    case 0:
    case 1:
      return 0.0;
    case 2:
      return how.whole_range ? min * static_cast<double>(1 + random.below(3)) : 0;
    case 3:
      return how.whole_range ? normal : 1;
    case 4:
      return how.whole_range ? max * random.pick({1.0, 0.5, 0.999, 0.25}) : 1;
    case 5:
      return near;
    case 6:
      return 1 - unit(t) / 2;
    case 7:
      return static_cast<double>(random.below(20)) / 2;
    case 8:
      return how.whole_range ? std::log(max) * random.real(0.98, 1.02) : 0;
    case 9:
    case 10:
      return inf;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

double wild_real(ScalarType t, const Wild& how, Random& random) {
  const double sign = random.chance(0.5) ? 1 : -1;
  if (random.chance(how.chance)) return sign * special(t, how, random);
  const double digits = random.real(0.2, 2);
  if (!how.whole_range) return sign * digits * std::pow(10.0, how.power);
  if (random.chance(0.5)) return sign * digits * random.pick({1.0, 1.0, 3.0, 10.0});
  return sign * digits * std::pow(10.0, random.real(lowest_power(t), highest_power(t)));
}

int64_t wild_integer(ScalarType t, const Wild& how, Random& random) {
  if (t == kBool) return static_cast<int64_t>(random.below(2));
  const int bits = 8 * static_cast<int>(core::item_size(t));
  const int64_t max = t == kUInt8 ? 255 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  const int64_t low = t == kUInt8 ? 0 : -max - 1;
  if (random.chance(how.chance))
    return random.pick({max, low, max - 1, t == kUInt8 ? 1 : low + 1, int64_t{0}});
  if (how.whole_range && random.chance(0.3)) return random.between(low, max);
  return random.between(t == kUInt8 ? 0 : -9, 9);
}

}  // namespace tenon::fuzz
