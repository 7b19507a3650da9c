// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls into a plugin. Profiling, shadow checks and counts hang on it and cost a predictable branch
// when off.
#include "core/dispatch/run_kernel.h"

#include <time.h>

#include <memory>
#include <utility>

#include "core/dispatch/converted_dtype.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
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
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{1000000000} * time.tv_sec + time.tv_nsec;
}

[[noreturn]] TENON_COLD void kernel_failed(CallFrame& frame, const KernelEntry& entry,
                                           tn_status status) {
  std::string_view plugin(entry.plugin->name.ptr, entry.plugin->name.len),
      version(entry.plugin->version.ptr, entry.plugin->version.len);
  std::string what = frame.error.empty() ? join("status ", status) : frame.error;
  std::string shapes;
  for (uint32_t i = 0; i < frame.op().n_args; ++i) {
    if (frame.infer.in[i].tag == TN_TAG_TENSOR)
      shapes +=
          (shapes.empty() ? "" : ", ") + text(frame.infer.tensor(static_cast<int>(i)).sizes());
  }
  throw_error(status, join(frame.op().name, ": ", what, " (", shapes, "; plugin ", plugin, " ",
                           version, ")"));
}

void check_sized(CallFrame& frame, const KernelEntry& entry) {
  for (uint32_t k = 0; k < frame.op().n_results; ++k) {
    if (frame.targets[k]) continue;
    frame.error = join("the kernel returned TN_OK without a size for output ", k, " (alloc_out)");
    kernel_failed(frame, entry, TN_ERROR_BACKEND);
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
    auto* block = static_cast<OwnBlock*>(context);
    block->api->free(block->api->context, block->device.index, data, block->bytes, block->stream);
    delete block;
  }
};

TENON_COLD Ref<Storage> own_block(DeviceId device, uint64_t bytes) {
  auto block = std::make_unique<OwnBlock>(
      OwnBlock{device_entry(device).api, device, bytes, current_stream(device)});
  void* handle = nullptr;
  check_device(device, "allocation of a workspace",
               block->api->alloc(block->api->context, device.index, bytes, block->stream, &handle));
  try {
    Ref<Storage> storage = Storage::wrap(device, handle, bytes, OwnBlock::free, block.get());
    (void)block.release();
    return storage;
  } catch (...) {
    block->api->free(block->api->context, device.index, handle, bytes, block->stream);
    throw;
  }
}

TENON_COLD void* make_workspace(CallFrame& frame, uint64_t bytes) {
  int64_t n = static_cast<int64_t>(bytes);
  if (!frame.device.is_host() && (device_entry(frame.device).flags & TN_DEVICE_OPAQUE)) {
    return frame.keep(TensorImpl::make(kByte, own_block(frame.device, bytes), 0, 1, &n))->view.data;
  }
  return frame.keep(new_tensor(frame.op().name, kByte, frame.device, 1, &n))->host_data();
}

tn_status run_watched(CallFrame& frame, KernelEntry& entry, tn_call& call) {
  if (is_capturing(frame.device)) {
    const bool safe = entry.flags & TN_KERNEL_CAPTURE_SAFE;
    const bool waits =
        (entry.flags & TN_KERNEL_HOST_BLOCKING) || (!safe && (frame.op().flags & kOpDynamic));
    if (waits) refuse_in_capture(frame.device, frame.op().name, "its kernel waits for the device");
    if (!safe)
      refuse_in_capture(frame.device, frame.op().name,
                        "its kernel does not say that it can be (capture_safe)");
    call.flags |= TN_CALL_CAPTURING;
  }
  call.correlation = g_correlation.fetch_add(1, std::memory_order_relaxed) + 1;
  KernelObserver observer = g_observer.f.load(std::memory_order_acquire);
  int64_t begin = observer ? now_ns() : 0;
  tn_status status = entry.run(&call);
  if (observer) observer(g_observer.context, frame.op(), frame.device.slot, begin, now_ns());
  return status;
}

}  // namespace

bool run_kernel(CallFrame& frame, KernelEntry& entry) {
  tn_value out[kMaxOutputs];
  const uint32_t n_out = frame.op().n_results;
  for (uint32_t k = 0; k < n_out; ++k) {
    out[k].tag = frame.targets[k] ? TN_TAG_TENSOR : TN_TAG_NONE;
    out[k].len = 0;
    out[k].u.tensor = frame.targets[k] ? &frame.targets[k]->view : nullptr;
  }
  tn_call call;
  call.struct_size = sizeof call;
  call.n_in = frame.op().n_args;
  call.n_out = n_out;
  call.in = frame.in;
  call.out = out;
  call.stream = frame.device.is_host() ? nullptr : current_stream(frame.device);
  call.workspace = nullptr;
  call.workspace_bytes = 0;
  call.state = entry.kernel->state;
  call.device_error = frame.device.is_host() ? nullptr : device_error_word(frame.device);
  call.context = &frame;
  call.correlation = 0;
  call.flags = g_call_flags.load(std::memory_order_relaxed) | frame.flags;
  call.op = frame.op().index;
  if (TENON_UNLIKELY(entry.kernel->supports != nullptr) && entry.kernel->supports(&call) != TN_OK)
    return false;
  if (TENON_UNLIKELY(entry.kernel->workspace != nullptr)) {
    uint64_t bytes = 0;
    tn_status s = entry.kernel->workspace(&call, &bytes);
    if (s == TN_DECLINED) return false;
    if (s != TN_OK) kernel_failed(frame, entry, s);
    call.workspace = bytes ? make_workspace(frame, bytes) : nullptr;
    call.workspace_bytes = bytes;
  }
  tn_status status;
  if (TENON_UNLIKELY(calls_are_watched()))
    status = run_watched(frame, entry, call);
  else
    status = entry.run(&call);
  if (TENON_LIKELY(status == TN_OK)) {
    if (TENON_UNLIKELY(frame.op().flags & kOpDynamic)) check_sized(frame, entry);
    return true;
  }
  if (status == TN_DECLINED) return false;
  kernel_failed(frame, entry, status);
}

bool try_kernel(CallFrame& frame, KernelEntry& entry) {
  if (TENON_UNLIKELY(!(entry.flags & TN_KERNEL_ANY_STRIDES))) make_contiguous_outputs(frame);
  prepare_args(frame, entry.flags);
  return run_kernel(frame, entry);
}

bool kernel_fits(const CallFrame& frame, const KernelEntry& entry) {
  return entry.dtypes.has(frame.dtype) &&
         (frame.layout == 0 ? knows_dtypes(frame, entry) : takes_layouts(frame, entry));
}

KernelList::KernelList(const CallFrame& frame, DeviceSlot slot)
    : f_(frame), next_(cell(frame.op(), slot, frame.layout).load(std::memory_order_acquire)) {
  if (frame.layout != 0)
    rest_ = cell(frame.op(), kAnyDevice, frame.layout).load(std::memory_order_acquire);
}

KernelList::KernelList(const CallFrame& frame, DeviceSlot slot, const KernelEntry& last)
    : KernelList(frame, slot) {
  while (KernelEntry* entry = next()) {
    if (entry == &last) return;
  }
}

KernelEntry* KernelList::next() {
  for (;;) {
    if (next_ == nullptr) next_ = std::exchange(rest_, nullptr);
    if (next_ == nullptr) return nullptr;
    KernelEntry* entry = std::exchange(next_, next_->next.load(std::memory_order_acquire));
    if (kernel_fits(f_, *entry)) return entry;
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
