// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/plugin.h"

#include "plugin_cuda/blas/gemm.h"
#include "plugin_cuda/fft/plans.h"
#include "plugin_cuda/loops/programs.h"
#include "plugin_cuda/runtime/entry.h"
#include "plugin_cuda/solver/libraries.h"
#if defined(TENON_CUDNN)
#include "plugin_cuda/dnn/plan.h"
#include "plugin_cuda/dnn/rnn_plan.h"
#endif

namespace tenon::cuda {
namespace {

tn_status init(const tn_host&, tn_str* why) {
  start_programs();
  const auto libraries = [] {
    std::string fault = blas_fault();
#if defined(TENON_CUDNN)
    if (fault.empty()) fault = dnn_fault();
#endif
    return fault;
  };
  return open_devices(libraries, why);
}

tn_str describe_all() {
#if defined(TENON_CUDNN)
  return kept(description() + dnn_description());
#else
  return describe();
#endif
}

void shutdown() {
#if defined(TENON_CUDNN)
  stop_rnn();
  stop_dnn();
#endif
  stop_programs();
  stop_fft();
  stop_solver();
  stop_blas();
  stop();
}

}  // namespace
}  // namespace tenon::cuda

TN_PLUGIN_INIT(tenon::cuda::init, tenon::sdk::PluginInfo{}
                                      .name("cuda")
                                      .vendor("Tenon")
                                      .device("cuda")
                                      .device_api(&tenon::cuda::kDeviceApi)
                                      .ext(&tenon::cuda::kGraphCapture.head)
                                      .unloadable()
                                      .shutdown(tenon::cuda::shutdown)
                                      .describe(tenon::cuda::describe_all));
