// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// pointwise.def as sources of kernels (the format is in the file itself).
#pragma once

#include <string>
#include <vector>

namespace opgen {

// Writes OUT/pw_0.cpp to pw_(files - 1).cpp, each with the bodies that it compiles for every
// instruction set (pw_0-inl.h), where they would change: what every file includes takes longer than
// a line's kernels. Returns 0; throws with "file:line: error" otherwise.
int generate_pointwise(const std::string& def_file, const std::string& out_dir, std::size_t files);
// The same for CUDA, as OUT/pw_0.cu to pw_(files - 1).cu.
int generate_pointwise_cuda(const std::string& def_file, const std::string& out_dir,
                            std::size_t files);
std::vector<std::string> pointwise_names(const std::string& def_file);

}  // namespace opgen
