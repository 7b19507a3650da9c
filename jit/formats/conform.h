// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of files get the types that their program declares.
#pragma once

#include "tenon/jit/type.h"

namespace tenon::jit::formats {

// Whether `v` is a value of `t` all through; its lists, dictionaries and tuples then are told their
// types. Unlike is_instance, a plain tuple may be a NamedTuple's value: pickles do not say which.
bool conform(const IValue& v, const TypePtr& t);

}  // namespace tenon::jit::formats
