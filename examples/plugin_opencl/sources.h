// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tenon::opencl {

// The text of cl/`file`.cl, which CMake puts into the library.
const char* source(const std::string& file);

}  // namespace tenon::opencl
