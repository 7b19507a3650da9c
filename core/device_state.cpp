// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a thread has current, waiting for a device, and the words in which a device reports failures.
#include <atomic>
#include <memory>
#include <mutex>

#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/op.h"

namespace tenon::core {
namespace {

struct ThreadDevices {
  tn_stream* stream[kMaxDevices][kMaxOrdinals];
  int8_t index[kMaxDevices];
};
// Made at the first set: a large thread-local would use up the static TLS that a late dlopen has left.
thread_local std::unique_ptr<ThreadDevices> t_devices;

ThreadDevices& devices_for_write() {
  if (!t_devices) t_devices = std::make_unique<ThreadDevices>();
  return *t_devices;
}

bool valid(int slot, int index) { return slot >= 0 && slot < kMaxDevices && index >= 0 && index < kMaxOrdinals; }

std::atomic<tn_error_word*> g_words[kMaxDevices][kMaxOrdinals];
std::mutex g_words_lock;

tn_error_word* make_word(const tn_device_api* api) {
  void* memory = nullptr;
  if (TN_HAS(api, tn_device_api, alloc_pinned) && api->alloc_pinned &&
      api->alloc_pinned(api->context, sizeof(tn_error_word), &memory) == TN_OK && memory != nullptr) {
    return new (memory) tn_error_word{};  // kept for the life of the process, as is the word itself
  }
  return new tn_error_word{};
}

void raise_word(int slot, int index) {
  tn_error_word* word = g_words[slot][index].load(std::memory_order_acquire);
  if (word == nullptr || word->code == TN_OK) return;
  tn_error_word seen = *word;
  *word = tn_error_word{};
  const char* op = seen.op >= 0 && seen.op < op_count() ? op_at(seen.op).name : "a kernel";
  const std::string& device = device_entry(slot).name;
  if (seen.code == TN_ERROR_INDEX) {
    throw IndexError(join(op, ": index ", seen.index, " is out of bounds for a size of ", seen.limit, " (reported by ",
                          device, ":", index, ")"));
  }
  throw_error(seen.code, join(op, ": failed on ", device, ":", index));
}

}  // namespace

tn_stream* current_stream(int slot, int index) noexcept {
  return slot > 0 && t_devices && valid(slot, index) ? t_devices->stream[slot][index] : nullptr;
}

void set_current_stream(int slot, int index, tn_stream* s) noexcept {
  if (slot > 0 && valid(slot, index)) devices_for_write().stream[slot][index] = s;
}

int current_index(int slot) noexcept { return t_devices && valid(slot, 0) ? t_devices->index[slot] : 0; }

void set_current_index(int slot, int index) {
  int count = device_entry(slot).count;
  TENON_CHECK(index >= 0 && index < count, ValueError, "device index must be 0 to ", count - 1, " for ",
              device_entry(slot).name, ", got ", index);
  devices_for_write().index[slot] = static_cast<int8_t>(index);
}

tn_error_word* device_error_word(int slot, int index) {
  if (slot <= 0 || !valid(slot, index)) return nullptr;
  std::atomic<tn_error_word*>& place = g_words[slot][index];
  if (tn_error_word* word = place.load(std::memory_order_acquire)) return word;
  const tn_device_api* api = device_entry(slot).api;
  if (api == nullptr) return nullptr;
  std::lock_guard<std::mutex> hold(g_words_lock);
  if (place.load(std::memory_order_relaxed) == nullptr) place.store(make_word(api), std::memory_order_release);
  return place.load(std::memory_order_relaxed);
}

void synchronize(int slot, int index) {
  if (slot == 0) return;
  const tn_device_api* api = device_entry(slot).api;
  if (api == nullptr) return;
  check_device(slot, index, "synchronize", api->sync(api->context, index, nullptr));
  if (valid(slot, index)) raise_word(slot, index);
}

void device_failed(int slot, int index, std::string_view what, tn_status status) {
  const DeviceEntry& e = device_entry(slot);
  const tn_device_api* api = e.api;
  tn_str words{nullptr, 0};
  if (api != nullptr && TN_HAS(api, tn_device_api, last_error) && api->last_error)
    words = api->last_error(api->context);
  std::string_view why = words.ptr != nullptr ? std::string_view(words.ptr, words.len) : std::string_view();
  if (status == TN_DECLINED || status == TN_NO_DEVICE) status = TN_ERROR_BACKEND;
  throw_error(status, join(e.name, ":", index, ": ", what, " failed", why.empty() ? "" : ": ", why));
}

}  // namespace tenon::core
