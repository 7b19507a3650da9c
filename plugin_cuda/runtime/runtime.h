// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The devices, their streams, and what fails on them. Plain C++ over the runtime library's C interface.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

#include "tenon/abi/ext/graph_capture.h"
#include "tenon/abi/ext/ipc.h"
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
  std::atomic<bool> dead{false};  // an error that only a new process gets rid of
  std::string why_dead;           // set before `dead`
  std::atomic<const char*> last_kernel{nullptr};
  tn_stream main{};    // what a null stream of the ABI is: it never waits for the legacy stream
  std::mutex lock;     // of making `main`, of `peers`, of `why_dead`
  uint32_t peers = 0;  // bit i: direct access to device i has been tried
};

// Finds the devices, once. Why there is none, or an empty text. Throws sdk::Error where the libraries do not fit.
std::string start();
void stop();
std::string description();
int count();
Gpu& gpu(int index);  // throws for an index that no device has

// Throws sdk::Error with the call's and the error's names. An error that the device does not survive is kept, and every
// later use of the device fails with it at once.
void check(cudaError_t status, const char* call, int index = -1);
// Throws where the device is dead, or where this process was forked from one that used CUDA.
void check_usable(int index);
bool forked() noexcept;

// The device is the thread's current one while this lives. The first one of a device makes its context. Throws as
// check_usable does.
class DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int before_ = -1;
};

// The same where it can be had, and calls that a capture would forbid are allowed.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(int index) noexcept;
  ~ReleaseGuard();
  ReleaseGuard(const ReleaseGuard&) = delete;

 private:
  int before_ = -1;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Calls that a capture of this thread would forbid, and that do not touch what is captured.
class UncapturedGuard {
 public:
  UncapturedGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~UncapturedGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  UncapturedGuard(const UncapturedGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// The runtime's stream behind one of the ABI; null: the device's main one. The device's guard is held.
cudaStream_t native(int index, const tn_stream* stream);

// What every launch of a kernel is followed by: raises the launch's own error, and with TENON_CUDA_BLOCKING waits for
// the kernel, so that its error is raised by its own op. `kernel` is a literal, with the op's name in it.
void launched(cudaError_t status, int index, cudaStream_t stream, const char* kernel);
bool capturing(int index, cudaStream_t stream);
bool blocking() noexcept;    // TENON_CUDA_BLOCKING
bool allow_tf32() noexcept;  // TENON_ALLOW_TF32

extern const tn_device_api kDeviceApi;
extern const tn_ext_graph_capture kGraphCapture;
extern const tn_ext_ipc kIpc;

namespace detail {
tn_status report(tn_status code, std::string_view text) noexcept;
tn_status report_current() noexcept;
}  // namespace detail

// The body of a function of a table: on the device, exceptions become a status and the text of last_error.
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

// What gives something back does so whatever fails beside it; on a device that is lost there is nothing left.
template <class F>
void releasing(int index, const char* call, F body) noexcept {
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
