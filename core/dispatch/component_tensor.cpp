// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of a layout other than strided: what core does with them component by component.
#include "core/dispatch/component_tensor.h"

#include "runtime/base/in_flight.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

Impl new_composite(int layout_slot, ScalarType dtype, DeviceId device, int ndim,
                   const int64_t* sizes) {
  checked_numel("a tensor of a layout", ndim, sizes);
  const int n = static_cast<int>(layout_components(layout_slot).size());
  return TensorImpl::make_composite(layout_slot, dtype, device, ndim, sizes, n);
}

Impl copy_composite(TensorImpl& tensor, ScalarType dtype, DeviceId device, bool non_blocking) {
  Impl made = TensorImpl::make_composite(tensor.layout_slot, dtype, device, tensor.ndim(),
                                         tensor.view.sizes, tensor.components->n);
  for (int i = 0; i < tensor.components->n; ++i) {
    TensorImpl& part = *tensor.components->impl[i];
    const ScalarType to = i == tensor.components->n - 1 ? dtype : part.dtype;
    Impl copied = new_tensor("copy", to, device, part.ndim(), part.view.sizes);
    copy(*copied, part, non_blocking);
    made->set_component(i, std::move(copied));
  }
  made->view.flags = tensor.view.flags;
  return made;
}

}  // namespace tenon::core
