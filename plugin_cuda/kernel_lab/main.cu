// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks every version of every kernel, and compares its bandwidth with a copy of the same bytes.
#include "plugin_cuda/kernel_lab/kernel_lab.cuh"

namespace tenon::cuda::kernel_lab {
bool softmax();
}

int main() {
  if (!tenon::cuda::kernel_lab::has_device()) {
    std::printf("no device\n");
    return 0;
  }
  return tenon::cuda::kernel_lab::softmax() ? 0 : 1;
}
