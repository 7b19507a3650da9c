// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/tensor_impl.h"

namespace tenon {
using core::TensorImpl;
}
namespace c10 {
using ::tenon::core::TensorImpl;
}
namespace at {
using ::tenon::core::TensorImpl;
}
