// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which kernels there are, and which of them ran, at which sizes of a block. With TENON_EMULATOR_LAUNCHES set to a
// folder a library leaves there LIBRARY.kernels (lines of kernel and instance, a tab between them) when it first
// launches one, and in LIBRARY.launches a line of kernel, instance and size for each pair that is new to a process.
// launches.sh reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tenon::emulator {

// A static object for each instance of a kernel.
class Launches {
 public:
  // Literals: "... [with auto Kernel = name]", and the source that instantiates it.
  Launches(const char* instance, const char* file);
  Launches(const Launches&) = delete;
  void add(int block) {
    const uint64_t bit = uint64_t{1} << (block + 31) / 32;  // one thread counts as a warp; there are at most 1024
    if (!(sizes_.fetch_or(bit) & bit)) write_down(block);
  }

 private:
  std::string line() const;  // kernel and instance
  void write_down(int block) const;

  const char* instance_;
  const char* file_;
  std::atomic<uint64_t> sizes_{0};
  const Launches* next_;
};

// The size for a kernel that is right at any: its own, or TENON_EMULATOR_BLOCK.
int block_in_place_of(int own);

}  // namespace tenon::emulator
