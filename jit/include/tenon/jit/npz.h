// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files, each named for its array.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::jit {

using NamedArrays = std::vector<std::pair<std::string, Tensor>>;

// Writes as numpy.savez does, without compression. ValueError for a name that is given twice.
TENON_API void save_npz(const NamedArrays& arrays, const std::string& filename);
// In the order of the file, which may be compressed. Errors are those of load_npy; they name the
// file and the array.
TENON_API NamedArrays load_npz(const std::string& filename);

}  // namespace tenon::jit
