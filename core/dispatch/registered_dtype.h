// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements of dtypes that plugins registered. Private to core.
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"
#include "tenon/abi/ext/dtype.h"

namespace tenon::core {

inline bool foreign(ScalarType dtype) { return static_cast<int>(dtype) >= TN_DTYPE_FOREIGN; }
// dst = src where one of them has a foreign dtype; src is expanded.
void copy_foreign(TensorImpl& dst, TensorImpl& src);
// Whether the kernel knows the foreign dtypes among the arguments.
bool knows_dtypes(const CallFrame& frame, const KernelEntry& entry);

}  // namespace tenon::core
