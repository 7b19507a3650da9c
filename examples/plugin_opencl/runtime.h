// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The devices of the OpenCL platforms, their queues, and error reports.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "tenon/sdk/view.h"

// An in-order queue. Kernels report bad indices into `report`, on the device; a synchronization
// reads it and copies it to core's error word, which the device cannot access.
struct tn_stream {
  cl_command_queue queue = nullptr;
  cl_mem report = nullptr;
  std::mutex lock;  // guards the fields below
  tn_error_word* word = nullptr;
  bool may_report = false;
};

struct tn_event {
  cl_event event = nullptr;  // null until it is recorded
};

namespace tenon::opencl {

struct Gpu {
  cl_device_id id;
  cl_context context;
  bool doubles;
  tn_stream main;
  std::mutex lock;  // guards streams
  std::vector<tn_stream*> streams;
};

// Throws sdk::Error with the name of the call `what` and of the error.
void check(cl_int status, const char* what);
const char* error_name(cl_int status);

// Call once. False if there is no device.
bool find_devices();
int device_count();
Gpu& gpu(int index);
inline tn_stream& stream_of(Gpu& g, tn_stream* s) { return s ? *s : g.main; }
void open_queue(Gpu& g, tn_stream& s);
void close_queue(tn_stream& s);
// Waits, then passes errors that the kernels of the stream have reported to core.
void finish(tn_stream& s);
void finish_all(Gpu& g);

extern const tn_device_api kDeviceApi;

}  // namespace tenon::opencl
