// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/io/mapped_file.h"

namespace tenon::jit::formats {

using serialize::detail::MappedFile;

}  // namespace tenon::jit::formats
