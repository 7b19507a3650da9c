// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The layout "sparse_coo": indices [sparse_dim, nnz] of int64 and values [nnz, dense sizes...].
#include "tenon/sdk/plugin.h"

#include "isa/isa.h"
#include "plugin_sparse/coo/coo.h"
#include "plugin_sparse/coo/infer.h"

namespace tenon::coo {
constexpr tn_ext_layout kCooLayout = custom_layout(kLayout, "indices,values", "coalesced", &infer);

// plugin_cpu logs the warning if TENON_CPU_ISA is not a valid name.
tn_status init(const tn_host&, tn_str*) {
  if (const auto name = setting("CPU_ISA")) (void)cpu::choose_isa(*name);
  return TN_OK;
}
}  // namespace tenon::coo

TN_PLUGIN_INIT(tenon::coo::init, tenon::sdk::PluginInfo{}
                                     .name("sparse")
                                     .vendor("Tenon")
                                     .device("any")
                                     .host_memory()
                                     .unloadable()
                                     .ext(&tenon::coo::kCooLayout.head));
