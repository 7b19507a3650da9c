// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Device, outputs, arguments as the kernel wants them. Also the dtypes that select the kernel and
// that the operator must take.
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

void find_device(CallFrame& frame);
// A tensor for a result.
Impl new_result(const Infer& infer, const OutMeta& meta, DeviceId device);
// `entry` is the kernel that will write them, where it is known.
void make_outputs(CallFrame& frame, const KernelEntry* entry = nullptr);
void prepare_args(CallFrame& frame, uint32_t kernel_flags);
void reserve_random(CallFrame& frame);
void finish_outputs(CallFrame& frame);
void drop_outputs(CallFrame& frame) noexcept;
// As before make_outputs.
void forget_outputs(CallFrame& frame);
void make_contiguous_outputs(CallFrame& frame);
// For another kernel than that of make_outputs: what it may not write while it reads an argument is
// replaced.
void protect_outputs(CallFrame& frame, const KernelEntry& entry);

}  // namespace tenon::core
