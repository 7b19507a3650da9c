// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements of dtypes that plugins registered. Private to core.
#pragma once

#include "core/dispatch/call.h"
#include "tenon/abi/ext/dtype.h"

namespace tenon::core {

inline bool foreign(ScalarType t) { return static_cast<int>(t) >= TN_DTYPE_FOREIGN; }
// dst = src where one of them has a foreign dtype; src is expanded.
void copy_foreign(TensorImpl& dst, TensorImpl& src);
// Whether the kernel knows the foreign dtypes among the arguments.
bool knows_dtypes(const CallFrame& f, const KernelEntry& e);
// The rung for calls with a foreign dtype: computed in float32. False if there is none in this call.
bool call_as_float(CallFrame& f, const std::string& reason);

}  // namespace tenon::core
