// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every ladder, every rung: right or wrong, and how near it comes to a copy of the same bytes.
#include "plugin_cuda/ladder/ladder.cuh"

namespace tenon::cuda::ladder {
bool softmax();
}

int main() {
  if (!tenon::cuda::ladder::has_device()) {
    std::printf("no device\n");
    return 0;
  }
  return tenon::cuda::ladder::softmax() ? 0 : 1;
}
