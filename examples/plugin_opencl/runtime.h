// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The devices of the OpenCL platforms, their queues, and what fails on them.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "tenon/sdk/view.h"

// An in-order queue. Kernels report bad indices into `report`, on the device; reading it at a synchronisation hands it
// on to core's word, which the device cannot reach.
struct tn_stream {
  cl_command_queue queue = nullptr;
  cl_mem report = nullptr;
  std::mutex lock;  // of what follows
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
  std::mutex lock;  // of the list
  std::vector<tn_stream*> streams;
};

// Throws sdk::Error with the call's and the error's names.
void check(cl_int status, const char* what);
const char* error_name(cl_int status);

// Finds the devices, once. False where there is none.
bool start();
int count();
Gpu& gpu(int index);
inline tn_stream& stream_of(Gpu& g, tn_stream* s) { return s ? *s : g.main; }
void open_queue(Gpu& g, tn_stream& s);
void close_queue(tn_stream& s);
// Waits, then hands on what the kernels of the stream have reported.
void finish(tn_stream& s);
void finish_all(Gpu& g);

extern const tn_device_api kDeviceApi;

}  // namespace tenon::opencl
