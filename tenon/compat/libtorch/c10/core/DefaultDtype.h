// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/typeid.h>

#include "tenon/types.h"

namespace c10 {

inline ::tenon::ScalarType get_default_dtype_as_scalartype() {
  return ::tenon::get_default_dtype();
}

}  // namespace c10
namespace tenon {
using ::c10::get_default_dtype_as_scalartype;
}
