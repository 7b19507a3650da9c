// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/padding.h"

#include <ostream>
#include <vector>

#include "tenon/nn/functional/padding.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

namespace {

template <std::size_t D, class Options>
void print_padding(std::ostream& stream, const char* family, const Options& o) {
  stream << detail::shown_namespace() << family << D
         << "d(padding=" << core::join(IntArrayRef(o.padding()));
  if constexpr (std::is_same_v<Options, ConstantPadOptions<D>>) stream << ", value=" << o.value();
  stream << ")";
}

template <std::size_t N>
functional::PadFuncOptions function_options(const ExpandingArray<N>& padding) {
  return functional::PadFuncOptions(std::vector<int64_t>(padding->begin(), padding->end()));
}

template <std::size_t D>
void check_rank(const char* family, const Tensor& input) {
  TENON_CHECK(input.dim() == D + 1 || input.dim() == D + 2, ValueError, family, D, "d: expected ",
              D + 1, "-D or ", D + 2, "-D input, got ", input.dim(), "-D");
}

}  // namespace

template <std::size_t D, class Derived>
Tensor ReflectionPadImpl<D, Derived>::forward(const Tensor& input) {
  check_rank<D>("ReflectionPad", input);
  return functional::pad(input, function_options(options.padding()).mode(kReflect));
}
template <std::size_t D, class Derived>
void ReflectionPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ReflectionPad", options);
}
template class ReflectionPadImpl<1, ReflectionPad1dImpl>;
template class ReflectionPadImpl<2, ReflectionPad2dImpl>;
template class ReflectionPadImpl<3, ReflectionPad3dImpl>;

template <std::size_t D, class Derived>
Tensor ReplicationPadImpl<D, Derived>::forward(const Tensor& input) {
  check_rank<D>("ReplicationPad", input);
  return functional::pad(input, function_options(options.padding()).mode(kReplicate));
}
template <std::size_t D, class Derived>
void ReplicationPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ReplicationPad", options);
}
template class ReplicationPadImpl<1, ReplicationPad1dImpl>;
template class ReplicationPadImpl<2, ReplicationPad2dImpl>;
template class ReplicationPadImpl<3, ReplicationPad3dImpl>;

template <std::size_t D, class Derived>
Tensor ZeroPadImpl<D, Derived>::forward(const Tensor& input) {
  return functional::pad(input, function_options(options.padding()));
}
template <std::size_t D, class Derived>
void ZeroPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ZeroPad", options);
}
template class ZeroPadImpl<1, ZeroPad1dImpl>;
template class ZeroPadImpl<2, ZeroPad2dImpl>;
template class ZeroPadImpl<3, ZeroPad3dImpl>;

template <std::size_t D, class Derived>
Tensor CircularPadImpl<D, Derived>::forward(const Tensor& input) {
  check_rank<D>("CircularPad", input);
  return functional::pad(input, function_options(options.padding()).mode(kCircular));
}
template <std::size_t D, class Derived>
void CircularPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "CircularPad", options);
}
template class CircularPadImpl<1, CircularPad1dImpl>;
template class CircularPadImpl<2, CircularPad2dImpl>;
template class CircularPadImpl<3, CircularPad3dImpl>;

template <std::size_t D, class Derived>
Tensor ConstantPadImpl<D, Derived>::forward(const Tensor& input) {
  return functional::pad(input, function_options(options.padding()).value(options.value()));
}
template <std::size_t D, class Derived>
void ConstantPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ConstantPad", options);
}
template class ConstantPadImpl<1, ConstantPad1dImpl>;
template class ConstantPadImpl<2, ConstantPad2dImpl>;
template class ConstantPadImpl<3, ConstantPad3dImpl>;

}  // namespace nn
}  // namespace tenon
