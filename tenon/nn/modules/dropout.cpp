// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/dropout.h"

#include <ostream>
#include <utility>

#include "tenon/nn/functional/dropout.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

namespace {

template <class FuncOptions>
FuncOptions function_options(const DropoutOptions& options, bool training) {
  return FuncOptions().p(options.p()).training(training).inplace(options.inplace());
}

void print_options(std::ostream& stream, const char* name, const DropoutOptions& options) {
  stream << std::boolalpha << detail::shown_namespace() << name << "(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

}  // namespace

template <class Derived>
DropoutImplBase<Derived>::DropoutImplBase(const DropoutOptions& options_) : options(options_) {
  TENON_CHECK(options.p() >= 0 && options.p() <= 1, ValueError,
              "dropout probability must be within 0 and 1, got ", options.p());
}
template class DropoutImplBase<DropoutImpl>;
template class DropoutImplBase<Dropout1dImpl>;
template class DropoutImplBase<Dropout2dImpl>;
template class DropoutImplBase<Dropout3dImpl>;
template class DropoutImplBase<AlphaDropoutImpl>;
template class DropoutImplBase<FeatureAlphaDropoutImpl>;

Tensor DropoutImpl::forward(Tensor input) {
  return functional::dropout(
      std::move(input), function_options<functional::DropoutFuncOptions>(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "Dropout", options);
}

Tensor Dropout1dImpl::forward(Tensor input) {
  return functional::dropout1d(
      std::move(input), function_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout1dImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "Dropout1d", options);
}

Tensor Dropout2dImpl::forward(Tensor input) {
  return functional::dropout2d(
      std::move(input), function_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "Dropout2d", options);
}

Tensor Dropout3dImpl::forward(Tensor input) {
  return functional::dropout3d(
      std::move(input), function_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout3dImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "Dropout3d", options);
}

Tensor AlphaDropoutImpl::forward(Tensor input) {
  return functional::alpha_dropout(
      std::move(input),
      function_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
void AlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "AlphaDropout", options);
}

Tensor FeatureAlphaDropoutImpl::forward(Tensor input) {
  return functional::feature_alpha_dropout(
      std::move(input),
      function_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
void FeatureAlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  print_options(stream, "FeatureAlphaDropout", options);
}

}  // namespace nn
}  // namespace tenon
