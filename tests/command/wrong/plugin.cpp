// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device whose memory is right and whose kernels are wrong, each in its own way.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/exp.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/plugin.h"

namespace {

using namespace tenon::sdk;

constexpr uint64_t kBeyond = 64;  // bytes of a segment that the kernel of relu may spoil

tn_status count(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strcpy(out->name, "kernels that are wrong");
  out->total_bytes = out->free_bytes = uint64_t{1} << 30;
  out->alignment = 16;
  return TN_OK;
}

tn_status alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  *handle = std::malloc(bytes + kBeyond);
  return *handle ? TN_OK : TN_ERROR_MEMORY;
}

void release(void*, int32_t, void* handle, uint64_t, tn_stream*) { std::free(handle); }

tn_status copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device, const void* src, uint64_t src_offset,
               uint64_t bytes, tn_stream*) {
  std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset, bytes);
  return TN_OK;
}

tn_status sync(void*, int32_t, tn_stream*) { return TN_OK; }

constexpr tn_device_api make_api() {
  tn_device_api api{};
  api.struct_size = sizeof api;
  api.count = count;
  api.props = props;
  api.alloc = alloc;
  api.free = release;
  api.copy = copy;
  api.sync = sync;
  return api;
}
constexpr tn_device_api kApi = make_api();

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

// Does not come back from seven elements.
tn_status exp(Call&, Tensor out, Tensor) {
  while (out.numel() == 7) pause();
  return TN_DECLINED;
}

}  // namespace

TN_PLUGIN(PluginInfo{}.name("wrong").version("1.0").device("wrong").device_api(&kApi).unloadable());

TN_KERNEL(relu, relu, dtypes("float32"));
TN_KERNEL(neg, neg, dtypes("float32"));
TN_KERNEL(exp, exp, dtypes("float32"));
