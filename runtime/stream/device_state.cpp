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

bool is_valid(int slot, int index) {
  return slot >= 0 && slot < kMaxDevices && index >= 0 && index < kMaxOrdinals;
}

struct StreamWord {
  tn_stream* stream;
  tn_error_word* word;
  bool pinned;  // by the device, else from the heap
};

// Words live until the device is detached: a destroyed stream may still have work that writes into
// its word.
struct Words {
  std::mutex lock;
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

TENON_COLD tn_error_word* find_word(int slot, int index, tn_stream* stream) {
  const tn_device_api* api = device_entry(slot).api;
  if (api == nullptr) return nullptr;
  std::lock_guard<std::mutex> hold(words().lock);
  std::vector<StreamWord>& all = words().of[slot][index];
  auto it =
      std::find_if(all.begin(), all.end(), [&](const StreamWord& w) { return w.stream == stream; });
  if (it == all.end()) {
    all.reserve(all.size() + 1);
    it = all.insert(all.end(), make_word(api, stream));
  }
  if (stream == nullptr) g_default_word[slot][index].store(it->word, std::memory_order_release);
  return it->word;
}

constexpr const char* kNotYet = "its work does not run before the graph is launched";

enum class Streams { One, All };

// The report of one stream, or of the first stream that has one.
tn_error_word take_report(int slot, int index, Streams which, tn_stream* stream) {
  std::lock_guard<std::mutex> hold(words().lock);
  for (const StreamWord& w : words().of[slot][index]) {
    if ((which == Streams::One && w.stream != stream) || w.word->code == TN_OK) continue;
    return std::exchange(*w.word, tn_error_word{});
  }
  return {};
}

void raise_report(int slot, int index, Streams which, tn_stream* stream) {
  const tn_error_word seen = take_report(slot, index, which, stream);
  if (seen.code == TN_OK) return;
  const char* op = g_operator_name != nullptr ? g_operator_name(seen.op) : nullptr;
  if (op == nullptr) op = "a kernel";
  const std::string reporter = join(" (reported by ", device_entry(slot).name, ":", index, ")");
  if (seen.code == TN_ERROR_INDEX) {
    throw IndexError(
        join(op, ": index ", seen.index, " is out of bounds for a size of ", seen.limit, reporter));
  }
  if (seen.code == TN_ERROR_VALUE && seen.limit > 0) {
    throw ValueError(join(op, ": ", seen.index, " is not in [0, ", seen.limit, ")", reporter));
  }
  if (seen.code == TN_ERROR && seen.limit == -1) {
    throw Error(
        join(op, ": ZeroDivisionError: division by zero of the integer ", seen.index, reporter));
  }
  throw_error(seen.code, join(op, ": failed on ", device_entry(slot).name, ":", index));
}

}  // namespace

uint32_t device_generation(int slot) noexcept {
  return g_generation[slot].load(std::memory_order_acquire);
}

tn_stream* current_stream(int slot, int index) noexcept {
  if (slot <= 0 || !t_devices || !is_valid(slot, index)) return nullptr;
  const bool lives = t_devices->generation[slot][index] == device_generation(slot);
  return lives ? t_devices->stream[slot][index] : nullptr;
}

void set_current_stream(int slot, int index, tn_stream* s) {
  if (slot <= 0 || !is_valid(slot, index)) return;
  ThreadDevices& t = devices_for_write();
  t.stream[slot][index] = s;
  t.generation[slot][index] = device_generation(slot);
  t.word[slot][index] = nullptr;
}

int current_index(int slot) noexcept {
  return t_devices && is_valid(slot, 0) ? t_devices->index[slot] : 0;
}

void set_current_index(int slot, int index) {
  int count = device_entry(slot).count;
  TENON_CHECK(index >= 0 && index < count, ValueError, "device index must be 0 to ", count - 1,
              " for ", device_entry(slot).name, ", got ", index);
  devices_for_write().index[slot] = static_cast<int8_t>(index);
}

tn_error_word* stream_error_word(int slot, int index, tn_stream* stream) {
  if (slot <= 0 || !is_valid(slot, index)) return nullptr;
  if (stream == nullptr) {
    tn_error_word* word = g_default_word[slot][index].load(std::memory_order_acquire);
    return word != nullptr ? word : find_word(slot, index, nullptr);
  }
  if (current_stream(slot, index) != stream) return find_word(slot, index, stream);
  tn_error_word*& word = t_devices->word[slot][index];
  if (word == nullptr) word = find_word(slot, index, stream);
  return word;
}

tn_error_word* device_error_word(int slot, int index) {
  return stream_error_word(slot, index, current_stream(slot, index));
}

void drop_error_words(int slot, const tn_device_api* api) noexcept {
  std::lock_guard<std::mutex> hold(words().lock);
  g_generation[slot].fetch_add(1, std::memory_order_release);
  for (int i = 0; i < kMaxOrdinals; ++i) {
    g_default_word[slot][i].store(nullptr, std::memory_order_release);
    for (const StreamWord& w : words().of[slot][i]) {
      if (!w.pinned)
        delete w.word;
      else if (TN_HAS(api, tn_device_api, free_pinned) && api->free_pinned)
        api->free_pinned(api->context, w.word, sizeof(tn_error_word));
    }
    words().of[slot][i].clear();
  }
}

void synchronize_stream(int slot, int index, tn_stream* stream) {
  if (slot == 0) return;
  InFlight inside;
  const tn_device_api* api = device_entry(slot).api;
  if (api == nullptr) return;
  refuse_in_capture(slot, index, "synchronize", kNotYet);
  const bool alone = TN_HAS(api, tn_device_api, stream_sync) && api->stream_sync;
  check_device(slot, index, "synchronize",
               (alone ? api->stream_sync : api->sync)(api->context, index, stream));
  if (is_valid(slot, index))
    raise_report(slot, index, alone || stream != nullptr ? Streams::One : Streams::All, stream);
}

void synchronize(int slot, int index) {
  if (slot == 0) return;
  InFlight inside;
  const tn_device_api* api = device_entry(slot).api;
  if (api == nullptr) return;
  refuse_in_capture(slot, index, "synchronize", kNotYet);
  check_device(slot, index, "synchronize", api->sync(api->context, index, nullptr));
  if (is_valid(slot, index)) raise_report(slot, index, Streams::All, nullptr);
}

void device_failed(int slot, int index, std::string_view what, tn_status status) {
  const DeviceEntry& e = device_entry(slot);
  const tn_device_api* api = e.api;
  tn_str words{nullptr, 0};
  if (api != nullptr && TN_HAS(api, tn_device_api, last_error) && api->last_error)
    words = api->last_error(api->context);
  std::string_view why =
      words.ptr != nullptr ? std::string_view(words.ptr, words.len) : std::string_view();
  if (status == TN_DECLINED || status == TN_NO_DEVICE) status = TN_ERROR_BACKEND;
  throw_error(status,
              join(e.name, ":", index, ": ", what, " failed", why.empty() ? "" : ": ", why));
}

}  // namespace tenon::core
