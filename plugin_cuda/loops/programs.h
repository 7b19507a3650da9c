// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs compiled and loaded, kept by text and device.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "plugin_cuda/loops/runtime_loader.h"
#include "tenon/sdk/loop_program/c_program.h"

namespace tenon::cuda {

struct LoadedProgram {
  sdk::loop_program::CProgram printed;
  LibraryHandle library = nullptr;
  std::vector<KernelHandle> kernels;  // one per printed kernel; none: left to the fallback
  // A graph may run it at any time: it stays loaded until the plugin closes.
  std::atomic<bool> captured{false};

  LoadedProgram() = default;
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
};

// Requires a DeviceGuard, also while a capture goes on. Null if nothing can be compiled here. Hold
// it until the kernels are launched: a program that nobody holds may be unloaded once its device
// has done its work.
std::shared_ptr<LoadedProgram> find_program(int index, std::string_view text,
                                            const sdk::loop_program::Program& program);

// Reads TENON_CUDA_PROGRAMS.
void start_programs();
void stop_programs();

}  // namespace tenon::cuda
