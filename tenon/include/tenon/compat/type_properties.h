// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types of tensors by their backend, as libtorch's older programs name them.
#pragma once

#include "tenon/compat/backend.h"
#include "tenon/types.h"

namespace tenon {

// ValueError for Backend::Undefined.
inline DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend b, ScalarType dtype) {
  return getDeprecatedTypeProperties(backendToDeviceType(b), layout_from_backend(b), dtype);
}

}  // namespace tenon
