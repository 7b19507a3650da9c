// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements of dtypes that kernels do not compute in: storage-only ones and those that plugins
// registered. Private to core.
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"
#include "tenon/core/dtype.h"

namespace tenon::core {

// Whether there are conversions of `dtype` now; those of a plugin go with it.
bool can_convert(ScalarType dtype);
// dst = src where one of them has a converted dtype; src is expanded.
void copy_converted(TensorImpl& dst, TensorImpl& src);
// Whether the kernel knows the converted dtypes among the arguments.
bool knows_dtypes(const CallFrame& frame, const KernelEntry& entry);

}  // namespace tenon::core
