// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Device, outputs, arguments as the kernel wants them. Also the dtypes that select the kernel and
// that the operator must take.
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

void find_device(CallFrame& f);
// `e` is the kernel that will write them, where it is known.
void make_outputs(CallFrame& f, const KernelEntry* e = nullptr);
void prepare_args(CallFrame& f, uint32_t kernel_flags);
void reserve_random(CallFrame& f);
void finish_outputs(CallFrame& f);
void drop_outputs(CallFrame& f) noexcept;
// As before make_outputs.
void forget_outputs(CallFrame& f);
void make_contiguous_outputs(CallFrame& f);
// For another kernel than that of make_outputs: what it may not write while it reads an argument is
// replaced.
void protect_outputs(CallFrame& f, const KernelEntry& e);

}  // namespace tenon::core
