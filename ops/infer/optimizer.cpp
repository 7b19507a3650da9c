// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers: no results, lists that belong together.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// List `arg` is like the first one, tensor by tensor; `used` says whether it must be empty instead.
void check_list(Infer& c, int arg, bool used) {
  using A = args::fused_adam;
  const int n = used ? c.list_size(A::self) : 0;
  if (c.list_size(arg) != n) {
    fail<ValueError>(c, c.arg(arg), " has ", c.list_size(arg), " tensors; expected ", n,
                     used ? ", as many as self" : ", as this step does not use it");
  }
  for (int k = 0; k < n; ++k) {
    const TensorImpl &t = *c.list_tensor(arg, k), &self = *c.list_tensor(A::self, k),
                     &first = *c.list_tensor(A::self, 0);
    if (t.sizes() != self.sizes()) {
      fail<ValueError>(c, c.arg(arg), " at position ", k, " has the shape ", t.sizes(),
                       " but self there has ", self.sizes());
    }
    if (t.dtype != first.dtype) {
      fail<TypeError>(c, c.arg(arg), " at position ", k, " has dtype ", dtype_name(t.dtype),
                      "; expected ", dtype_name(first.dtype), ", that of the first tensor of self");
    }
    if (t.device_id != first.device_id) {
      fail<TypeError>(c, c.arg(arg), " at position ", k, " is on ", t.device().str(), "; expected ",
                      first.device().str(), ", where the first tensor of self is");
    }
  }
}

void check_some(Infer& c) {
  using A = args::fused_adam;
  if (c.list_size(A::self) == 0)
    fail<ValueError>(c, "expected a non-empty list of tensors for 'self'");
}

constexpr int kStateSteps = 5, kSteps = 6;  // arguments of Adam

// Counts in memory: one int64 a tensor, beside it.
void check_counts(Infer& c) {
  using A = args::fused_adam;
  const int n = c.list_size(A::self);
  if (c.list_size(kStateSteps) != n) {
    fail<ValueError>(c, c.arg(kStateSteps), " has ", c.list_size(kStateSteps),
                     " tensors; expected none or ", n, ", one for each tensor of self");
  }
  if (c.ints(kSteps).size() != 0) {
    fail<ValueError>(c, c.arg(kSteps), " has ", c.ints(kSteps).size(),
                     " numbers; expected none beside state_steps");
  }
  const TensorImpl& first = *c.list_tensor(A::self, 0);
  for (int k = 0; k < n; ++k) {
    const TensorImpl& t = *c.list_tensor(kStateSteps, k);
    if (t.dtype != ScalarType::Long || t.numel != 1 || t.device_id != first.device_id) {
      fail<TypeError>(c, c.arg(kStateSteps), " at position ", k, " has dtype ", dtype_name(t.dtype),
                      " and ", t.numel, " elements on ", t.device().str(),
                      "; expected one of int64 on ", first.device().str());
    }
  }
}

}  // namespace

TENON_INFER(fused_sgd) {
  using A = args::fused_sgd;
  check_some(c);
  check_list(c, A::self, true);
  check_list(c, A::grads, true);
  check_list(c, A::momentum_buffer_list, c.number(A::momentum) != 0);
}

TENON_INFER(fused_adam) {
  using A = args::fused_adam;
  check_some(c);
  for (int arg = 0; arg < 4; ++arg) check_list(c, arg, true);
  check_list(c, A::max_exp_avg_sqs, c.flag(A::amsgrad));
  if (c.list_size(kStateSteps) != 0) {
    check_counts(c);
    return;
  }
  const IntArrayRef steps = c.ints(kSteps);
  if (static_cast<int>(steps.size()) != c.list_size(A::self)) {
    fail<ValueError>(c, c.arg(kSteps), " has ", steps.size(), " numbers; expected ",
                     c.list_size(A::self), ", one for each tensor of self");
  }
  for (int64_t step : steps) {
    if (step < 1) fail<ValueError>(c, c.arg(kSteps), " has ", step, "; the first step is 1");
  }
}

}  // namespace tenon::core
