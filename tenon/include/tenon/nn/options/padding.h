// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/expanding_array.h"

namespace tenon {
namespace nn {

template <std::size_t D>
struct ReflectionPadOptions {
  ReflectionPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  // Elements added per side, last dimension first: left, right, top, bottom, ...
  TENON_ARG(ExpandingArray<D * 2>, padding);
};
using ReflectionPad1dOptions = ReflectionPadOptions<1>;
using ReflectionPad2dOptions = ReflectionPadOptions<2>;
using ReflectionPad3dOptions = ReflectionPadOptions<3>;

template <std::size_t D>
struct ReplicationPadOptions {
  ReplicationPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  // Elements added per side, last dimension first.
  TENON_ARG(ExpandingArray<D * 2>, padding);
};
using ReplicationPad1dOptions = ReplicationPadOptions<1>;
using ReplicationPad2dOptions = ReplicationPadOptions<2>;
using ReplicationPad3dOptions = ReplicationPadOptions<3>;

template <std::size_t D>
struct ZeroPadOptions {
  ZeroPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  // Elements added per side, last dimension first; negative values crop.
  TENON_ARG(ExpandingArray<D * 2>, padding);
};
using ZeroPad1dOptions = ZeroPadOptions<1>;
using ZeroPad2dOptions = ZeroPadOptions<2>;
using ZeroPad3dOptions = ZeroPadOptions<3>;

template <std::size_t D>
struct CircularPadOptions {
  CircularPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  // Elements added per side, last dimension first.
  TENON_ARG(ExpandingArray<D * 2>, padding);
};
using CircularPad1dOptions = CircularPadOptions<1>;
using CircularPad2dOptions = CircularPadOptions<2>;
using CircularPad3dOptions = CircularPadOptions<3>;

template <std::size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value)
      : padding_(padding), value_(value) {}
  // Elements added per side, last dimension first; negative values crop.
  TENON_ARG(ExpandingArray<D * 2>, padding);
  // What the border holds.
  TENON_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

namespace functional {
struct PadFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate,
                                 enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  // Elements added per side, last dimension first; negative values crop.
  TENON_ARG(std::vector<int64_t>, pad);
  // What the border holds.
  TENON_ARG(mode_t, mode) = kConstant;
  // The value of a constant border.
  TENON_ARG(double, value) = 0;
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
