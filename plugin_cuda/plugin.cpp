// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/plugin.h"

#include "plugin_cuda/blas/gemm.h"
#include "plugin_cuda/runtime/runtime.h"
#if defined(TENON_CUDNN)
#include "plugin_cuda/dnn/plan.h"
#endif

namespace tenon::cuda {
namespace {

tn_status init(const tn_host&, tn_str* why) {
  static auto& text = *new std::string;  // read after init has returned
  try {
    text = blas_fault();
#if defined(TENON_CUDNN)
    if (text.empty()) text = dnn_fault();
#endif
    const tn_status status = text.empty() ? TN_NO_DEVICE : TN_ERROR_BACKEND;
    if (text.empty()) text = start();
    *why = {text.data(), text.size()};
    return text.empty() ? tn_status{TN_OK} : status;
  } catch (const sdk::Error& e) {
    text = e.what();
    *why = {text.data(), text.size()};
    return e.code();
  }
}

void shutdown() {
#if defined(TENON_CUDNN)
  stop_dnn();
#endif
  stop_blas();
  stop();
}

tn_str describe() {
  static auto& text = *new std::string;
  text = description();
  return {text.data(), text.size()};
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
                                      .describe(tenon::cuda::describe));
