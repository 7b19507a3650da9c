// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/cuda/CUDAGuard.h>

namespace at::cuda {

class CUDAEvent : public ::tenon::Event {
 public:
  // The runtime's flags of cudaEventCreateWithFlags: 2 is without timing, 4 for other processes.
  explicit CUDAEvent(unsigned flags = 2) : Event(kCUDA, flag_of(flags)) {}
  using Event::record;
  void record() { record(getCurrentCUDAStream()); }
  bool isCreated() const { return was_marked_for_recording(); }
  float elapsed_time(const CUDAEvent& end) const {
    return static_cast<float>(Event::elapsed_time(end));
  }

 private:
  static ::tenon::EventFlag flag_of(unsigned flags) {
    if (flags & 4) return ::tenon::EventFlag::INTERPROCESS;
    return flags & 2 ? ::tenon::EventFlag::PYTORCH_DEFAULT : ::tenon::EventFlag::BACKEND_DEFAULT;
  }
};

}  // namespace at::cuda
