// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device whose memory is the host's, with streams that run when the test says so.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/stream/attach_device.h"
#include "tenon/runtime/device.h"

namespace tenon::test {

struct FakeDevice {
  uint32_t flags = TN_DEVICE_ASYNC;
  uint64_t capacity = uint64_t{1} << 40;
  uint64_t in_use = 0;
  int allocations = 0, frees = 0, events_alive = 0, pinned_alive = 0;
  bool events_pass = false;        // what event_query answers
  std::vector<std::string> calls;  // "record A", "wait B", "sync", in order
  tn_device_api api{};
  core::DeviceSlot slot = -1;

  explicit FakeDevice(const char* name, uint32_t f = TN_DEVICE_ASYNC, bool with_events = true)
      : flags(f) {
    api.struct_size = sizeof api;
    api.context = this;
    api.count = [](void*, int32_t* n) {
      *n = 2;
      return tn_status{TN_OK};
    };
    api.props = props;
    api.alloc = alloc;
    api.free = free;
    api.copy = copy;
    api.sync = sync;
    api.last_error = [](void*) { return tn_str{"fake words", 10}; };
    if (with_events) {
      api.event_create = [](void* c, int32_t, uint32_t, tn_event** out) {
        self(c).events_alive++;
        *out = reinterpret_cast<tn_event*>(std::malloc(1));
        return tn_status{TN_OK};
      };
      api.event_destroy = [](void* c, int32_t, tn_event* e) {
        self(c).events_alive--;
        std::free(e);
      };
      api.event_record = [](void* c, int32_t, tn_event*, tn_stream* s) {
        return note(c, "record ", s);
      };
      api.event_wait = [](void* c, int32_t, tn_event*, tn_stream* s) {
        return note(c, "wait ", s);
      };
      api.event_query = [](void* c, int32_t, tn_event*, int32_t* done) {
        *done = self(c).events_pass;
        return tn_status{TN_OK};
      };
    }
    slot = core::reserve_device(name);
    core::attach_device(slot, &api);
  }
  ~FakeDevice() { core::detach_device(slot); }
  core::DeviceId id(int index = 0) const { return {slot, index}; }

  // Its driver pins host memory from now on.
  void give_pinned_memory() {
    api.alloc_pinned = [](void* c, uint64_t bytes, void** host) {
      ++self(c).pinned_alive;
      *host = std::malloc(bytes);
      return tn_status{TN_OK};
    };
    api.free_pinned = [](void* c, void* host, uint64_t) {
      --self(c).pinned_alive;
      std::free(host);
    };
  }

  static tn_stream* stream(char letter) {
    return reinterpret_cast<tn_stream*>(static_cast<intptr_t>(letter));
  }

 private:
  static FakeDevice& self(void* c) { return *static_cast<FakeDevice*>(c); }
  static tn_status note(void* c, std::string what, tn_stream* s) {
    self(c).calls.push_back(what + static_cast<char>(reinterpret_cast<intptr_t>(s)));
    return TN_OK;
  }
  static tn_status props(void* c, int32_t, tn_device_props* out) {
    std::strcpy(out->name, "fake");
    out->total_bytes = self(c).capacity;
    out->free_bytes = self(c).capacity - self(c).in_use;
    out->alignment = 256;
    out->flags = self(c).flags;
    return TN_OK;
  }
  static tn_status alloc(void* c, int32_t, uint64_t bytes, tn_stream*, void** handle) {
    FakeDevice& d = self(c);
    if (bytes > d.capacity - d.in_use) return TN_ERROR_MEMORY;
    d.in_use += bytes;
    ++d.allocations;
    *handle = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    return TN_OK;
  }
  static void free(void* c, int32_t, void* handle, uint64_t bytes, tn_stream*) {
    self(c).in_use -= bytes;
    ++self(c).frees;
    std::free(handle);
  }
  static tn_status copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device,
                        const void* src, uint64_t src_offset, uint64_t bytes, tn_stream*) {
    std::memcpy(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset,
                bytes);
    return TN_OK;
  }
  static tn_status sync(void* c, int32_t, tn_stream* s) {
    self(c).calls.push_back(
        s == nullptr ? "sync"
                     : "sync " + std::string(1, static_cast<char>(reinterpret_cast<intptr_t>(s))));
    return TN_OK;
  }
};

}  // namespace tenon::test
