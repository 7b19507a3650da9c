// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A kernel that says when it has begun and then takes its time: what unloading has to wait for.
#include <chrono>
#include <cstring>
#include <thread>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/parallel.h"
#include "tenon/sdk/plugin.h"

namespace {

using tenon::sdk::Tensor;

tn_status relu(tenon::sdk::Call&, Tensor out, Tensor self) {
  tenon::sdk::log(TN_LOG_INFO, "begun");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int64_t i = 0; i < self.numel(); ++i)
    out.data<float>()[i] = self.data<float>()[i] > 0 ? self.data<float>()[i] : 0;
  return TN_OK;
}
TN_KERNEL(relu, relu, dtypes("float32"));

}  // namespace

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("slow").device("cpu").host_memory().unloadable());
