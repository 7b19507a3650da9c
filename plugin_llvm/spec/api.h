// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The library that links LLVM, which the plugin opens when the first program comes: LLVM alone
// takes more time and memory to map than all else of Tenon.
#pragma once

#include <string>

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

struct Object {
  std::string code;   // of an object file
  std::string error;  // why there is none
};

// `lanes`: float32 elements of a vector, 16 of AVX-512, 8 of AVX2. Safe from any thread.
using Compile = Object (*)(const Spec& spec, int lanes);

inline constexpr const char* kCompileSymbol = "tenon_llvm_compile_2";
inline constexpr const char* kCompilerLibrary = "libtenon-llvm.so";  // beside the plugin

}  // namespace tenon::llvm_loops
