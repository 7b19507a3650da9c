// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The current device and stream of a thread, waiting for a device, and the error words in which
// kernels report.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "runtime/base/in_flight.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/device/capture.h"
#include "runtime/stream/device_state.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/stream.h"
#include "tenon/runtime/thread_end.h"

namespace tenon::core {

const char* (*g_operator_name)(int index) = nullptr;

namespace {

struct ThreadDevices {
  tn_stream* stream[kMaxDevices][kMaxOrdinals];
  tn_error_word* word[kMaxDevices][kMaxOrdinals];  // of that stream; null: not looked up yet
  uint32_t generation[kMaxDevices][kMaxOrdinals];  // the device's when it was set: both are invalid
                                                   // after it changes
  int8_t index[kMaxDevices];
};
// Made at the first set: a large thread-local would use up the static TLS that is left for a late
// dlopen.
__thread ThreadDevices* t_devices __attribute__((tls_model("initial-exec")));

void drop_devices() noexcept { delete std::exchange(t_devices, nullptr); }
__thread ThreadEnd t_devices_end __attribute__((tls_model("initial-exec"))) = {drop_devices};

ThreadDevices& devices_for_write() {
  if (t_devices != nullptr) return *t_devices;
  auto made = std::make_unique<ThreadDevices>();
  if (!at_thread_end(t_devices_end)) throw std::bad_alloc();
  return *(t_devices = made.release());
}

bool is_valid(DeviceId device) {
  return device.slot < kMaxDevices && device.index >= 0 && device.index < kMaxOrdinals;
}

struct StreamWord {
  tn_stream* stream;
  tn_error_word* word;
  bool pinned;  // by the device, else from the heap
};

// Words live until the device is detached: a destroyed stream may still have work that writes into
// its word.
struct Words {
  LeafMutex lock;
  std::vector<StreamWord> of[kMaxDevices][kMaxOrdinals];  // oldest first
};

Words& words() {
  static Words& w = *new Words;  // never destroyed: tensors may outlive statics
  return w;
}
// Made at load, because functions that must not throw use it.
[[maybe_unused]] const Words& g_words_at_load = words();

std::atomic<tn_error_word*> g_default_word[kMaxDevices][kMaxOrdinals];  // that of the null stream
std::atomic<uint32_t> g_generation[kMaxDevices];

StreamWord make_word(const tn_device_api* api, tn_stream* stream) {
  void* memory = nullptr;
  if (TN_HAS(api, tn_device_api, alloc_pinned) && api->alloc_pinned &&
      api->alloc_pinned(api->context, sizeof(tn_error_word), &memory) == TN_OK &&
      memory != nullptr) {
    return {stream, new (memory) tn_error_word{}, true};
  }
  return {stream, new tn_error_word{}, false};
}

void drop_word(const tn_device_api* api, const StreamWord& w) noexcept {
  if (!w.pinned)
    delete w.word;
  else if (TN_HAS(api, tn_device_api, free_pinned) && api->free_pinned)
    api->free_pinned(api->context, w.word, sizeof(tn_error_word));
}

// The word of the stream, which is `made` from now on if it has none.
tn_error_word* known_word(DeviceId device, tn_stream* stream, const StreamWord* made) {
  std::lock_guard hold(words().lock);
  std::vector<StreamWord>& all = words().of[device.slot][device.index];
  auto it =
      std::find_if(all.begin(), all.end(), [&](const StreamWord& w) { return w.stream == stream; });
  if (it == all.end() && made == nullptr) return nullptr;
  if (it == all.end()) it = all.insert(all.end(), *made);
  if (stream == nullptr)
    g_default_word[device.slot][device.index].store(it->word, std::memory_order_release);
  return it->word;
}

// Calls the plugin without the lock, which a fork takes last.
TENON_COLD tn_error_word* find_word(DeviceId device, tn_stream* stream) {
  const tn_device_api* api = device_entry(device).api;
  if (api == nullptr) return nullptr;
  if (tn_error_word* word = known_word(device, stream, nullptr)) return word;
  const StreamWord made = make_word(api, stream);
  tn_error_word* word = nullptr;
  try {
    word = known_word(device, stream, &made);
  } catch (const std::bad_alloc&) {
    drop_word(api, made);
    throw;
  }
  if (word != made.word) drop_word(api, made);  // another thread was sooner
  return word;
}

constexpr const char* kNotYet = "its work does not run before the graph is launched";

enum class Streams { One, All };

// The report of one stream, or of the first stream that has one.
tn_error_word take_report(DeviceId device, Streams which, tn_stream* stream) {
  std::lock_guard hold(words().lock);
  for (const StreamWord& w : words().of[device.slot][device.index]) {
    if ((which == Streams::One && w.stream != stream) || w.word->code == TN_OK) continue;
    return std::exchange(*w.word, tn_error_word{});
  }
  return {};
}

void raise_report(DeviceId device, Streams which, tn_stream* stream) {
  const tn_error_word seen = take_report(device, which, stream);
  if (seen.code == TN_OK) return;
  const char* op = g_operator_name != nullptr ? g_operator_name(seen.op) : nullptr;
  if (op == nullptr) op = "a kernel";
  const std::string reporter = join(" (reported by ", device_of(device).str(), ")");
  if (seen.code == TN_ERROR_INDEX) {
    throw IndexError(join(op, ": index ", seen.index, " is out of bounds for a size of ",
                          seen.limit, " (index out of range in a kernel)", reporter));
  }
  if (seen.code == TN_ERROR_VALUE && seen.limit > 0) {
    throw ValueError(join(op, ": ", seen.index, " is not in [0, ", seen.limit, ")", reporter));
  }
  if (seen.code == TN_ERROR && seen.limit == -1) {
    throw Error(
        join(op, ": ZeroDivisionError: division by zero of the integer ", seen.index, reporter));
  }
  throw_error(seen.code, join(op, ": failed on ", device_of(device).str()));
}

}  // namespace

uint32_t device_generation(DeviceSlot slot) noexcept {
  return g_generation[slot].load(std::memory_order_acquire);
}

tn_stream* current_stream(DeviceId device) noexcept {
  if (device.is_host() || !t_devices || !is_valid(device)) return nullptr;
  const bool lives =
      t_devices->generation[device.slot][device.index] == device_generation(device.slot);
  return lives ? t_devices->stream[device.slot][device.index] : nullptr;
}

void set_current_stream(DeviceId device, tn_stream* s) {
  if (device.is_host() || !is_valid(device)) return;
  ThreadDevices& t = devices_for_write();
  t.stream[device.slot][device.index] = s;
  t.generation[device.slot][device.index] = device_generation(device.slot);
  t.word[device.slot][device.index] = nullptr;
}

int current_index(DeviceSlot slot) noexcept {
  return t_devices && is_valid({slot, 0}) ? t_devices->index[slot] : 0;
}

void set_current_index(DeviceId device) {
  int count = device_entry(device).count;
  TENON_CHECK(device.index >= 0 && device.index < count, ValueError, "device index must be 0 to ",
              count - 1, " for ", device_entry(device).name, ", got ", int{device.index});
  devices_for_write().index[device.slot] = device.index;
}

tn_error_word* stream_error_word(DeviceId device, tn_stream* stream) {
  if (device.is_host() || !is_valid(device)) return nullptr;
  if (stream == nullptr) {
    tn_error_word* word = g_default_word[device.slot][device.index].load(std::memory_order_acquire);
    return word != nullptr ? word : find_word(device, nullptr);
  }
  if (current_stream(device) != stream) return find_word(device, stream);
  tn_error_word*& word = t_devices->word[device.slot][device.index];
  if (word == nullptr) word = find_word(device, stream);
  return word;
}

tn_error_word* device_error_word(DeviceId device) {
  return stream_error_word(device, current_stream(device));
}

void drop_error_words(DeviceSlot slot, const tn_device_api* api) noexcept {
  g_generation[slot].fetch_add(1, std::memory_order_release);
  for (int i = 0; i < kMaxOrdinals; ++i) {
    std::vector<StreamWord> old;
    {
      std::lock_guard hold(words().lock);
      g_default_word[slot][i].store(nullptr, std::memory_order_release);
      old.swap(words().of[slot][i]);
    }
    for (const StreamWord& w : old) drop_word(api, w);
  }
}

void synchronize_stream(DeviceId device, tn_stream* stream) {
  if (device.is_host()) return;
  InFlight inside;
  const tn_device_api* api = device_entry(device).api;
  if (api == nullptr) return;
  refuse_in_capture(device, "synchronize", kNotYet);
  const bool alone = TN_HAS(api, tn_device_api, stream_sync) && api->stream_sync;
  check_device(device, "synchronize",
               (alone ? api->stream_sync : api->sync)(api->context, device.index, stream));
  if (is_valid(device))
    raise_report(device, alone || stream != nullptr ? Streams::One : Streams::All, stream);
}

void synchronize(DeviceId device) {
  if (device.is_host()) return;
  InFlight inside;
  const tn_device_api* api = device_entry(device).api;
  if (api == nullptr) return;
  refuse_in_capture(device, "synchronize", kNotYet);
  check_device(device, "synchronize", api->sync(api->context, device.index, nullptr));
  if (is_valid(device)) raise_report(device, Streams::All, nullptr);
}

void device_failed(DeviceId device, std::string_view what, tn_status status) {
  const DeviceEntry& e = device_entry(device);
  const tn_device_api* api = e.api;
  tn_str words{nullptr, 0};
  if (api != nullptr && TN_HAS(api, tn_device_api, last_error) && api->last_error)
    words = api->last_error(api->context);
  std::string_view why =
      words.ptr != nullptr ? std::string_view(words.ptr, words.len) : std::string_view();
  if (status == TN_DECLINED || status == TN_NO_DEVICE) status = TN_ERROR_BACKEND;
  throw_error(status,
              join(device_of(device).str(), ": ", what, " failed", why.empty() ? "" : ": ", why));
}

}  // namespace tenon::core
