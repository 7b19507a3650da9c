// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device's type and a layout in one word, as libtorch's older programs say where a tensor lies.
#pragma once

#include <cstdint>

#include "tenon/types.h"

namespace tenon {

enum class Backend : uint8_t {
  CPU,
  CUDA,
  XPU,
  MPS,
  Meta,
  PrivateUse1,
  SparseCPU,
  SparseCUDA,
  SparseXPU,
  SparseMPS,
  SparsePrivateUse1,
  Undefined,
};

// ValueError for Backend::Undefined.
TENON_API DeviceType backendToDeviceType(Backend b);
TENON_API Layout layout_from_backend(Backend b);
TENON_API const char* toString(Backend b);

}  // namespace tenon
