// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values as print(), str() and format() of programs write them, which is how libtorch prints them:
// 2., 0.10000000000000001, [a, b], columns of numbers for tensors.
#pragma once

#include <string>

#include "tenon/ivalue.h"

namespace tenon::jit {

std::string text_of(const IValue& v);

}  // namespace tenon::jit
