// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device with the memory of tests/ref, whose blocks have space after them, and kernels that are
// wrong, each in a different way.
#include <cmath>
#include <csignal>

#include <unistd.h>

#include "../../ref/device.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/exp.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/ops/tanh.h"
#include "tenon/sdk/plugin.h"

namespace {

using namespace tenon::sdk;

// Right values, and one element too many.
tn_status relu(Call&, Tensor out, Tensor self) {
  const float* from = self.data<float>();
  float* to = out.data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = from[i] < 0 ? 0 : from[i];
  if (out.numel() > 0) to[out.numel()] = 1;
  return TN_OK;
}

tn_status neg(Call&, Tensor, Tensor) {
  std::raise(SIGBUS);
  return TN_OK;
}

// Half of what it should be.
tn_status tanh(Call&, Tensor out, Tensor self) {
  for (int64_t i = 0; i < out.numel(); ++i)
    out.data<float>()[i] = std::tanh(self.data<float>()[i]) / 2;
  return TN_OK;
}

// Does not return for seven elements.
tn_status exp(Call&, Tensor out, Tensor) {
  while (out.numel() == 7) pause();
  return TN_DECLINED;
}

}  // namespace

TN_PLUGIN(PluginInfo{}
              .name("wrong")
              .version("1.0")
              .device("wrong")
              .device_api(&tenon::ref::kDeviceApi)
              .unloadable());

TN_KERNEL(relu, relu, dtypes("float32"));
TN_KERNEL(neg, neg, dtypes("float32"));
TN_KERNEL(exp, exp, dtypes("float32"));
TN_KERNEL(tanh, tanh, dtypes("float32"));
