// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/device_pool.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/settings.h"
#include "runtime/device/capture.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/pool.h"

namespace tenon::core {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmallRequest = kMiB;
constexpr uint64_t kSmallSegment = 2 * kMiB;
constexpr uint64_t kMediumRequest = 10 * kMiB;
constexpr uint64_t kMediumSegment = 20 * kMiB;
constexpr uint64_t kWord = 4;  // atomics on smaller elements work on the word that contains them
constexpr int kScan = 32;      // spans looked at in the one bin whose members may be too small

uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

int bin_of(uint64_t bytes) {  // of the largest bin size that is not above `bytes`
  if (bytes < 512) return 0;
  int top = 63 - __builtin_clzll(bytes);
  int bin = (top - 9) * 16 + static_cast<int>(bytes >> (top - 4) & 15);
  return bin < FreeLists::kBins ? bin : FreeLists::kBins - 1;
}

uint64_t segment_bytes(uint64_t request) {
  if (request <= kSmallRequest) return kSmallSegment;
  if (request < kMediumRequest) return kMediumSegment;
  return round_up(request, 2 * kMiB);
}

// Maximum of unused bytes in the cache: a quarter of the machine's memory for the host, all of it
// for a device.
uint64_t read_cache_limit(bool host) {
  constexpr int64_t kMaxMiB = int64_t{1} << 40;
  const auto given =
      host ? number_setting("HOST_CACHE_MB", 0, kMaxMiB, "a quarter of the memory is used")
           : number_setting("DEVICE_CACHE_MB", 0, kMaxMiB, "all of the memory is used");
  if (given) return static_cast<uint64_t>(*given) * kMiB;
  if (!host) return UINT64_MAX;
  tn_device_props props{};
  props.struct_size = sizeof props;
  host_device_api().props(nullptr, 0, &props);
  return props.total_bytes / 4;
}

bool has_events(const tn_device_api* api) {
  return TN_HAS(api, tn_device_api, event_query) && api->event_create && api->event_destroy &&
         api->event_record && api->event_wait && api->event_query;
}

}  // namespace

void FreeLists::insert(Span* s) noexcept {
  int b = bin_of(s->bytes);
  s->bin_prev = nullptr;
  s->bin_next = bin_[b];
  if (bin_[b] != nullptr) bin_[b]->bin_prev = s;
  bin_[b] = s;
  map_[b / 64] |= uint64_t{1} << (b % 64);
}

void FreeLists::remove(Span* s) noexcept {
  int b = bin_of(s->bytes);
  if (s->bin_prev != nullptr) {
    s->bin_prev->bin_next = s->bin_next;
  } else {
    bin_[b] = s->bin_next;
    if (bin_[b] == nullptr) map_[b / 64] &= ~(uint64_t{1} << (b % 64));
  }
  if (s->bin_next != nullptr) s->bin_next->bin_prev = s->bin_prev;
}

Span* FreeLists::find_best(uint64_t bytes) const noexcept {
  int b = bin_of(bytes);
  Span* found = nullptr;
  int left = b == kBins - 1 ? INT32_MAX : kScan;  // the last bin is open upwards
  for (Span* s = bin_[b]; s != nullptr && left-- > 0; s = s->bin_next) {
    if (s->bytes >= bytes && (found == nullptr || s->bytes < found->bytes)) found = s;
  }
  if (found != nullptr || ++b >= kBins) return found;
  uint64_t word = map_[b / 64] & (~uint64_t{0} << (b % 64));
  for (int w = b / 64; w < kBins / 64; word = map_[w]) {
    if (word != 0) return bin_[w * 64 + __builtin_ctzll(word)];
    if (++w == kBins / 64) break;
  }
  return nullptr;
}

DevicePool::DevicePool(DeviceId device)
    : device_(device),
      granule_(device.is_host() ? 4096 : 512),
      cache_limit_(read_cache_limit(device.is_host())),
      exact_(!device.is_host() && cache_limit_ == 0) {
  tn_device_props props{};
  props.struct_size = sizeof props;
  const tn_device_api* a = api();
  if (device.is_host() || a->props(a->context, device.index, &props) != TN_OK) return;
  if (props.alignment > 512) granule_ = props.alignment;
  if (props.alignment > 0 && !(props.flags & TN_DEVICE_OPAQUE)) alignment_ = props.alignment;
}

const tn_device_api* DevicePool::api() const {
  const tn_device_api* a = device_entry(device_).api;
  TENON_CHECK(a != nullptr && !closed_, BackendError, "device '", device_entry(device_).name,
              "' is not loaded");
  return a;
}

FreeLists* DevicePool::find_lists(tn_stream* stream, bool small, uint32_t pool) noexcept {
  const auto fits = [&](const FreeLists* l) {
    return l->stream == stream && l->small == small && l->pool == pool;
  };
  if (recent_ != nullptr && fits(recent_)) return recent_;
  for (FreeLists* l : lists_) {
    if (fits(l)) return recent_ = l;
  }
  return nullptr;
}

FreeLists* DevicePool::make_lists(tn_stream* stream, bool small, uint32_t pool) {
  if (FreeLists* present = find_lists(stream, small, pool)) return present;
  lists_.reserve(lists_.size() + 1);
  lists_.push_back(new FreeLists(stream, small, pool));
  return recent_ = lists_.back();
}

Block DevicePool::alloc(uint64_t bytes, tn_stream* stream) {
  std::lock_guard<std::mutex> hold(lock_);
  last_status_ = TN_OK;
  if (bytes > uint64_t{1} << 56) out_of_memory(bytes);  // keeps the sums below in range
  uint64_t rounded =
      exact_ ? round_up(std::max<uint64_t>(bytes, 1), kWord) : round_up(bytes, granule_);
  bool small = rounded <= kSmallRequest;
  const uint32_t pool = capture_pool(device_);
  if (pool != 0) make_lists(stream, small, 0);  // made here, so that what frees need not allocate
  if (pending_ != nullptr) poll_pending(false);
  Span* s = find(rounded, stream, small, pool);
  if (s == nullptr && pool == 0) {  // a capture cannot wait
    poll_pending(true);
    trim_locked();
    s = find(rounded, stream, small, pool);
  }
  if (s == nullptr) out_of_memory(bytes);
  split(s, rounded);
  s->n_used = 0;
  s->used_on_many = false;
  ++stats_.allocations;
  ++alive_;
  stats_.allocated += s->bytes;
  stats_.allocated_peak = std::max(stats_.allocated_peak, stats_.allocated);
  return {s->handle, s->offset, s->bytes, s};
}

// Cheapest source first: the own stream, another one whose work is done, the device, and only then
// one whose work must be awaited, which serializes unrelated streams.
Span* DevicePool::find(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool) {
  FreeLists* own = make_lists(stream, small, pool);
  if (Span* s = own->find_best(bytes)) {
    own->remove(s);
    s->free = false;
    return s;
  }
  if (pool != 0) return grow(bytes, stream, small, pool);
  if (Span* s = take_from_other_stream(bytes, stream, small, false)) return s;
  if (Span* s = grow(bytes, stream, small, pool)) return s;
  return take_from_other_stream(bytes, stream, small, true);
}

Span* DevicePool::take_from_other_stream(uint64_t bytes, tn_stream* stream, bool small, bool wait) {
  for (FreeLists* l : lists_) {
    if (l->stream == stream || l->small != small || l->pool != 0) continue;
    Span* s = l->find_best(bytes);
    if (s == nullptr || !(wait ? order_streams(l->stream, stream) : is_idle(l->stream))) continue;
    l->remove(s);
    s->free = false;
    s->stream = stream;
    return s;
  }
  return nullptr;
}

tn_event* DevicePool::record(tn_stream* stream) noexcept {
  const tn_device_api* a = device_entry(device_).api;
  tn_event* event = nullptr;
  if (!has_events(a) ||
      a->event_create(a->context, device_.index, TN_EVENT_NO_TIMING, &event) != TN_OK)
    return nullptr;
  if (a->event_record(a->context, device_.index, event, stream) == TN_OK) return event;
  a->event_destroy(a->context, device_.index, event);
  return nullptr;
}

// Whether all work of the stream until now is done.
bool DevicePool::is_idle(tn_stream* stream) noexcept {
  const tn_device_api* a = device_entry(device_).api;
  int32_t done = 0;
  if (g_captures.load(std::memory_order_relaxed) != 0)
    return false;  // a capturing stream cannot be queried
  if (TN_HAS(a, tn_device_api, stream_query) && a->stream_query)
    return a->stream_query(a->context, device_.index, stream, &done) == TN_OK && done;
  tn_event* event = record(stream);
  if (event == nullptr) return false;
  const bool passed = a->event_query(a->context, device_.index, event, &done) == TN_OK && done;
  a->event_destroy(a->context, device_.index, event);
  return passed;
}

// Work of `to` from here on comes after all work of `from` until now.
bool DevicePool::order_streams(tn_stream* from, tn_stream* to) noexcept {
  const tn_device_api* a = device_entry(device_).api;
  tn_event* event = record(from);
  if (event == nullptr) return a->sync(a->context, device_.index, from) == TN_OK;
  bool waits = a->event_wait(a->context, device_.index, event, to) == TN_OK;
  a->event_destroy(a->context, device_.index, event);
  return waits || a->sync(a->context, device_.index, from) == TN_OK;
}

// Two tensors that share memory would be noticed much later, far from the cause.
const char* DevicePool::block_fault(const void* handle, uint64_t bytes) const {
  if (handle == nullptr) return "no address";
  const auto begin = reinterpret_cast<uintptr_t>(handle);
  if (begin % alignment_ != 0) return "a block that is not aligned as props says";
  if (device_.is_host() || (device_entry(device_).flags & TN_DEVICE_OPAQUE)) return nullptr;
  for (const Span* first = segments_; first != nullptr; first = first->segment_next) {
    uint64_t whole = 0;
    for (const Span* s = first; s != nullptr; s = s->next) whole += s->bytes;
    const auto other = reinterpret_cast<uintptr_t>(first->handle);
    if (begin < other + whole && other < begin + bytes) return "a block that overlaps a live one";
  }
  return nullptr;
}

Span* DevicePool::alloc_segment(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool) {
  const tn_device_api* a = api();
  auto* s = new (pool_alloc(sizeof(Span))) Span{};
  last_status_ = a->alloc(a->context, device_.index, bytes, stream, &s->handle);
  if (last_status_ != TN_OK) {
    pool_free(s, sizeof(Span));
    return nullptr;
  }
  if (const char* fault = block_fault(s->handle, bytes)) {
    pool_free(s, sizeof(Span));  // the block is leaked: freeing it is undefined
    throw BackendError(
        join("device '", device_entry(device_).name, "': its alloc returned TN_OK and ", fault));
  }
  s->bytes = bytes;
  s->stream = stream;
  s->small = small;
  s->pool = pool;
  s->segment_next = segments_;
  if (segments_ != nullptr) segments_->segment_prev = s;
  segments_ = s;
  ++stats_.device_allocations;
  stats_.reserved += bytes;
  stats_.reserved_peak = std::max(stats_.reserved_peak, stats_.reserved);
  return s;
}

Span* DevicePool::grow(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool) {
  uint64_t whole = exact_ ? bytes : segment_bytes(bytes);
  Span* s = alloc_segment(whole, stream, small, pool);
  return s == nullptr && whole != bytes ? alloc_segment(bytes, stream, small, pool) : s;
}

// Frees the rest after `bytes` as a span of its own, if it is large enough.
void DevicePool::split(Span* s, uint64_t bytes) {
  uint64_t left = s->bytes - bytes;
  if (exact_ || left < (s->small ? granule_ : kMiB)) return;
  void* room;
  try {
    room = pool_alloc(sizeof(Span));
  } catch (const std::bad_alloc&) {
    return;  // the block stays larger than requested
  }
  auto* rest = new (room) Span{};
  rest->handle = s->handle;
  rest->offset = s->offset + bytes;
  rest->bytes = left;
  rest->stream = s->stream;
  rest->small = s->small;
  rest->pool = s->pool;
  rest->prev = s;
  rest->next = s->next;
  if (s->next != nullptr) s->next->prev = rest;
  s->next = rest;
  s->bytes = bytes;
  put_free(rest);
}

void DevicePool::absorb_next(Span* s) noexcept {
  Span* gone = s->next;
  s->bytes += gone->bytes;
  s->next = gone->next;
  if (gone->next != nullptr) gone->next->prev = s;
  pool_free(gone, sizeof(Span));
}

void DevicePool::put_free(Span* s) noexcept {
  FreeLists* l = find_lists(s->stream, s->small, s->pool);  // exists: alloc made it
  if (s->next != nullptr && s->next->free && s->next->stream == s->stream) {
    l->remove(s->next);
    absorb_next(s);
  }
  if (s->prev != nullptr && s->prev->free && s->prev->stream == s->stream) {
    s = s->prev;
    l->remove(s);
    absorb_next(s);
  }
  s->free = true;
  l->insert(s);
}

void DevicePool::free(Span* s) noexcept {
  std::lock_guard<std::mutex> hold(lock_);
  stats_.allocated -= s->bytes;
  --alive_;
  const tn_device_api* a = device_entry(device_).api;
  if (a == nullptr) return;  // its plugin is unloaded, and its memory freed
  if (s->n_used > 0 && capture_pool(device_) != 0) {  // events of a capture cannot be queried
    s->bin_next = held_;
    held_ = s;
    return;
  }
  retire(s);
}

// To the free spans, or to the pending ones while other streams use it.
void DevicePool::retire(Span* s) noexcept {
  const tn_device_api* a = device_entry(device_).api;
  bool waits = false;
  for (int i = 0; i < s->n_used; ++i) {
    s->events[i] = s->used_on_many ? nullptr : record(s->used_on[i]);
    if (s->events[i] == nullptr)
      a->sync(a->context, device_.index, s->used_on_many ? nullptr : s->used_on[i]);
    waits |= s->events[i] != nullptr;
  }
  if (waits) {
    s->bin_next = pending_;
    pending_ = s;
    return;
  }
  put_free(s);
  if (stats_.reserved - stats_.allocated > cache_limit_ && capture_pool(device_) == 0)
    trim_locked();
}

// Frees the pending spans whose events have passed; with `wait`, all of them.
void DevicePool::poll_pending(bool wait) noexcept {
  const tn_device_api* a = device_entry(device_).api;
  if (wait && pending_ != nullptr) a->sync(a->context, device_.index, nullptr);
  Span* todo = pending_;
  pending_ = nullptr;
  while (Span* s = todo) {
    todo = s->bin_next;
    bool done = true;
    for (int i = 0; i < s->n_used; ++i) {
      if (s->events[i] == nullptr) continue;
      int32_t passed = 0;
      if (!wait && a->event_query(a->context, device_.index, s->events[i], &passed) == TN_OK &&
          !passed) {
        done = false;
        continue;
      }
      a->event_destroy(a->context, device_.index, s->events[i]);
      s->events[i] = nullptr;
    }
    if (done) {
      put_free(s);
    } else {
      s->bin_next = pending_;
      pending_ = s;
    }
  }
}

void DevicePool::record_stream(Span* s, tn_stream* stream) {
  std::lock_guard<std::mutex> hold(lock_);
  if (stream == s->stream) return;
  for (int i = 0; i < s->n_used; ++i) {
    if (s->used_on[i] == stream) return;
  }
  if (s->n_used == kSpanStreams) {
    s->used_on_many = true;
  } else {
    s->used_on[s->n_used++] = stream;
  }
}

// Whole segments go back. Spans of one segment may belong to different streams; after a wait they
// can merge.
void DevicePool::trim_locked() noexcept {
  const tn_device_api* a = device_entry(device_).api;
  if (a == nullptr) return;
  if (!device_.is_host()) a->sync(a->context, device_.index, nullptr);
  Span* following;
  for (Span* first = segments_; first != nullptr; first = following) {
    following = first->segment_next;
    bool unused = first->pool == 0;
    for (Span* s = first; s != nullptr && unused; s = s->next) unused = s->free;
    if (!unused) continue;
    for (Span* s = first; s != nullptr; s = s->next) find_lists(s->stream, s->small, 0)->remove(s);
    while (first->next != nullptr) absorb_next(first);
    (first->segment_prev != nullptr ? first->segment_prev->segment_next : segments_) =
        first->segment_next;
    if (first->segment_next != nullptr) first->segment_next->segment_prev = first->segment_prev;
    stats_.reserved -= first->bytes;
    a->free(a->context, device_.index, first->handle, first->bytes, first->stream);
    pool_free(first, sizeof(Span));
  }
}

void DevicePool::trim() {
  std::lock_guard<std::mutex> hold(lock_);
  poll_pending(true);
  trim_locked();
}

void DevicePool::end_capture() noexcept {
  std::lock_guard<std::mutex> hold(lock_);
  while (Span* s = held_) {
    held_ = s->bin_next;
    retire(s);
  }
}

void DevicePool::release_capture(uint32_t pool) noexcept {
  std::lock_guard<std::mutex> hold(lock_);
  if (pending_ != nullptr) poll_pending(true);
  for (Span* first = segments_; first != nullptr; first = first->segment_next) {
    if (first->pool != pool) continue;
    for (Span* s = first; s != nullptr; s = s->next) {
      s->pool = 0;
      if (s->free) find_lists(s->stream, s->small, 0)->insert(s);  // the lists of the pool go
    }
  }
  for (std::size_t i = lists_.size(); i-- > 0;) {
    if (lists_[i]->pool != pool) continue;
    if (recent_ == lists_[i]) recent_ = nullptr;
    delete lists_[i];
    lists_.erase(lists_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

uint64_t DevicePool::blocks_alive() {
  std::lock_guard<std::mutex> hold(lock_);
  return alive_;
}

bool DevicePool::close() {
  std::lock_guard<std::mutex> hold(lock_);
  if (stats_.allocated != 0) return false;
  poll_pending(true);
  trim_locked();
  closed_ = true;
  return true;
}

void DevicePool::open() {
  std::lock_guard<std::mutex> hold(lock_);
  closed_ = false;
}

MemoryStats DevicePool::stats() {
  std::lock_guard<std::mutex> hold(lock_);
  return stats_;
}

void DevicePool::out_of_memory(uint64_t bytes) {
  const tn_device_api* a = api();
  if (last_status_ == TN_ERROR_BACKEND)
    device_failed(device_, "alloc", last_status_);  // not a lack of memory
  tn_device_props props{};
  props.struct_size = sizeof props;
  if (a->props(a->context, device_.index, &props) != TN_OK) props.free_bytes = 0;
  throw OutOfMemoryError(join("out of memory on ", device_of(device_).str(), ": wanted ", bytes,
                              " bytes, allocated ", stats_.allocated, ", cached ",
                              stats_.reserved - stats_.allocated, ", free ", props.free_bytes));
}

}  // namespace tenon::core
