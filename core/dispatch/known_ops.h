// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operators that core calls or recognizes by itself; no other file of core names one. Private
// to core.
#pragma once

#include "op_ids.gen.h"
#include "tenon/core/op.h"

namespace tenon::core::known {

// Moving, casting and filling strided memory is needed before any plugin is open.
inline const Op& copy() { return g_ops[op_id::copy]; }

// Decompositions of one call are made by core itself (primitives.cpp).
inline const Op& prim_unary() { return g_ops[op_id::prim_unary]; }
inline const Op& prim_binary() { return g_ops[op_id::prim_binary]; }
inline const Op& fill() { return g_ops[op_id::fill_Scalar]; }

// Conversions between a layout and strided, by kernels of the layout's plugin.
inline const Op& to_dense() { return g_ops[op_id::_to_dense]; }
inline const Op& to_layout() { return g_ops[op_id::_to_layout]; }

// Core copies or shares the components of any layout without a kernel.
inline const Op& clone() { return g_ops[op_id::clone]; }
inline const Op& detach() { return g_ops[op_id::detach]; }
inline const Op& alias() { return g_ops[op_id::alias]; }
inline const Op& copy_components() { return g_ops[op_id::_copy_components]; }

}  // namespace tenon::core::known
