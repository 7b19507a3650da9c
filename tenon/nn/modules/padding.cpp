// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/padding.h"

#include <ostream>
#include <vector>

#include "tenon/nn/functional/padding.h"

namespace tenon {
namespace nn {

namespace {

template <class Options>
void print(std::ostream& stream, const char* name, const Options& o) {
  stream << "tenon::nn::" << name << "(padding=" << core::join(IntArrayRef(o.padding()));
}

template <std::size_t N>
functional::PadFuncOptions call(const ExpandingArray<N>& padding) {
  return functional::PadFuncOptions(std::vector<int64_t>(padding->begin(), padding->end()));
}

void check_rank(const char* name, const Tensor& input, int64_t d) {
  TENON_CHECK(input.dim() == d + 1 || input.dim() == d + 2, ValueError, name, ": expected ", d + 1,
              "-D or ", d + 2, "-D input, got ", input.dim(), "-D");
}

}  // namespace

ReflectionPad1dImpl::ReflectionPad1dImpl(ExpandingArray<2> padding)
    : ReflectionPad1dImpl(ReflectionPad1dOptions(padding)) {}
ReflectionPad1dImpl::ReflectionPad1dImpl(const ReflectionPad1dOptions& options_)
    : options(options_) {}
void ReflectionPad1dImpl::reset() {}
Tensor ReflectionPad1dImpl::forward(const Tensor& input) {
  check_rank("ReflectionPad1d", input, 1);
  return functional::pad(input, call(options.padding()).mode(kReflect));
}
void ReflectionPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad1d", options);
  stream << ")";
}

ReflectionPad2dImpl::ReflectionPad2dImpl(ExpandingArray<4> padding)
    : ReflectionPad2dImpl(ReflectionPad2dOptions(padding)) {}
ReflectionPad2dImpl::ReflectionPad2dImpl(const ReflectionPad2dOptions& options_)
    : options(options_) {}
void ReflectionPad2dImpl::reset() {}
Tensor ReflectionPad2dImpl::forward(const Tensor& input) {
  check_rank("ReflectionPad2d", input, 2);
  return functional::pad(input, call(options.padding()).mode(kReflect));
}
void ReflectionPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad2d", options);
  stream << ")";
}

ReflectionPad3dImpl::ReflectionPad3dImpl(ExpandingArray<6> padding)
    : ReflectionPad3dImpl(ReflectionPad3dOptions(padding)) {}
ReflectionPad3dImpl::ReflectionPad3dImpl(const ReflectionPad3dOptions& options_)
    : options(options_) {}
void ReflectionPad3dImpl::reset() {}
Tensor ReflectionPad3dImpl::forward(const Tensor& input) {
  check_rank("ReflectionPad3d", input, 3);
  return functional::pad(input, call(options.padding()).mode(kReflect));
}
void ReflectionPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad3d", options);
  stream << ")";
}

ReplicationPad1dImpl::ReplicationPad1dImpl(ExpandingArray<2> padding)
    : ReplicationPad1dImpl(ReplicationPad1dOptions(padding)) {}
ReplicationPad1dImpl::ReplicationPad1dImpl(const ReplicationPad1dOptions& options_)
    : options(options_) {}
void ReplicationPad1dImpl::reset() {}
Tensor ReplicationPad1dImpl::forward(const Tensor& input) {
  check_rank("ReplicationPad1d", input, 1);
  return functional::pad(input, call(options.padding()).mode(kReplicate));
}
void ReplicationPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad1d", options);
  stream << ")";
}

ReplicationPad2dImpl::ReplicationPad2dImpl(ExpandingArray<4> padding)
    : ReplicationPad2dImpl(ReplicationPad2dOptions(padding)) {}
ReplicationPad2dImpl::ReplicationPad2dImpl(const ReplicationPad2dOptions& options_)
    : options(options_) {}
void ReplicationPad2dImpl::reset() {}
Tensor ReplicationPad2dImpl::forward(const Tensor& input) {
  check_rank("ReplicationPad2d", input, 2);
  return functional::pad(input, call(options.padding()).mode(kReplicate));
}
void ReplicationPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad2d", options);
  stream << ")";
}

ReplicationPad3dImpl::ReplicationPad3dImpl(ExpandingArray<6> padding)
    : ReplicationPad3dImpl(ReplicationPad3dOptions(padding)) {}
ReplicationPad3dImpl::ReplicationPad3dImpl(const ReplicationPad3dOptions& options_)
    : options(options_) {}
void ReplicationPad3dImpl::reset() {}
Tensor ReplicationPad3dImpl::forward(const Tensor& input) {
  check_rank("ReplicationPad3d", input, 3);
  return functional::pad(input, call(options.padding()).mode(kReplicate));
}
void ReplicationPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad3d", options);
  stream << ")";
}

ZeroPad1dImpl::ZeroPad1dImpl(ExpandingArray<2> padding)
    : ZeroPad1dImpl(ZeroPad1dOptions(padding)) {}
ZeroPad1dImpl::ZeroPad1dImpl(const ZeroPad1dOptions& options_) : options(options_) {}
void ZeroPad1dImpl::reset() {}
Tensor ZeroPad1dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()));
}
void ZeroPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ZeroPad1d", options);
  stream << ")";
}

ZeroPad2dImpl::ZeroPad2dImpl(ExpandingArray<4> padding)
    : ZeroPad2dImpl(ZeroPad2dOptions(padding)) {}
ZeroPad2dImpl::ZeroPad2dImpl(const ZeroPad2dOptions& options_) : options(options_) {}
void ZeroPad2dImpl::reset() {}
Tensor ZeroPad2dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()));
}
void ZeroPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ZeroPad2d", options);
  stream << ")";
}

ZeroPad3dImpl::ZeroPad3dImpl(ExpandingArray<6> padding)
    : ZeroPad3dImpl(ZeroPad3dOptions(padding)) {}
ZeroPad3dImpl::ZeroPad3dImpl(const ZeroPad3dOptions& options_) : options(options_) {}
void ZeroPad3dImpl::reset() {}
Tensor ZeroPad3dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()));
}
void ZeroPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ZeroPad3d", options);
  stream << ")";
}

CircularPad1dImpl::CircularPad1dImpl(ExpandingArray<2> padding)
    : CircularPad1dImpl(CircularPad1dOptions(padding)) {}
CircularPad1dImpl::CircularPad1dImpl(const CircularPad1dOptions& options_) : options(options_) {}
void CircularPad1dImpl::reset() {}
Tensor CircularPad1dImpl::forward(const Tensor& input) {
  check_rank("CircularPad1d", input, 1);
  return functional::pad(input, call(options.padding()).mode(kCircular));
}
void CircularPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "CircularPad1d", options);
  stream << ")";
}

CircularPad2dImpl::CircularPad2dImpl(ExpandingArray<4> padding)
    : CircularPad2dImpl(CircularPad2dOptions(padding)) {}
CircularPad2dImpl::CircularPad2dImpl(const CircularPad2dOptions& options_) : options(options_) {}
void CircularPad2dImpl::reset() {}
Tensor CircularPad2dImpl::forward(const Tensor& input) {
  check_rank("CircularPad2d", input, 2);
  return functional::pad(input, call(options.padding()).mode(kCircular));
}
void CircularPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "CircularPad2d", options);
  stream << ")";
}

CircularPad3dImpl::CircularPad3dImpl(ExpandingArray<6> padding)
    : CircularPad3dImpl(CircularPad3dOptions(padding)) {}
CircularPad3dImpl::CircularPad3dImpl(const CircularPad3dOptions& options_) : options(options_) {}
void CircularPad3dImpl::reset() {}
Tensor CircularPad3dImpl::forward(const Tensor& input) {
  check_rank("CircularPad3d", input, 3);
  return functional::pad(input, call(options.padding()).mode(kCircular));
}
void CircularPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "CircularPad3d", options);
  stream << ")";
}

ConstantPad1dImpl::ConstantPad1dImpl(ExpandingArray<2> padding, double value)
    : ConstantPad1dImpl(ConstantPad1dOptions(padding, value)) {}
ConstantPad1dImpl::ConstantPad1dImpl(const ConstantPad1dOptions& options_) : options(options_) {}
void ConstantPad1dImpl::reset() {}
Tensor ConstantPad1dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()).value(options.value()));
}
void ConstantPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ConstantPad1d", options);
  stream << ", value=" << options.value() << ")";
}

ConstantPad2dImpl::ConstantPad2dImpl(ExpandingArray<4> padding, double value)
    : ConstantPad2dImpl(ConstantPad2dOptions(padding, value)) {}
ConstantPad2dImpl::ConstantPad2dImpl(const ConstantPad2dOptions& options_) : options(options_) {}
void ConstantPad2dImpl::reset() {}
Tensor ConstantPad2dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()).value(options.value()));
}
void ConstantPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ConstantPad2d", options);
  stream << ", value=" << options.value() << ")";
}

ConstantPad3dImpl::ConstantPad3dImpl(ExpandingArray<6> padding, double value)
    : ConstantPad3dImpl(ConstantPad3dOptions(padding, value)) {}
ConstantPad3dImpl::ConstantPad3dImpl(const ConstantPad3dOptions& options_) : options(options_) {}
void ConstantPad3dImpl::reset() {}
Tensor ConstantPad3dImpl::forward(const Tensor& input) {
  return functional::pad(input, call(options.padding()).value(options.value()));
}
void ConstantPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ConstantPad3d", options);
  stream << ", value=" << options.value() << ")";
}

}  // namespace nn
}  // namespace tenon
