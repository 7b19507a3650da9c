// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

struct Watch {
  core::DeviceSlot slot = -1;
  tn_device_api own{};  // the plugin's
  std::atomic<bool> failing{false};
  std::atomic<int> failed{0};
  std::atomic<uint64_t> copies{0};
};

Watch& watch() {
  static Watch w;
  return w;
}

tn_status watched_alloc(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                        void** handle) {
  Watch& w = watch();
  if (!w.failing.load()) return w.own.alloc(context, index, bytes, stream, handle);
  ++w.failed;
  return TN_ERROR_MEMORY;
}

tn_status watched_copy(void* context, tn_device dst_device, void* dst, uint64_t dst_offset,
                       tn_device src_device, const void* src, uint64_t src_offset, uint64_t bytes,
                       tn_stream* stream) {
  ++watch().copies;
  return watch().own.copy(context, dst_device, dst, dst_offset, src_device, src, src_offset, bytes,
                          stream);
}

// 0, 1, 2 ... as bytes, from `first` on.
core::Impl host_bytes(int64_t n, int first) {
  core::Impl t = core::new_tensor("check", kUInt8, core::kHost, 1, &n);
  for (int64_t i = 0; i < n; ++i) t->host_data()[i] = static_cast<char>(first + i * 7);
  return t;
}

core::Impl device_bytes(DeviceId place, int64_t n) {
  return core::new_tensor("check", kUInt8, place, 1, &n);
}

bool same_bytes(core::TensorImpl& a, core::TensorImpl& b) {
  return a.numel == b.numel &&
         std::memcmp(a.host_data(), b.host_data(), static_cast<std::size_t>(a.numel)) == 0;
}

core::Impl byte_range(const core::Impl& t, int64_t begin, int64_t n) {
  const int64_t one = 1;
  return core::TensorImpl::make(kUInt8, t->storage, t->byte_offset() + static_cast<uint64_t>(begin),
                                1, &n, &one);
}

// Blocks of many sizes keep what was written to them while others come and go.
std::string check_memory(DeviceId place) {
  std::vector<std::pair<core::Impl, core::Impl>> kept;
  int seed = 1;
  for (int64_t n : {1, 3, 64, 511, 512, 513, 4096, 100003, 3 << 20, 25 << 20}) {
    core::Impl host = host_bytes(n, ++seed), remote = device_bytes(place, n);
    core::copy(*remote, *host);
    kept.emplace_back(host, remote);
    core::Impl passing = device_bytes(place, n);
    core::copy(*passing, *host_bytes(n, 99));
  }
  for (const auto& [host, remote] : kept) {
    core::Impl back = host_bytes(host->numel, 0);
    core::copy(*back, *remote);
    if (!same_bytes(*back, *host))
      return core::join("a block of ", host->numel, " bytes does not keep its bytes");
  }
  kept.clear();
  core::cache_trim(place);
  return "";
}

// Host to device, on the device and back, from and to the middle of blocks; no other byte changes.
std::string check_copies(DeviceId place) {
  constexpr int64_t kSize = 5000;
  struct {
    int64_t from, to, n;
  } constexpr kRanges[] = {{0, 0, kSize}, {1, 2, 3}, {17, 1024, 511}, {4096, 1, 900}, {4999, 0, 1}};
  for (const auto& range : kRanges) {
    core::Impl a = host_bytes(kSize, 1), b = host_bytes(kSize, 120);
    core::Impl remote_a = device_bytes(place, kSize), remote_b = device_bytes(place, kSize);
    core::copy(*remote_a, *a);
    core::copy(*remote_b, *b);
    core::copy(*byte_range(remote_b, range.to, range.n),
               *byte_range(remote_a, range.from, range.n));
    std::memcpy(b->host_data() + range.to, a->host_data() + range.from,
                static_cast<std::size_t>(range.n));
    core::Impl back = host_bytes(kSize, 0);
    core::copy(*back, *remote_b);
    const std::string what =
        core::join(range.n, " bytes from offset ", range.from, " to ", range.to);
    if (!same_bytes(*back, *b))
      return core::join("on the device, ", what, ": other bytes arrive, or elsewhere");
    core::copy(*byte_range(remote_b, range.to, range.n), *byte_range(back, range.from, range.n));
    std::memmove(b->host_data() + range.to, b->host_data() + range.from,
                 static_cast<std::size_t>(range.n));
    core::Impl again = host_bytes(kSize, 0);
    core::copy(*byte_range(again, range.from, range.n), *byte_range(remote_b, range.to, range.n));
    if (!same_bytes(*byte_range(again, range.from, range.n), *byte_range(b, range.to, range.n))) {
      return core::join("from the host and back, ", what, ": other bytes arrive");
    }
  }
  return "";
}

std::string check_fill(DeviceId place) {
  const tn_device_api& api = *core::device_entry(place).api;
  if (!api.fill) return "?the device table has no fill: core copies from the host";
  for (uint32_t pattern : {1u, 2u, 4u, 8u}) {
    constexpr int64_t kSize = 256;
    const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    core::Impl remote = device_bytes(place, kSize), expected = host_bytes(kSize, 3),
               back = host_bytes(kSize, 0);
    core::copy(*remote, *expected);
    const uint64_t count = 5, offset = 32;
    core::check_device(place, "fill",
                       api.fill(api.context, place.index, remote->view.data,
                                remote->view.byte_offset + offset, bytes, pattern, count, nullptr));
    core::synchronize(place);
    for (uint64_t k = 0; k < count * pattern; ++k) {
      expected->host_data()[offset + k] = static_cast<char>(bytes[k % pattern]);
    }
    core::copy(*back, *remote);
    if (!same_bytes(*back, *expected))
      return core::join("patterns of ", pattern, " bytes: other bytes than expected");
  }
  return "";
}

struct Stream {
  Stream(const tn_device_api& api, DeviceId place) : api(api), place(place) {
    core::check_device(place, "stream_create",
                       api.stream_create(api.context, place.index, 0, &stream));
  }
  ~Stream() { api.stream_destroy(api.context, place.index, stream); }
  const tn_device_api& api;
  DeviceId place;
  tn_stream* stream = nullptr;
};

struct Event {
  Event(const tn_device_api& api, DeviceId place) : api(api), place(place) {
    core::check_device(place, "event_create",
                       api.event_create(api.context, place.index, 0, &event));
  }
  ~Event() { api.event_destroy(api.context, place.index, event); }
  const tn_device_api& api;
  DeviceId place;
  tn_event* event = nullptr;
};

// Sets the stream of this thread for a scope.
struct StreamGuard {
  StreamGuard(DeviceId place, tn_stream* s) : place(place), before(core::current_stream(place)) {
    core::set_current_stream(place, s);
  }
  ~StreamGuard() { core::set_current_stream(place, before); }
  DeviceId place;
  tn_stream* before;
};

constexpr int64_t kMany = 1 << 18;
constexpr int kSteps = 20;

// Adds one twenty times; each call needs the one before it.
Tensor add_many(Tensor x) {
  for (int k = 0; k < kSteps; ++k) x = x.add(1);
  return x;
}

std::string check_sum(const Tensor& on_device) {
  const Tensor host = on_device.cpu();
  const double low = host.min().item<double>(), high = host.max().item<double>();
  if (low == 1 + kSteps && high == 1 + kSteps) return "";
  return core::join("elements between ", low, " and ", high, " instead of ", 1 + kSteps);
}

TensorOptions options_of(DeviceId place) { return TensorOptions().device(core::device_of(place)); }

// Kernels and then a copy on one stream.
std::string check_stream(DeviceId place) {
  const tn_device_api& api = *core::device_entry(place).api;
  if (!api.stream_create || !api.stream_destroy)
    return check_sum(add_many(full({kMany}, 1., options_of(place))));
  Stream s(api, place);
  std::string wrong;
  {
    StreamGuard guard(place, s.stream);
    wrong = check_sum(add_many(full({kMany}, 1., options_of(place))));
    core::synchronize(place);
  }
  core::cache_trim(place);
  return wrong;
}

// One stream computes, another one waits for its event and continues.
std::string check_events(DeviceId place) {
  const tn_device_api& api = *core::device_entry(place).api;
  if (!api.stream_create || !api.stream_destroy) return "?the device has no streams";
  if (!api.event_create || !api.event_destroy || !api.event_record || !api.event_wait)
    return "?the device has no events";
  Stream one(api, place), two(api, place);
  Event ready(api, place);
  std::string wrong;
  {
    Tensor x, y;
    {
      StreamGuard guard(place, one.stream);
      x = add_many(full({kMany}, 1 - double{kSteps}, options_of(place)));
      core::check_device(place, "event_record",
                         api.event_record(api.context, place.index, ready.event, one.stream));
    }
    StreamGuard guard(place, two.stream);
    core::check_device(place, "event_wait",
                       api.event_wait(api.context, place.index, ready.event, two.stream));
    wrong = check_sum(add_many(x));
    core::synchronize(place);
    int32_t done = 1;
    if (api.event_query) {
      core::check_device(place, "event_query",
                         api.event_query(api.context, place.index, ready.event, &done));
    }
    if (wrong.empty() && !done) wrong = "the event of finished work is not done";
  }
  core::synchronize(place);
  core::cache_trim(place);
  return wrong;
}

std::string why_not_native(DeviceId place, const char* op) {
  std::string out;
  for (ScalarType t : {kFloat, kInt32, kBool}) {
    for (const core::Candidate& c : core::explain(core::get_op(op), place.slot, t)) {
      if (c.by != core::ServedBy::Native || c.serves) continue;
      if (out.empty()) out = core::join(op, " is not native: ", dtype_name(t), ": ", c.reason);
    }
  }
  return out;
}

std::string check_native_fill(DeviceId place) {
  std::string wrong = why_not_native(place, "fill.Scalar");
  if (!wrong.empty()) return wrong;
  Tensor x = full({6, 8}, 1., options_of(place)), part = x.t().slice(0, 1, 7, 2);
  const uint64_t copies = copies_of_device();
  part.fill_(5);
  if (copies_of_device() != copies)
    return "fill of a strided view goes through the host: its kernel needs any_strides()";
  Tensor expected = full({6, 8}, 1.);
  expected.t().slice(0, 1, 7, 2).fill_(5);
  return equal(x.cpu(), expected) ? "" : "a strided fill: other values";
}

std::string check_native_copy(DeviceId place) {
  std::string wrong = why_not_native(place, "copy");
  if (!wrong.empty()) return wrong;
  const Tensor host = arange(48).reshape({6, 8});
  const Tensor remote = host.to(options_of(place).device());
  for (ScalarType to : {kFloat, kInt32, kBool, kLong}) {
    Tensor out = zeros({8, 3}, options_of(place).dtype(to));
    const Tensor from = remote.t().slice(1, 0, 6, 2);
    const uint64_t copies = copies_of_device();
    out.copy_(from);
    if (copies_of_device() != copies) {
      return core::join(
          "copy from strided int64 to ", dtype_name(to),
          " goes through the host: its kernel needs any_strides() and mixed_dtypes()");
    }
    if (!equal(out.cpu(), host.t().slice(1, 0, 6, 2).to(to))) {
      return core::join("copy from strided int64 to ", dtype_name(to), ": other values");
    }
  }
  return "";
}

// In float32, or int32 for primitives without floating dtypes.
std::string check_primitives(DeviceId place) {
  std::string missing;
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    if (!(op.flags & core::kOpPrimitive)) continue;
    const core::DtypeMask claimed = core::parse_dtype_mask(op.dtypes);
    const ScalarType t = claimed.has(kFloat) ? kFloat : kInt32;
    const auto candidates = core::explain(op, place.slot, t);
    const bool native = std::any_of(
        candidates.begin(), candidates.end(),
        [](const core::Candidate& c) { return c.by == core::ServedBy::Native && c.serves; });
    if (!native) missing += core::join(missing.empty() ? "" : " ", op.name);
  }
  return missing.empty() ? "" : "primitives without a kernel: " + missing;
}

}  // namespace

void watch_device(core::DeviceSlot slot) {
  Watch& w = watch();
  if (w.slot >= 0 || core::is_host_slot(slot)) return;
  // The loader's copy of the plugin's table, which is not const.
  auto* api = const_cast<tn_device_api*>(core::device_entry(slot).api);
  w.own = *api;
  w.slot = slot;
  api->alloc = watched_alloc;
  api->copy = watched_copy;
}

bool can_fail_allocations(core::DeviceSlot slot) { return watch().slot == slot; }
uint64_t copies_of_device() noexcept { return watch().copies.load(); }

FailingAllocations::FailingAllocations() {
  watch().failed = 0;
  watch().failing = true;
}
FailingAllocations::~FailingAllocations() { watch().failing = false; }
int FailingAllocations::count() const noexcept { return watch().failed.load(); }

const std::vector<DeviceCheck>& device_checks() {
  static const std::vector<DeviceCheck> all = {
      {"device.memory", 0, check_memory},
      {"device.copies", 0, check_copies},
      {"device.fill", 0, check_fill},
      {"device.stream", 0, check_stream},
      {"device.events", 0, check_events},
      {"device.gradients", 0, check_gradients},
      {"device.sparse_gradients", 0, check_sparse_gradients},
      {"device.native_fill", 1, check_native_fill},
      {"device.native_copy", 1, check_native_copy},
      {"device.primitives", 2, check_primitives},
      {"device.train_mlp", 2, check_mlp},
      {"device.train_conv_net", 2, check_conv_net},
  };
  return all;
}

}  // namespace tenon::check
