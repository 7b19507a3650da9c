// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of a layout other than strided, made and copied by their components. Private to core.
#pragma once

#include "tenon/core/layout.h"
#include "tenon/core/tensor_impl.h"

namespace tenon::core {

// A tensor of a layout, without its components (TensorImpl::set_component).
Impl new_composite(int layout_slot, ScalarType dtype, DeviceId device, int ndim,
                   const int64_t* sizes);
// Another one with each component copied, and the values cast.
Impl copy_composite(TensorImpl& tensor, ScalarType dtype, DeviceId device,
                    bool non_blocking = false);

}  // namespace tenon::core
