// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Records which kernels exist, and which ran with which block sizes. With TENON_EMULATOR_LAUNCHES
// set to a folder, a library writes LIBRARY.kernels there (lines of kernel, tab, instance) at its
// first launch, and to LIBRARY.launches a line of kernel, instance and block size for each that is
// new to the process. launches.sh reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tenon::emulator {

// A static object per kernel instance.
class Launches {
 public:
  // Literals: "... [with auto Kernel = name]", and the source that instantiates it.
  Launches(const char* instance, const char* file);
  Launches(const Launches&) = delete;
  void add(int block) {
    const uint64_t bit =
        uint64_t{1} << (block + 31) / 32;  // one thread counts as a warp; there are at most 1024
    if (!(sizes_.fetch_or(bit) & bit)) record(block);
  }

 private:
  std::string to_line() const;  // kernel and instance
  void record(int block) const;

  const char* instance_;
  const char* file_;
  std::atomic<uint64_t> sizes_{0};
  const Launches* next_;
};

// The block size for a kernel that accepts any: its own, or TENON_EMULATOR_BLOCK.
int choose_block(int own);

}  // namespace tenon::emulator
