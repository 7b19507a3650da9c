// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/dropout.h"

#include <ostream>
#include <utility>

#include "tenon/nn/functional/dropout.h"

namespace tenon {
namespace nn {

namespace {

template <class Options>
Options checked(const Options& options) {
  TENON_CHECK(options.p() >= 0 && options.p() <= 1, ValueError,
              "dropout probability must be within 0 and 1, got ", options.p());
  return options;
}

template <class FuncOptions, class Options>
FuncOptions call_options(const Options& options, bool training) {
  return FuncOptions().p(options.p()).training(training).inplace(options.inplace());
}

}  // namespace

DropoutImpl::DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
DropoutImpl::DropoutImpl(const DropoutOptions& options_) : options(checked(options_)) {}
void DropoutImpl::reset() {}
Tensor DropoutImpl::forward(Tensor input) {
  return functional::dropout(std::move(input),
                             call_options<functional::DropoutFuncOptions>(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::Dropout(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

Dropout1dImpl::Dropout1dImpl(double p) : Dropout1dImpl(Dropout1dOptions(p)) {}
Dropout1dImpl::Dropout1dImpl(const Dropout1dOptions& options_) : options(checked(options_)) {}
void Dropout1dImpl::reset() {}
Tensor Dropout1dImpl::forward(Tensor input) {
  return functional::dropout1d(
      std::move(input), call_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout1dImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::Dropout1d(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

Dropout2dImpl::Dropout2dImpl(double p) : Dropout2dImpl(Dropout2dOptions(p)) {}
Dropout2dImpl::Dropout2dImpl(const Dropout2dOptions& options_) : options(checked(options_)) {}
void Dropout2dImpl::reset() {}
Tensor Dropout2dImpl::forward(Tensor input) {
  return functional::dropout2d(
      std::move(input), call_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::Dropout2d(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

Dropout3dImpl::Dropout3dImpl(double p) : Dropout3dImpl(Dropout3dOptions(p)) {}
Dropout3dImpl::Dropout3dImpl(const Dropout3dOptions& options_) : options(checked(options_)) {}
void Dropout3dImpl::reset() {}
Tensor Dropout3dImpl::forward(Tensor input) {
  return functional::dropout3d(
      std::move(input), call_options<functional::DropoutFuncOptions>(options, is_training()));
}
void Dropout3dImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::Dropout3d(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

AlphaDropoutImpl::AlphaDropoutImpl(double p) : AlphaDropoutImpl(AlphaDropoutOptions(p)) {}
AlphaDropoutImpl::AlphaDropoutImpl(const AlphaDropoutOptions& options_)
    : options(checked(options_)) {}
void AlphaDropoutImpl::reset() {}
Tensor AlphaDropoutImpl::forward(Tensor input) {
  return functional::alpha_dropout(
      std::move(input), call_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
void AlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::AlphaDropout(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

FeatureAlphaDropoutImpl::FeatureAlphaDropoutImpl(double p)
    : FeatureAlphaDropoutImpl(FeatureAlphaDropoutOptions(p)) {}
FeatureAlphaDropoutImpl::FeatureAlphaDropoutImpl(const FeatureAlphaDropoutOptions& options_)
    : options(checked(options_)) {}
void FeatureAlphaDropoutImpl::reset() {}
Tensor FeatureAlphaDropoutImpl::forward(Tensor input) {
  return functional::feature_alpha_dropout(
      std::move(input), call_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
void FeatureAlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::FeatureAlphaDropout(p=" << options.p()
         << ", inplace=" << options.inplace() << ")";
}

}  // namespace nn
}  // namespace tenon
