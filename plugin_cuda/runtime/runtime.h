// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Devices, streams and errors. Plain C++ over the runtime library's C interface.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

#include "tenon/abi/ext/graph_capture.h"
#include "tenon/abi/ext/ipc.h"
#include "tenon/abi/ext/profiler.h"
#include "tenon/sdk/kernel.h"

struct tn_stream {
  cudaStream_t stream;
  int index;
};

struct tn_event {
  cudaEvent_t event;
  bool recorded;
};

namespace tenon::cuda {

inline constexpr int kMaxDevices = 16;

struct Gpu {
  cudaDeviceProp props;
  std::atomic<bool> used{false};  // it has a context
  std::atomic<bool> dead{false};  // after an error that only a new process recovers from
  std::string why_dead;           // set before `dead`
  std::atomic<const char*> last_kernel{nullptr};
  tn_stream main{};    // a null stream of the ABI; it never waits for the legacy stream
  std::mutex lock;     // guards the creation of `main`, `peers` and `why_dead`
  uint32_t peers = 0;  // bit i: direct access to device i has been tried
};

// Finds the devices, once. Returns why there is none, or an empty text. Throws sdk::Error if the
// libraries do not fit.
std::string start();
void stop();
std::string description();
int count();
Gpu& gpu(int index);  // throws for an index that no device has

// Throws sdk::Error with the names of the call and the error. A sticky error is stored, and every
// later use of the device fails with it immediately.
void check(cudaError_t status, const char* call, int index = -1);
// Throws if the device is dead, or if this process was forked from one that used CUDA.
void check_usable(int index);
bool forked() noexcept;

// Makes the device the thread's current one. The first guard of a device creates its context.
// Throws as check_usable().
class DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int before_ = -1;
};

// The same if possible, without throwing; allows calls that a capture forbids.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(int index) noexcept;
  ~ReleaseGuard();
  ReleaseGuard(const ReleaseGuard&) = delete;

 private:
  int before_ = -1;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Allows calls that a capture of this thread forbids and that do not affect the captured work.
class UncapturedGuard {
 public:
  UncapturedGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~UncapturedGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  UncapturedGuard(const UncapturedGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// The CUDA stream of an ABI stream; null: the device's main stream. Requires a DeviceGuard.
cudaStream_t native(int index, const tn_stream* stream);

// Call after every kernel launch: raises the launch's error, and with TENON_CUDA_BLOCKING waits for
// the kernel, so that its own op raises its error. `kernel` is a literal that contains the op's
// name.
void launched(cudaError_t status, int index, cudaStream_t stream, const char* kernel);
// Starts a kernel on the current device and calls launched(). `arguments` are the addresses of its
// parameters.
void start_kernel(int index, cudaStream_t stream, int64_t grid, int block, std::size_t shared_bytes,
                  const void* kernel, void** arguments, const char* name);
bool capturing(int index, cudaStream_t stream);
// Waits for the current device's work, which would break a capture; false: one goes on.
bool wait_outside_captures(int index);
bool blocking() noexcept;    // TENON_CUDA_BLOCKING
bool allow_tf32() noexcept;  // TENON_ALLOW_TF32

extern const tn_device_api kDeviceApi;
extern const tn_ext_graph_capture kGraphCapture;
extern const tn_ext_profiler kProfiler;
extern const tn_ext_ipc kIpc;

namespace detail {
tn_status report(tn_status code, std::string_view text) noexcept;
tn_status report_current() noexcept;
}  // namespace detail

// Runs the body of a vtable function on the device; exceptions become a status and the text of
// last_error.
template <class F>
tn_status guarded(int index, F body) noexcept {
  try {
    DeviceGuard on(index);
    body();
    return TN_OK;
  } catch (...) {
    return detail::report_current();
  }
}

// Runs a release function; errors are only stored. On a lost device there is nothing to release.
template <class F>
void release_on(int index, const char* call, F body) noexcept {
  try {
    check_usable(index);
    const ReleaseGuard on(index);
    check(body(), call, index);
  } catch (...) {
    (void)detail::report_current();
  }
}
tn_str last_error(void* context);

}  // namespace tenon::cuda
