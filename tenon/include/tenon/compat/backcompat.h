// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The switches of PyTorch 0.2 for programs older than broadcasting: guards that hold for their
// scope and thread. They warn through the warning handler, category "deprecated". Include this
// header before all others of Tenon and in every file of the program, or KeepdimWarning is silent.
#pragma once

#ifdef TENON_KEEPDIM_DEFAULT
#error "include tenon/compat/backcompat.h before other headers of Tenon"
#endif
// The default argument of a reduction is evaluated where the call is written: a call that passes
// keepdim is not seen, and one in the library neither.
#define TENON_KEEPDIM_DEFAULT(function) ::tenon::compat::keepdim_default(function)

#include "tenon/autograd/mode.h"

namespace tenon::compat {

// Operands of pointwise operators that do not broadcast but have one number of elements are taken
// as vectors; the result has the shape of the first. Each such call warns.
struct PointwiseFallback : ModeGuard {
  PointwiseFallback() : ModeGuard(autograd::mode() | autograd::kPointwiseFallback) {}
};

// Warns where operands of different shapes broadcast and have one number of elements: before 0.2
// they were taken as vectors.
struct BroadcastWarning : ModeGuard {
  BroadcastWarning() : ModeGuard(autograd::mode() | autograd::kBroadcastWarning) {}
};

// Warns where a reduction along a dimension is called without keepdim, whose default was true.
struct KeepdimWarning : ModeGuard {
  KeepdimWarning() : ModeGuard(autograd::mode() | autograd::kKeepdimWarning) {}
};

// False.
TENON_API bool keepdim_default(const char* function);

}  // namespace tenon::compat
