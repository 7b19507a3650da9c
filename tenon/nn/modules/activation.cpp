// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/activation.h"

#include <ostream>
#include <utility>

#include "tenon/nn/functional/activation.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace {

// The end of a text: nothing unless the input itself is changed.
void print_inplace(std::ostream& stream, bool inplace, const char* separator) {
  if (inplace) stream << separator << "inplace=true";
  stream << ")";
}

}  // namespace

ELUImpl::ELUImpl(const ELUOptions& options_) : options(options_) {}
void ELUImpl::reset() {}
Tensor ELUImpl::forward(Tensor input) { return functional::elu(std::move(input), options); }
void ELUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "ELU(alpha=" << options.alpha();
  print_inplace(stream, options.inplace(), ", ");
}

SELUImpl::SELUImpl(const SELUOptions& options_) : options(options_) {}
void SELUImpl::reset() {}
Tensor SELUImpl::forward(Tensor input) { return functional::selu(std::move(input), options); }
void SELUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "SELU(";
  print_inplace(stream, options.inplace(), "");
}

GLUImpl::GLUImpl(const GLUOptions& options_) : options(options_) {}
void GLUImpl::reset() {}
Tensor GLUImpl::forward(Tensor input) { return functional::glu(input, options); }
void GLUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "GLU(dim=" << options.dim() << ")";
}

GELUImpl::GELUImpl(const GELUOptions& options_) : options(options_) {}
void GELUImpl::reset() {}
Tensor GELUImpl::forward(Tensor input) { return functional::gelu(input, options); }
void GELUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "GELU(approximate=" << options.approximate() << ")";
}

HardshrinkImpl::HardshrinkImpl(const HardshrinkOptions& options_) : options(options_) {}
void HardshrinkImpl::reset() {}
Tensor HardshrinkImpl::forward(Tensor input) { return functional::hardshrink(input, options); }
void HardshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Hardshrink(" << options.lambda() << ")";
}

HardtanhImpl::HardtanhImpl(const HardtanhOptions& options_) : options(options_) {
  HardtanhImpl::reset();
}
void HardtanhImpl::reset() {
  TENON_CHECK(options.max_val() > options.min_val(), ValueError,
              "Hardtanh: max_val must be greater than min_val, got max_val=", options.max_val(),
              " and min_val=", options.min_val());
}
Tensor HardtanhImpl::forward(Tensor input) {
  return functional::hardtanh(std::move(input), options);
}
void HardtanhImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Hardtanh(min_val=" << options.min_val()
         << ", max_val=" << options.max_val();
  print_inplace(stream, options.inplace(), ", ");
}

LeakyReLUImpl::LeakyReLUImpl(const LeakyReLUOptions& options_) : options(options_) {}
void LeakyReLUImpl::reset() {}
Tensor LeakyReLUImpl::forward(Tensor input) {
  return functional::leaky_relu(std::move(input), options);
}
void LeakyReLUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "LeakyReLU(negative_slope=" << options.negative_slope();
  print_inplace(stream, options.inplace(), ", ");
}

ReLUImpl::ReLUImpl(const ReLUOptions& options_) : options(options_) {}
void ReLUImpl::reset() {}
Tensor ReLUImpl::forward(Tensor input) { return functional::relu(std::move(input), options); }
void ReLUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "ReLU(";
  print_inplace(stream, options.inplace(), "");
}

ReLU6Impl::ReLU6Impl(const ReLU6Options& options_) : options(options_) {}
void ReLU6Impl::reset() {}
Tensor ReLU6Impl::forward(Tensor input) { return functional::relu6(std::move(input), options); }
void ReLU6Impl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "ReLU6(";
  print_inplace(stream, options.inplace(), "");
}

CELUImpl::CELUImpl(const CELUOptions& options_) : options(options_) {}
void CELUImpl::reset() {}
Tensor CELUImpl::forward(Tensor input) { return functional::celu(std::move(input), options); }
void CELUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "CELU(alpha=" << options.alpha();
  print_inplace(stream, options.inplace(), ", ");
}

SoftplusImpl::SoftplusImpl(const SoftplusOptions& options_) : options(options_) {}
void SoftplusImpl::reset() {}
Tensor SoftplusImpl::forward(Tensor input) { return functional::softplus(input, options); }
void SoftplusImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Softplus(beta=" << options.beta()
         << ", threshold=" << options.threshold() << ")";
}

SoftshrinkImpl::SoftshrinkImpl(const SoftshrinkOptions& options_) : options(options_) {}
void SoftshrinkImpl::reset() {}
Tensor SoftshrinkImpl::forward(Tensor input) { return functional::softshrink(input, options); }
void SoftshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Softshrink(" << options.lambda() << ")";
}

HardswishImpl::HardswishImpl(const HardswishOptions& options_) : options(options_) {}
void HardswishImpl::reset() {}
Tensor HardswishImpl::forward(Tensor input) {
  return functional::hardswish(std::move(input), options);
}
void HardswishImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Hardswish(";
  print_inplace(stream, options.inplace(), "");
}

HardsigmoidImpl::HardsigmoidImpl(const HardsigmoidOptions& options_) : options(options_) {}
void HardsigmoidImpl::reset() {}
Tensor HardsigmoidImpl::forward(Tensor input) {
  return functional::hardsigmoid(std::move(input), options);
}
void HardsigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "Hardsigmoid(";
  print_inplace(stream, options.inplace(), "");
}

ThresholdImpl::ThresholdImpl(double threshold, double value)
    : ThresholdImpl(ThresholdOptions(threshold, value)) {}
ThresholdImpl::ThresholdImpl(const ThresholdOptions& options_) : options(options_) {}
void ThresholdImpl::reset() {}
Tensor ThresholdImpl::forward(Tensor input) {
  return functional::threshold(std::move(input), options);
}
void ThresholdImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "Threshold(threshold=" << options.threshold() << ", value=" << options.value();
  print_inplace(stream, options.inplace(), ", ");
}

RReLUImpl::RReLUImpl(const RReLUOptions& options_) : options(options_) {}
void RReLUImpl::reset() {}
Tensor RReLUImpl::forward(Tensor input) {
  return functional::rrelu(std::move(input), functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .training(is_training())
                                                 .inplace(options.inplace()));
}
void RReLUImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "RReLU(lower=" << options.lower()
         << ", upper=" << options.upper();
  print_inplace(stream, options.inplace(), ", ");
}

namespace {

void print_softmax(std::ostream& stream, const char* name, int64_t dim) {
  stream << detail::shown_namespace() << name << "(dim=";
  if (dim == kImplicitDim) {
    stream << "None)";
  } else {
    stream << dim << ")";
  }
}

}  // namespace

SoftmaxImpl::SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
SoftmaxImpl::SoftmaxImpl(const SoftmaxOptions& options_) : options(options_) {}
void SoftmaxImpl::reset() {}
Tensor SoftmaxImpl::forward(const Tensor& input) {
  return functional::softmax(input, options.dim());
}
void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  print_softmax(stream, "Softmax", options.dim());
}

SoftminImpl::SoftminImpl(int64_t dim) : SoftminImpl(SoftminOptions(dim)) {}
SoftminImpl::SoftminImpl(const SoftminOptions& options_) : options(options_) {}
void SoftminImpl::reset() {}
Tensor SoftminImpl::forward(const Tensor& input) {
  return functional::softmin(input, options.dim());
}
void SoftminImpl::pretty_print(std::ostream& stream) const {
  print_softmax(stream, "Softmin", options.dim());
}

LogSoftmaxImpl::LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
LogSoftmaxImpl::LogSoftmaxImpl(const LogSoftmaxOptions& options_) : options(options_) {}
void LogSoftmaxImpl::reset() {}
Tensor LogSoftmaxImpl::forward(const Tensor& input) {
  return functional::log_softmax(input, options.dim());
}
void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  print_softmax(stream, "LogSoftmax", options.dim());
}

void LogSigmoidImpl::reset() {}
Tensor LogSigmoidImpl::forward(const Tensor& input) { return functional::logsigmoid(input); }
void LogSigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "LogSigmoid()";
}

void SigmoidImpl::reset() {}
Tensor SigmoidImpl::forward(const Tensor& input) { return tenon::sigmoid(input); }
void SigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Sigmoid()";
}

void SiLUImpl::reset() {}
Tensor SiLUImpl::forward(const Tensor& input) { return functional::silu(input); }
void SiLUImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "SiLU()";
}

void MishImpl::reset() {}
Tensor MishImpl::forward(const Tensor& input) { return functional::mish(input); }
void MishImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Mish()";
}

void SoftsignImpl::reset() {}
Tensor SoftsignImpl::forward(const Tensor& input) { return functional::softsign(input); }
void SoftsignImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Softsign()";
}

void TanhImpl::reset() {}
Tensor TanhImpl::forward(const Tensor& input) { return tenon::tanh(input); }
void TanhImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Tanh()";
}

void TanhshrinkImpl::reset() {}
Tensor TanhshrinkImpl::forward(const Tensor& input) { return functional::tanhshrink(input); }
void TanhshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Tanhshrink()";
}

PReLUImpl::PReLUImpl(const PReLUOptions& options_) : options(options_) { PReLUImpl::reset(); }
void PReLUImpl::reset() {
  weight = register_parameter("weight", tenon::full({options.num_parameters()}, options.init()));
}
Tensor PReLUImpl::forward(const Tensor& input) { return functional::prelu(input, weight); }
void PReLUImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "PReLU(num_parameters=" << options.num_parameters() << ")";
}

void Softmax2dImpl::reset() {}
Tensor Softmax2dImpl::forward(const Tensor& input) {
  TENON_CHECK(input.dim() == 3 || input.dim() == 4, ValueError,
              "Softmax2d: expected 3-D or 4-D input, got ", input.dim(), "-D");
  return functional::softmax(input, -3);
}
void Softmax2dImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Softmax2d()";
}

}  // namespace nn
}  // namespace tenon
