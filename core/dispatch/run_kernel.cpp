// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls into a plugin. Profiling, shadow checks and counts hang on it and cost a predictable branch
// when off.
#include "core/dispatch/run_kernel.h"

#include <time.h>

#include <memory>
#include <utility>

#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/registered_dtype.h"
#include "runtime/base/watched_calls.h"
#include "runtime/device/capture.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/graph.h"

namespace tenon::core {

namespace {

struct Observer {
  std::atomic<KernelObserver> f{nullptr};
  void* context = nullptr;
};
Observer g_observer;
std::atomic<uint32_t> g_call_flags{0};
std::atomic<uint64_t> g_correlation{0};

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{1000000000} * t.tv_sec + t.tv_nsec;
}

[[noreturn]] TENON_COLD void kernel_failed(CallFrame& f, const KernelEntry& e, tn_status status) {
  std::string_view plugin(e.plugin->name.ptr, e.plugin->name.len),
      version(e.plugin->version.ptr, e.plugin->version.len);
  std::string what = f.error.empty() ? join("status ", status) : f.error;
  std::string shapes;
  for (uint32_t i = 0; i < f.op().n_args; ++i) {
    if (f.c.in[i].tag == TN_TAG_TENSOR)
      shapes += (shapes.empty() ? "" : ", ") + text(f.c.tensor(static_cast<int>(i)).sizes());
  }
  throw_error(status,
              join(f.op().name, ": ", what, " (", shapes, "; plugin ", plugin, " ", version, ")"));
}

void check_sized(CallFrame& f, const KernelEntry& e) {
  for (uint32_t k = 0; k < f.op().n_results; ++k) {
    if (f.targets[k]) continue;
    f.error = join("the kernel returned TN_OK without a size for output ", k, " (alloc_out)");
    kernel_failed(f, e, TN_ERROR_BACKEND);
  }
}

// A block that no other shares: on an opaque device a workspace is a handle, to which no offset can
// be added.
struct OwnBlock {
  const tn_device_api* api;
  DeviceId device;
  uint64_t bytes;
  tn_stream* stream;
  static void free(void* context, void* data) {
    auto* b = static_cast<OwnBlock*>(context);
    b->api->free(b->api->context, b->device.index, data, b->bytes, b->stream);
    delete b;
  }
};

TENON_COLD Ref<Storage> own_block(DeviceId device, uint64_t bytes) {
  auto b = std::make_unique<OwnBlock>(
      OwnBlock{device_entry(device).api, device, bytes, current_stream(device)});
  void* handle = nullptr;
  check_device(device, "allocation of a workspace",
               b->api->alloc(b->api->context, device.index, bytes, b->stream, &handle));
  try {
    Ref<Storage> s = Storage::wrap(device, handle, bytes, OwnBlock::free, b.get());
    (void)b.release();
    return s;
  } catch (...) {
    b->api->free(b->api->context, device.index, handle, bytes, b->stream);
    throw;
  }
}

TENON_COLD void* make_workspace(CallFrame& f, uint64_t bytes) {
  int64_t n = static_cast<int64_t>(bytes);
  if (!f.device.is_host() && (device_entry(f.device).flags & TN_DEVICE_OPAQUE)) {
    return f.keep(TensorImpl::make(kByte, own_block(f.device, bytes), 0, 1, &n))->view.data;
  }
  return f.keep(new_tensor(f.op().name, kByte, f.device, 1, &n))->host_data();
}

tn_status run_watched(CallFrame& f, KernelEntry& e, tn_call& call) {
  if (is_capturing(f.device)) {
    const bool safe = e.flags & TN_KERNEL_CAPTURE_SAFE;
    const bool waits =
        (e.flags & TN_KERNEL_HOST_BLOCKING) || (!safe && (f.op().flags & kOpDynamic));
    if (waits) refuse_in_capture(f.device, f.op().name, "its kernel waits for the device");
    if (!safe)
      refuse_in_capture(f.device, f.op().name,
                        "its kernel does not say that it can be (capture_safe)");
    call.flags |= TN_CALL_CAPTURING;
  }
  call.correlation = g_correlation.fetch_add(1, std::memory_order_relaxed) + 1;
  KernelObserver observer = g_observer.f.load(std::memory_order_acquire);
  int64_t begin = observer ? now_ns() : 0;
  tn_status status = e.run(&call);
  if (observer) observer(g_observer.context, f.op(), f.device.slot, begin, now_ns());
  return status;
}

}  // namespace

bool run_kernel(CallFrame& f, KernelEntry& e) {
  tn_value out[kMaxOutputs];
  const uint32_t n_out = f.op().n_results;
  for (uint32_t k = 0; k < n_out; ++k) {
    out[k].tag = f.targets[k] ? TN_TAG_TENSOR : TN_TAG_NONE;
    out[k].len = 0;
    out[k].u.tensor = f.targets[k] ? &f.targets[k]->view : nullptr;
  }
  tn_call call;
  call.struct_size = sizeof call;
  call.n_in = f.op().n_args;
  call.n_out = n_out;
  call.in = f.in;
  call.out = out;
  call.stream = f.device.is_host() ? nullptr : current_stream(f.device);
  call.workspace = nullptr;
  call.workspace_bytes = 0;
  call.state = e.kernel->state;
  call.device_error = f.device.is_host() ? nullptr : device_error_word(f.device);
  call.context = &f;
  call.correlation = 0;
  call.flags = g_call_flags.load(std::memory_order_relaxed) | f.flags;
  call.op = f.op().index;
  if (TENON_UNLIKELY(e.kernel->supports != nullptr) && e.kernel->supports(&call) != TN_OK)
    return false;
  if (TENON_UNLIKELY(e.kernel->workspace != nullptr)) {
    uint64_t bytes = 0;
    tn_status s = e.kernel->workspace(&call, &bytes);
    if (s == TN_DECLINED) return false;
    if (s != TN_OK) kernel_failed(f, e, s);
    call.workspace = bytes ? make_workspace(f, bytes) : nullptr;
    call.workspace_bytes = bytes;
  }
  tn_status status;
  if (TENON_UNLIKELY(calls_are_watched()))
    status = run_watched(f, e, call);
  else
    status = e.run(&call);
  if (TENON_LIKELY(status == TN_OK)) {
    if (TENON_UNLIKELY(f.op().flags & kOpDynamic)) check_sized(f, e);
    return true;
  }
  if (status == TN_DECLINED) return false;
  kernel_failed(f, e, status);
}

bool try_kernel(CallFrame& f, KernelEntry& e) {
  if (TENON_UNLIKELY(!(e.flags & TN_KERNEL_ANY_STRIDES))) make_contiguous_outputs(f);
  prepare_args(f, e.flags);
  return run_kernel(f, e);
}

bool kernel_fits(const CallFrame& f, const KernelEntry& e) {
  return e.dtypes.has(f.dtype) && (f.layout == 0 ? knows_dtypes(f, e) : takes_layouts(f, e));
}

KernelList::KernelList(const CallFrame& f, DeviceSlot slot)
    : f_(f), next_(cell(f.op(), slot, f.layout).load(std::memory_order_acquire)) {
  if (f.layout != 0) rest_ = cell(f.op(), kAnyDevice, f.layout).load(std::memory_order_acquire);
}

KernelList::KernelList(const CallFrame& f, DeviceSlot slot, const KernelEntry& last)
    : KernelList(f, slot) {
  while (KernelEntry* e = next()) {
    if (e == &last) return;
  }
}

KernelEntry* KernelList::next() {
  for (;;) {
    if (next_ == nullptr) next_ = std::exchange(rest_, nullptr);
    if (next_ == nullptr) return nullptr;
    KernelEntry* e = std::exchange(next_, next_->next.load(std::memory_order_acquire));
    if (kernel_fits(f_, *e)) return e;
  }
}

void set_kernel_observer(KernelObserver observer, void* context) {
  const bool was = g_observer.f.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
  g_observer.context = context;
  g_observer.f.store(observer, std::memory_order_release);
  watch_calls(static_cast<int>(observer != nullptr) - static_cast<int>(was));
}

void set_deterministic(bool on) {
  g_call_flags.store(on ? uint32_t{TN_CALL_DETERMINISTIC} : 0u, std::memory_order_relaxed);
}

bool deterministic() noexcept {
  return g_call_flags.load(std::memory_order_relaxed) & TN_CALL_DETERMINISTIC;
}

}  // namespace tenon::core
