// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// plugin_sparse_cuda's kernels beside the emulated device.
#include "tenon/sdk/plugin.h"

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("sparse_cuda")
              .vendor("Tenon")
              .device("cuda")
              .host_memory()
              .unloadable());
