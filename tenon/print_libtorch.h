// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tenon/tensor.h"

namespace tenon {

// The text that a program gets from libtorch's operator<<.
std::string libtorch_text(const Tensor& t);

}  // namespace tenon
