// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The special functions that have codes of prim_unary and prim_binary: one kernel each, computed in
// double, apart from those of the other codes, which need fewer registers.
#include "tenon/sdk/special_codes.h"

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/special.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

__global__ void special_unary_elements(Strided<2> at, Code dtype, int code) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[2];
    at.offsets(static_cast<uint32_t>(i), offset);
    store(at.base[0] + offset[0], dtype,
          math::special_unary(code, load<double>(at.base[1] + offset[1], dtype)));
  }
}

__global__ void special_binary_elements(Strided<3> at, Code dtype, int code) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[3];
    at.offsets(static_cast<uint32_t>(i), offset);
    const double a = load<double>(at.base[1] + offset[1], dtype),
                 b = load<double>(at.base[2] + offset[2], dtype);
    store(at.base[0] + offset[0], dtype, math::special_binary(code, a, b));
  }
}

}  // namespace

bool special_unary(Call& call, const Tensor& out, const Tensor& self, int64_t code) {
  if (!math::is_special_unary(code) || !is_floating(self.dtype())) return false;
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.finish();
  for_each_piece<2>(loop, [&](const Strided<2>& at) {
    launch<special_unary_elements>(call, shape_for(call, at.numel, 256, 1), at,
                                   code_of(self.dtype()), static_cast<int>(code));
  });
  return true;
}

bool special_binary(Call& call, const Tensor& out, const Tensor& self, const Tensor& other,
                    int64_t code) {
  if (!math::is_special_binary(code) || !is_floating(self.dtype())) return false;
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.add(other);
  loop.finish();
  for_each_piece<3>(loop, [&](const Strided<3>& at) {
    launch<special_binary_elements>(call, shape_for(call, at.numel, 256, 1), at,
                                    code_of(self.dtype()), static_cast<int>(code));
  });
  return true;
}

}  // namespace tenon::cuda
