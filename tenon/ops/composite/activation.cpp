// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

namespace {

bool tanh_form(const char* op, std::string_view approximate) {
  if (approximate == "tanh") return true;
  if (approximate == "none") return false;
  throw ValueError(
      core::join(op, ": approximate argument must be either none or tanh, got ", approximate));
}

}  // namespace

Tensor relu6(const Tensor& self) { return tenon::hardtanh(self, 0, 6); }

// One weight for all, or one per channel (dimension 1).
Tensor prelu(const Tensor& self, const Tensor& weight) {
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  TENON_CHECK(weight.dim() <= 1, ValueError, "prelu: weight must have one dimension at most, got ",
              weight.dim());
  TENON_CHECK(weight.numel() == 1 || weight.numel() == channels, ValueError, "prelu: weight has ",
              weight.numel(), " elements but the input has ", channels, " channels (",
              weight.sizes(), ", ", self.sizes(), ")");
  TENON_CHECK(weight.scalar_type() == self.scalar_type(), TypeError,
              "prelu: type promotion is not supported, got ", toString(self.scalar_type()), " and ",
              toString(weight.scalar_type()));
  std::vector<int64_t> shape(static_cast<std::size_t>(self.dim()), 1);
  if (self.dim() > 1) shape[1] = weight.numel();
  return tenon::where(self > 0, self, weight.reshape(shape) * self);
}

Tensor gelu(const Tensor& self, std::string_view approximate) {
  return tanh_form("gelu", approximate) ? tenon::_gelu_tanh(self) : tenon::_gelu_erf(self);
}
Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  if (!tanh_form("gelu_backward", approximate)) return tenon::_gelu_erf_backward(grad_output, self);
  TENON_CHECK(isFloatingType(self.scalar_type()), NotImplementedError,
              "gelu_backward: not implemented for dtype ", dtype_name(self.scalar_type()));
  const double k = 0.79788456080286535588, c = 0.044715;
  const Tensor x = wide(self), t = tenon::tanh((x + x * x * x * c) * k);
  return rounded(
      wide(grad_output) * (0.5 * (1 + t) + x * 0.5 * (1 - t * t) * (1 + x * x * (3 * c)) * k),
      self);
}

Tensor selu(const Tensor& self) {
  return tenon::elu(self, 1.6732632423543772848, 1.0507009873554804934);
}
Tensor celu(const Tensor& self, const Scalar& alpha) {
  TENON_CHECK(!alpha.equal(0), ValueError, "celu: alpha cannot be 0");
  return tenon::elu(self, alpha, 1.0, 1 / alpha.toDouble());
}

Tensor glu(const Tensor& self, int64_t dim) {
  TENON_CHECK(self.dim() > 0, ValueError,
              "glu: does not support 0-dimensional tensors: scalars cannot be halved");
  const int64_t size = self.size(dim);
  TENON_CHECK(size % 2 == 0, ValueError, "glu: dimension ", dim, " must be even, got size ", size);
  const Tensor x = wide(self);
  return rounded(x.narrow(dim, 0, size / 2) * tenon::sigmoid(x.narrow(dim, size / 2, size / 2)),
                 self);
}
Tensor softsign(const Tensor& self) {
  const Tensor x = wide(self);
  return rounded(x / (tenon::abs(x) + 1), self);
}
Tensor tanhshrink(const Tensor& self) {
  const Tensor x = wide(self);
  return rounded(x - tenon::tanh(x), self);
}

}  // namespace tenon::composite
