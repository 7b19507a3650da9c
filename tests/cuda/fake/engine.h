// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Devices in host memory, and streams whose work runs late: only when something waits for it, and
// streams in reverse order of creation, so that missing synchronization shows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tenon::fake {

struct Record;  // one recording of an event

struct Work {
  std::function<void()> run;
  std::shared_ptr<Record> waits_for, marks;
  std::function<bool()> until;  // what a peer or another thread makes true
  double takes_ms = 0;          // on the timeline, of which
  double copies_ms = 0;
  double enqueued_ms = 0;
};

// When work would run on a device whose copies run beside its kernels, if every launch and copied
// megabyte took as long as it says. Streams and the host have times of their own, which waiting
// brings together; nothing is measured.
struct Timeline {
  double launch_ms = 0, megabyte_ms = 0;
  double host_ms = 0, kernels_ms = 0, copies_ms = 0, end_ms = 0;
};

struct Capture {
  cudaStream_t origin;
  std::vector<std::function<void()>> nodes;
  std::set<cudaStream_t> joined;  // streams whose work the origin does not wait for yet
  bool invalid = false;
};

struct Graph {
  std::vector<std::function<void()>> nodes;
};

struct Record {
  cudaStream_t stream = nullptr;
  Capture* capture = nullptr;
  bool done = false;
  double at_ms = 0;
  double timeline_ms = 0;
};

struct Memory {
  std::size_t bytes;
  int device;  // -1: pinned host memory
};

struct Device {
  cudaError_t broken = cudaSuccess;
  std::size_t used = 0;
  std::set<int> peers;
};

inline constexpr int kMaxDevices = 4;

struct State {
  std::recursive_mutex lock;
  int devices = 2;
  Device device[kMaxDevices];
  std::size_t capacity = std::size_t{16} << 30;
  std::map<const char*, Memory> memory;
  std::vector<cudaStream_t> streams;  // in order of creation; the first ones are the legacy streams
  std::set<cudaEvent_t> events;
  int64_t graphs = 0, handles = 0;
  int64_t fail_in = 0, fail_work_in = 0, injected = 0;
  cudaError_t fail_code = cudaSuccess, fail_work_code = cudaSuccess;
  std::map<std::string, int64_t> calls;
  Timeline timeline;
};

State& state();
extern thread_local int t_device;
extern thread_local cudaError_t t_last;
extern thread_local cudaStreamCaptureMode t_mode;
extern thread_local int t_captures;  // begun by this thread

// Called first by every function, which returns its result unless that is cudaSuccess.
cudaError_t enter(const char* name);
cudaError_t fail(cudaError_t code);  // stores it as the thread's last error

cudaStream_t resolve(cudaStream_t s);
int device_of(cudaStream_t s);
cudaError_t enqueue(cudaStream_t s, std::function<void()> run);
// Of bytes between the host and the device.
cudaError_t enqueue_copy(cudaStream_t s, std::size_t bytes, std::function<void()> run);
void host_waits(double until_ms);  // on the timeline
// Runs the stream's first work item. It may let other threads in while it waits for theirs.
void step(cudaStream_t s);
void try_step(cudaStream_t s);  // the same unless it would wait for another thread
void run_all(cudaStream_t s);
void run_until(const Record& r);
void run_device(int device);
// Whether this thread's capture forbids the call; if so, invalidates the capture.
bool forbidden();
const Memory* memory_at(const void* p, std::size_t bytes);
double now_ms();
// Kernels of the fake NVRTC, which are code of the host.
bool is_of_library(const void* kernel);
cudaError_t launch_of_library(const cudaLaunchConfig_t& config, const void* kernel, void** args);

}  // namespace tenon::fake

struct CUstream_st {
  int device;
  std::deque<tenon::fake::Work> work;
  tenon::fake::Capture* capture = nullptr;
  int priority = 0;
  bool stepping = false;  // a thread is at its first work item
  double timeline_ms = 0;
};
struct CUevent_st {
  int device;
  unsigned flags;
  std::shared_ptr<tenon::fake::Record> made;
  CUevent_st* of = nullptr;  // opened from a handle: the event behind it
  std::shared_ptr<tenon::fake::Record>& record() { return of ? of->made : made; }
};
struct CUgraph_st : tenon::fake::Graph {};
struct CUgraphExec_st : tenon::fake::Graph {};
