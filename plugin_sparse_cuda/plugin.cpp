// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels for sparse tensors on NVIDIA GPUs. libtenon_sparse.so provides the layout and
// libtenon_cuda.so the device; this plugin does not depend on either, and opens without them.
#include "tenon/sdk/plugin.h"

#include "plugin_cuda/runtime/entry.h"

namespace tenon::cuda {
namespace {

tn_status init(const tn_host&, tn_str* why) {
  return open_devices([] { return std::string(); }, why);
}

}  // namespace
}  // namespace tenon::cuda

TN_PLUGIN_INIT(tenon::cuda::init, tenon::sdk::PluginInfo{}
                                      .name("sparse_cuda")
                                      .vendor("Tenon")
                                      .device("cuda")
                                      .host_memory()
                                      .unloadable()
                                      .shutdown(tenon::cuda::stop)
                                      .describe(tenon::cuda::describe));
