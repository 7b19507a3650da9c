// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/plugin.h"

namespace {
using namespace tenon::sdk;

// Outputs first, then the arguments of the schema. core has allocated `out`.
tn_status relu(Call& call, Tensor out, Tensor self) {
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.finish();
  dispatch_number(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    call.parallel_for(loop.numel, 32768, [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [](char* const* p, const int64_t* strides, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const compute_t<T> x = *reinterpret_cast<const T*>(p[1] + i * strides[1]);
          *reinterpret_cast<T*>(p[0] + i * strides[0]) = T(x < 0 ? 0 : x);
        }
      });
    });
  });
  return TN_OK;
}
}  // namespace

TN_KERNEL(relu, relu, dtypes("number").any_strides().inplace("0=0"));
TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("visitor")
              .version("1.0")
              .device("cpu")
              .host_memory()
              .unloadable());
