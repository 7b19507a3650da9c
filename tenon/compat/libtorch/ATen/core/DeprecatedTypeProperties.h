// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/compat/type_properties.h"

namespace tenon {

// Types of the devices of old: CUDA(kFloat).
inline DeprecatedTypeProperties& CPU(ScalarType dtype) {
  return getDeprecatedTypeProperties(Backend::CPU, dtype);
}
inline DeprecatedTypeProperties& CUDA(ScalarType dtype) {
  return getDeprecatedTypeProperties(Backend::CUDA, dtype);
}
inline DeprecatedTypeProperties& MPS(ScalarType dtype) {
  return getDeprecatedTypeProperties(Backend::MPS, dtype);
}

}  // namespace tenon
