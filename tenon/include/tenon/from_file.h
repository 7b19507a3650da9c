// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bytes of a file as a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/tensor.h"

namespace tenon {

// A vector of the first `size` elements of a file on the host, which is mapped and not read. Where
// it is `shared`, what the tensor is written is written to the file, which is made or grows if it
// is too short; else the file stays as it is, and must have as many. ValueError names the file and
// the system's reason.
TENON_API Tensor from_file(const std::string& filename, std::optional<bool> shared = std::nullopt,
                           std::optional<int64_t> size = 0, const TensorOptions& options = {});

}  // namespace tenon
