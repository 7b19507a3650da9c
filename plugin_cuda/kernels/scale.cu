// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The normalization of Fourier transforms.
#include "plugin_cuda/device/scale.h"

#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {
namespace {

template <class T>
__global__ void scale_each(T* data, T factor, int64_t n) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) data[i] *= factor;
}

template <class T>
void launch_scale(const sdk::Call& call, void* memory, double factor, int64_t n) {
  if (n > 0)
    launch<scale_each<T>>(call, shape_for(call, n), static_cast<T*>(memory), static_cast<T>(factor),
                          n);
}

}  // namespace

void scale_reals(const sdk::Call& call, void* memory, sdk::DType dtype, double factor, int64_t n) {
  const int64_t parts = sdk::is_complex(dtype) ? 2 : 1;
  if (sdk::item_size(dtype) / parts == 4)
    launch_scale<float>(call, memory, factor, n * parts);
  else
    launch_scale<double>(call, memory, factor, n * parts);
}

}  // namespace tenon::cuda
