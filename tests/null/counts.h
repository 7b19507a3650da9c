// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::null_device {

struct Counts {
  std::atomic<uint64_t> kernels{0}, allocations{0}, copies{0};
  std::atomic<uint64_t> faults{0};  // ranges outside of their block, invalid handles
};

Counts& counts();

}  // namespace tenon::null_device
