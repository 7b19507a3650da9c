// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array each. tenon/jit/npz.h has archives of them.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "tenon/tensor.h"

namespace tenon {

// Writes the values, row-major. TypeError for a dtype that NumPy has not (bfloat16); ValueError
// names the file and the reason. The file appears whole or not at all.
TENON_API void save_npy(const Tensor& tensor, const std::string& filename);
TENON_API void save_npy(const Tensor& tensor, std::ostream& stream);

// A new tensor on the CPU; an array in Fortran's order comes with the strides of that order.
// ValueError names the file and what is wrong with it; TypeError a dtype that Tenon has not, such
// as objects, which are never read.
TENON_API Tensor load_npy(const std::string& filename);
TENON_API Tensor load_npy(std::istream& stream);  // to its end
// `name` is for errors.
TENON_API Tensor load_npy(const void* bytes, std::size_t size, const std::string& name);

}  // namespace tenon
