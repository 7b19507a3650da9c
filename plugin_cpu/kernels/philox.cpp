// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The raw words, from which devices without random operators compute their values.
#include <cstring>

#include "plugin_cpu/random/words.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/prim_philox.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status prim_philox(Call&, Tensor out, Ints, std::optional<DType>, std::optional<int64_t>,
                      std::optional<Device>, std::optional<bool>, Generator g) {
  int32_t* p = out.data<int32_t>();
  each_random(g, out.numel(), 1, [&](int64_t at, int64_t n, const uint32_t* w) {
    std::memcpy(p + at, w, static_cast<std::size_t>(n) * sizeof(uint32_t));
  });
  return TN_OK;
}
TN_KERNEL(prim_philox, prim_philox, dtypes("int32"));

}  // namespace
}  // namespace tenon::cpu
