// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NVRTC, opened when the first program needs it; its header is not needed.
#pragma once

#include <string>

namespace tenon::cuda {

struct Compiled {
  std::string code;  // a CUBIN; empty: there is none
  std::string why;   // of no code
};

// Whether NVRTC is installed.
bool nvrtc_found();
// "13.0"
std::string nvrtc_version();

// CUDA C++ for one architecture, 90 for sm_90, without contraction of products and sums.
Compiled compile_cuda(const std::string& source, int architecture);

}  // namespace tenon::cuda
