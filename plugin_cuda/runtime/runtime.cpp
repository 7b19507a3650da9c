// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/runtime/runtime.h"

#include <pthread.h>

#include <cstring>

namespace tenon::cuda {
namespace {

using sdk::Error;

Gpu g_gpus[kMaxDevices];
std::atomic<int> g_count{0};
std::atomic<bool> g_forked{false};
std::atomic<bool> g_blocking{false};
std::atomic<bool> g_tf32{false};

void after_fork_child() {
  if (g_count.load(std::memory_order_relaxed) > 0) g_forked.store(true, std::memory_order_relaxed);
}

bool setting_on(const char* name) {
  tn_str value{nullptr, 0};
  if (sdk::host().get_setting({name, std::strlen(name)}, &value) != TN_OK) return false;
  return value.len > 0 && !(value.len == 1 && value.ptr[0] == '0');
}

std::string version_text(int v) { return sdk::join(v / 1000, ".", v % 1000 / 10); }

// A library of another major version has another file name, but a link may hide that.
void check_version() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess || version / 1000 == CUDART_VERSION / 1000)
    return;
  throw Error(TN_ERROR_BACKEND, "libcudart: built against CUDA ", version_text(CUDART_VERSION),
              " but found ", version_text(version), "; install the runtime of CUDA ",
              CUDART_VERSION / 1000, " or rebuild the plugin");
}

// Errors after which the context answers every call with the same error.
bool is_sticky(cudaError_t e) {
  switch (e) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorContextIsDestroyed:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void mark_dead(Gpu& g, int index, const std::string& what) {
  std::lock_guard<std::mutex> hold(g.lock);
  if (g.dead.load()) return;
  g.why_dead = sdk::join("device cuda:", index, " is lost to this process since ", what);
  if (const char* kernel = g.last_kernel.load()) {
    g.why_dead += g_blocking
                      ? sdk::join("; the kernel that failed is ", std::string_view(kernel))
                      : sdk::join("; the kernel launched last before is ", std::string_view(kernel),
                                  " (TENON_CUDA_BLOCKING=1 finds the one that failed)");
  }
  g.why_dead += "; the CPU can still be used, the device by a new process";
  g.dead.store(true);
}

std::string find_devices() {
  check_version();
  int n = 0;
  const cudaError_t status = cudaGetDeviceCount(&n);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    (void)cudaGetLastError();
    return driver == 0 ? "no NVIDIA driver is installed (libcuda.so.1)"
                       : sdk::join("the NVIDIA driver is of CUDA ", version_text(driver),
                                   ", this plugin needs ", version_text(CUDART_VERSION),
                                   "; install a newer driver");
  }
  (void)cudaGetLastError();
  if (status != cudaSuccess) {
    return sdk::join("no usable device: ", cudaGetErrorName(status), " (",
                     cudaGetErrorString(status), ")");
  }
  if (n == 0) return "the NVIDIA driver finds no device; CUDA_VISIBLE_DEVICES may hide it";
  n = n < kMaxDevices ? n : kMaxDevices;
  for (int i = 0; i < n; ++i) {
    Gpu& g = g_gpus[i];
    check(cudaGetDeviceProperties(&g.props, i), "cudaGetDeviceProperties");
    g.used = g.dead = false;
    g.last_kernel = nullptr;
    g.peers = 0;
  }
  g_count.store(n);
  return {};
}

}  // namespace

std::string start() {
  // glibc removes the handler when the library is closed.
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork_child);
  if (registered != 0) throw Error(TN_ERROR_MEMORY, "pthread_atfork failed");
  g_blocking.store(setting_on("CUDA_BLOCKING"));
  g_tf32.store(setting_on("ALLOW_TF32"));
  return find_devices();
}

void stop() {
  for (int i = 0; i < count() && !forked(); ++i) {
    Gpu& g = g_gpus[i];
    if (g.main.stream && !g.dead) cudaStreamDestroy(g.main.stream);
    g.main.stream = nullptr;
    g.used = false;
  }
  g_count.store(0);
}

std::string description() {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::string s =
      sdk::join("CUDA ", version_text(CUDART_VERSION), ", driver ", version_text(driver));
  for (int i = 0; i < count(); ++i) {
    const cudaDeviceProp& p = g_gpus[i].props;
    s += sdk::join(i == 0 ? "; " : ", ", std::string_view(p.name), " (sm_", p.major, p.minor, ", ",
                   p.multiProcessorCount, " SMs)");
  }
  return s;
}

int count() { return g_count.load(std::memory_order_relaxed); }
bool forked() noexcept { return g_forked.load(std::memory_order_relaxed); }
bool blocking() noexcept { return g_blocking.load(std::memory_order_relaxed); }
bool allow_tf32() noexcept { return g_tf32.load(std::memory_order_relaxed); }

Gpu& gpu(int index) {
  if (index < 0 || index >= count()) throw Error(TN_ERROR_VALUE, "there is no CUDA device ", index);
  return g_gpus[index];
}

void check(cudaError_t status, const char* call, int index) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // else the next launch would report it again
  const std::string what =
      sdk::join(call, " failed: ", cudaGetErrorName(status), " (", cudaGetErrorString(status), ")");
  if (is_sticky(status) && index >= 0) mark_dead(g_gpus[index], index, what);
  throw Error(status == cudaErrorMemoryAllocation ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, what);
}

void check_usable(int index) {
  if (forked()) {
    throw Error(
        TN_ERROR_BACKEND,
        "CUDA cannot be re-initialized in a forked process, as it was opened before the fork: "
        "start the child with spawn or exec, or use CUDA after the fork only");
  }
  Gpu& g = gpu(index);
  if (g.dead.load(std::memory_order_acquire)) throw Error(TN_ERROR_BACKEND, g.why_dead);
}

DeviceGuard::DeviceGuard(int index) {
  int now = -1;
  check_usable(index);
  Gpu& g = gpu(index);
  if (cudaGetDevice(&now) != cudaSuccess) {  // the thread may be on a device that is lost
    (void)cudaGetLastError();
    now = -1;
  }
  // A thread that has set no device is on device 0, but it has no context there yet.
  if (now == index && g.used.load(std::memory_order_acquire)) return;
  check(cudaSetDevice(index), "cudaSetDevice", index);
  before_ = now;
  g.used.store(true, std::memory_order_release);
}

DeviceGuard::~DeviceGuard() {
  if (before_ >= 0) cudaSetDevice(before_);
}

// Without the right device current, the runtime finds the device by the address or the handle.
ReleaseGuard::ReleaseGuard(int index) noexcept {
  cudaThreadExchangeStreamCaptureMode(&mode_);
  int now = index;
  if (cudaGetDevice(&now) == cudaSuccess && now != index && cudaSetDevice(index) == cudaSuccess)
    before_ = now;
}

ReleaseGuard::~ReleaseGuard() {
  if (before_ >= 0) cudaSetDevice(before_);
  cudaThreadExchangeStreamCaptureMode(&mode_);
}

void launched(cudaError_t status, int index, cudaStream_t stream, const char* kernel) {
  gpu(index).last_kernel.store(kernel, std::memory_order_relaxed);
  check(status, kernel, index);
  if (blocking() && !capturing(index, stream)) check(cudaStreamSynchronize(stream), kernel, index);
}

void start_kernel(int index, cudaStream_t stream, int64_t grid, int block, std::size_t shared_bytes,
                  const void* kernel, void** arguments, const char* name) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(block));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  launched(cudaLaunchKernelExC(&config, kernel, arguments), index, stream, name);
}

bool capturing(int index, cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing", index);
  return capture != cudaStreamCaptureStatusNone;
}

namespace {
thread_local char t_error[1024];  // plain memory: a thread's destructor would pin the library
}

namespace detail {

tn_status report(tn_status code, std::string_view text) noexcept {
  t_error[text.copy(t_error, sizeof t_error - 1)] = 0;
  return code;
}

tn_status report_current() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return report(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return report(TN_ERROR_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return report(TN_ERROR_BACKEND, e.what());
  } catch (...) {
    return report(TN_ERROR, "unknown exception");
  }
}

}  // namespace detail

tn_str last_error(void*) { return {t_error, std::strlen(t_error)}; }

}  // namespace tenon::cuda
