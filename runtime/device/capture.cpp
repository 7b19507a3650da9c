// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/capture.h"

#include "runtime/base/watched_calls.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

std::atomic<int> g_captures{0};

namespace {

struct ThreadCapture {
  DeviceId device = DeviceId::none();
  uint32_t pool = 0;  // 0: this thread captures nothing
};
thread_local ThreadCapture t_capture;

}  // namespace

void begin_thread_capture(DeviceId device, uint32_t pool) {
  t_capture = {device, pool};
  g_captures.fetch_add(1);
  watch_calls(+1);
}

void end_thread_capture() noexcept {
  t_capture = {};
  g_captures.fetch_sub(1);
  watch_calls(-1);
}

uint32_t capture_pool_slow(DeviceId device) noexcept {
  return t_capture.device == device ? t_capture.pool : 0;
}

void refuse_in_capture_slow(DeviceId device, std::string_view op, std::string_view why) {
  TENON_CHECK(capture_pool(device) == 0, NotImplementedError, op,
              ": cannot be captured in a graph of ", device_of(device).str(), ": ", why);
}

}  // namespace tenon::core
