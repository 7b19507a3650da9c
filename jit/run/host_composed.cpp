// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of programs that are a few operators of the library: products, weights that are
// normalized, differences, reductions of segments, simulated quantization.
#include <cmath>
#include <limits>
#include <numeric>

#include "jit/run/unboxed.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

Tensor kron(const Tensor& a, const Tensor& b) {
  const int64_t rank = std::max(a.dim(), b.dim());
  std::vector<int64_t> left, right, both;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t m = d < rank - a.dim() ? 1 : a.size(d - rank),
                  n = d < rank - b.dim() ? 1 : b.size(d - rank);
    left.insert(left.end(), {m, 1}), right.insert(right.end(), {1, n});
    both.push_back(m * n);
  }
  return (a.reshape(left) * b.reshape(right)).reshape(both);
}

Tensor vander(const Tensor& x, std::optional<int64_t> columns, bool increasing) {
  TENON_CHECK(x.dim() == 1, ValueError, "vander: expected a vector, got ", x.sizes());
  const int64_t n = columns.value_or(x.size(0));
  TENON_CHECK(n >= 0, ValueError, "vander: argument 'N' must not be negative, got ", n);
  const Tensor powers = tenon::arange(n, TensorOptions(kLong).device(x.device()));
  const Tensor made = x.unsqueeze(1).pow(powers);
  return increasing ? made : made.flip({1});
}

// The norm over all dimensions but one, which keeps its place. -1: over all.
Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim) {
  if (dim == -1 || v.dim() == 0) return v.norm(power);
  const int64_t kept = dim < 0 ? dim + v.dim() : dim;
  std::vector<int64_t> others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  if (others.empty()) return v.abs();
  return power == 2 ? v.square().sum(others, true).sqrt() : v.norm(power, others, true);
}

using Ints = std::vector<int64_t>;
Tensor conv_depthwise2d(const Tensor& x, const Tensor& weight, const Ints&,
                        const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding,
                        const Ints& dilation) {
  return tenon::conv2d(x, weight, bias, stride, padding, dilation, x.size(-3));
}
Tensor conv_depthwise3d(const Tensor& x, const Tensor& weight, const Ints&,
                        const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding,
                        const Ints& dilation) {
  return tenon::conv3d(x, weight, bias, stride, padding, dilation, x.size(-4));
}

const HostOperator list[] = {
    {"aten::kron(Tensor self, Tensor other) -> Tensor", unboxed<kron>},
    {"aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", unboxed<vander>},
    {"aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", unboxed<norm_except_dim>},
    {"aten::_conv_depthwise2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias, "
     "int[2] stride, int[2] padding, int[2] dilation) -> Tensor",
     unboxed<conv_depthwise2d>},
    {"aten::conv_depthwise3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias, int[3] "
     "stride, int[3] padding, int[3] dilation) -> Tensor",
     unboxed<conv_depthwise3d>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
