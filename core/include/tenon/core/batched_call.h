// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Core asks the layer above about each call that could be one of batched tensors.
#pragma once

#include <atomic>

#include "tenon/core/op.h"

namespace tenon::core {

// False if the call has no batched tensor and draws no random numbers inside of a vmap; else it has
// done what core::call says. Null until the first vmap.
using BatchedCall = bool (*)(const Op& op, const tn_value* in, TensorImpl** outs, Form form);
extern TENON_API std::atomic<BatchedCall> g_batched_call;

}  // namespace tenon::core
