// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What programs of PyTorch up to 0.4 are told.
#include "tenon/autograd/mode.h"
#include "tenon/compat/legacy.h"
#include "tenon/compat/pytorch03.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::compat {

// Not by its header, which changes those after it.
TENON_API bool keepdim_default(const char* function);

bool keepdim_default(const char* function) {
  if (autograd::mode() & autograd::kKeepdimWarning) {
    warn("deprecated",
         core::join(function,
                    ": uses the default of keepdim, which is now false; pass it explicitly"));
  }
  return false;
}

namespace v03 {

Variable::Variable(const Tensor& t, bool requires_grad, bool is_volatile) : Tensor(t) {
  warn_once("v03.Variable", "deprecated",
            "Variable: tensors record history by themselves; use the tensor");
  if (is_volatile) {
    warn_once("v03.volatile", "deprecated",
              "volatile was removed and has no effect; use NoGradGuard");
  }
  if (requires_grad) set_requires_grad(true);
}

Tensor Variable::data() const {
  warn_once(
      "v03.data", "deprecated",
      "data: writes through it are unseen by backward; use detach(), and item() for a number");
  return Tensor::data();
}

Variable Variable::cuda() const {
  warn_once("v03.cuda", "deprecated", "cuda: choose the device once and use to(device)");
  return Tensor::cuda();
}

}  // namespace v03
}  // namespace tenon::compat

namespace tenon::legacy {

Reduction reduction(std::optional<bool> size_average, std::optional<bool> reduce) {
  enumtype::Name name = enumtype::Name::None;
  if (reduce.value_or(true)) {
    name = size_average.value_or(true) ? enumtype::Name::Mean : enumtype::Name::Sum;
  }
  warn("deprecated",
       core::join("size_average and reduce are replaced by reduction; use reduction(k",
                  enumtype::text(name), ")"));
  return Reduction(name);
}

}  // namespace tenon::legacy
