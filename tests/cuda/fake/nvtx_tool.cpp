// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tool as Nsight loads one (NVTX_INJECTION64_PATH): it keeps the text of what it hears, ranges as
// "name(" and ")".
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string>

namespace {
std::string& heard() {
  static std::string text;
  return text;
}
int push(const char* name) {
  heard() += std::string(name) + "(";
  return 0;
}
int pop() {
  heard() += ")";
  return 0;
}
}  // namespace

extern "C" {

const char* fake_nvtx_heard() { return heard().c_str(); }
void fake_nvtx_forget() { heard().clear(); }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int count = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) ||
      count <= NVTX_CBID_CORE_RangePop)
    return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}

}  // extern "C"
