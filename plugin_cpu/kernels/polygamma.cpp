// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The derivatives of digamma. Overwritten: the output, which may be the operand.
#include "tenon/sdk/special.h"

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/polygamma.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status polygamma(Call&, Tensor out, int64_t n, Tensor self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    parallel_for(self.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<T>(static_cast<compute_t<T>>(math::polygamma(n, static_cast<compute_t<T>>(in[i]))));
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(polygamma, polygamma, dtypes("floating").inplace("0=1"));

}  // namespace tenon::cpu
