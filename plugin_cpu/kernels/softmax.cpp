// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and their gradients. Overwritten: the output. 16-bit floats are computed in
// float and rounded once. A row with NaN or +inf becomes NaN.
#include "tenon/sdk/ops/_log_softmax.h"
#include "tenon/sdk/ops/_log_softmax_backward_data.h"
#include "tenon/sdk/ops/_softmax.h"
#include "tenon/sdk/ops/_softmax_backward_data.h"

#include "plugin_cpu/rowwise/softmax.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::SoftmaxShape;

SoftmaxShape shape_of(Tensor t, int64_t dim) {
  SoftmaxShape s{1, 1, 1};
  if (t.ndim() == 0) return s;
  const int d = wrap_dim(dim, t.ndim());
  for (int i = 0; i < d; ++i) s.outer *= t.size(i);
  s.length = t.size(d);
  for (int i = d + 1; i < t.ndim(); ++i) s.inner *= t.size(i);
  return s;
}

tn_status forward(Tensor out, Tensor self, int64_t dim, bool log) {
  if (out.numel() > 0)
    tenon::cpu::softmax(self.dtype(), out.dtype(), shape_of(self, dim), log, self.data(),
                        out.data());
  return TN_OK;
}

tn_status backward(Tensor out, Tensor grad, Tensor output, int64_t dim, bool log) {
  if (out.numel() > 0) {
    tenon::cpu::softmax_backward(grad.dtype(), out.dtype(), shape_of(grad, dim), log, grad.data(),
                                 output.data(), out.data());
  }
  return TN_OK;
}

tn_status softmax(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return forward(out, self, dim, false);
}
tn_status log_softmax(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return forward(out, self, dim, true);
}
tn_status softmax_backward(Call&, Tensor out, Tensor grad, Tensor output, int64_t dim, DType) {
  return backward(out, grad, output, dim, false);
}
tn_status log_softmax_backward(Call&, Tensor out, Tensor grad, Tensor output, int64_t dim, DType) {
  return backward(out, grad, output, dim, true);
}

}  // namespace

TN_KERNEL(_softmax, softmax, dtypes("floating").inplace("0=0"));
TN_KERNEL(_log_softmax, log_softmax, dtypes("floating").inplace("0=0"));
TN_KERNEL(_softmax_backward_data, softmax_backward, dtypes("floating"));
TN_KERNEL(_log_softmax_backward_data, log_softmax_backward, dtypes("floating"));
