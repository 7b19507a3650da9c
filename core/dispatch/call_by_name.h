// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calling an op with values from the other side of the ABI: programs (client.h) and plugins
// (tn_host.call_op).
#pragma once

#include <string_view>

#include "tenon/abi/value.h"

namespace tenon::core {

// `name` is "add.Tensor", or "add_.Tensor" for the form that writes its first argument. Tensors in
// in[] are handles that core gave out. Arguments left out at the end take their defaults. For a
// program, the operator call (with autograd) is used where libtenon is loaded; what a kernel calls
// is not recorded. Each out[i] is owned by the caller and given back with release_value; those
// beyond the op's results, and all of them on failure, are NONE.
enum class Caller { Program, Kernel };
void call_by_name(Caller caller, std::string_view name, const tn_value* in, uint32_t n_in,
                  tn_value* out, uint32_t n_out);
// Drops what a result owns and makes it NONE.
void release_value(tn_value& value) noexcept;

}  // namespace tenon::core
