// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of single channels, by the names that archives have for them.
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
