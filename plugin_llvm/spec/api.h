// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The library that links LLVM, which the plugin opens when the first program comes: LLVM alone
// takes more time and memory to map than all else of Tenon.
#pragma once

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

struct Options {
  std::string text;    // of the program
  std::string folder;  // of objects on disk; empty: none
  int lanes = 16;      // float32 elements of a vector: 16 of AVX-512, 8 of AVX2
};

struct Result {
  Kernel kernel = nullptr;
  std::string error;  // why there is none
  std::string note;   // of the folder: an entry that was not used, or could not be written
  double milliseconds = 0;
  bool from_disk = false;
};

// Safe from any thread.
using Compile = Result (*)(const Spec& spec, const Options& options);

inline constexpr const char* kCompileSymbol = "tenon_llvm_compile_1";
inline constexpr const char* kCompilerLibrary = "libtenon-llvm.so";  // beside the plugin

}  // namespace tenon::llvm_loops
