// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <cstring>
#include <memory>
#include <string>

namespace tenon::opencl {
namespace {

using sdk::Error;

std::vector<std::unique_ptr<Gpu>>& gpus() {
  // Never destroyed: queues may be used during static destruction.
  static auto& all = *new std::vector<std::unique_ptr<Gpu>>;
  return all;
}

std::string text_of(cl_device_id id, cl_device_info what) {
  char text[4096] = {};
  clGetDeviceInfo(id, what, sizeof text - 1, text, nullptr);
  return text;
}

void add(cl_device_id id) {
  auto g = std::make_unique<Gpu>();
  cl_int status;
  g->id = id;
  g->context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  g->doubles = text_of(id, CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
  open_queue(*g, g->main);
  gpus().push_back(std::move(g));
}

}  // namespace

const char* error_name(cl_int status) {
  switch (status) {
#define NAME(e) \
  case e:       \
    return #e;
    NAME(CL_DEVICE_NOT_FOUND)
    NAME(CL_DEVICE_NOT_AVAILABLE)
    NAME(CL_COMPILER_NOT_AVAILABLE)
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    NAME(CL_OUT_OF_RESOURCES)
    NAME(CL_OUT_OF_HOST_MEMORY)
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    NAME(CL_MEM_COPY_OVERLAP)
    NAME(CL_BUILD_PROGRAM_FAILURE)
    NAME(CL_MAP_FAILURE)
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    NAME(CL_COMPILE_PROGRAM_FAILURE)
    NAME(CL_LINKER_NOT_AVAILABLE)
    NAME(CL_LINK_PROGRAM_FAILURE)
    NAME(CL_INVALID_VALUE)
    NAME(CL_INVALID_DEVICE_TYPE)
    NAME(CL_INVALID_PLATFORM)
    NAME(CL_INVALID_DEVICE)
    NAME(CL_INVALID_CONTEXT)
    NAME(CL_INVALID_QUEUE_PROPERTIES)
    NAME(CL_INVALID_COMMAND_QUEUE)
    NAME(CL_INVALID_HOST_PTR)
    NAME(CL_INVALID_MEM_OBJECT)
    NAME(CL_INVALID_BINARY)
    NAME(CL_INVALID_BUILD_OPTIONS)
    NAME(CL_INVALID_PROGRAM)
    NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    NAME(CL_INVALID_KERNEL_NAME)
    NAME(CL_INVALID_KERNEL_DEFINITION)
    NAME(CL_INVALID_KERNEL)
    NAME(CL_INVALID_ARG_INDEX)
    NAME(CL_INVALID_ARG_VALUE)
    NAME(CL_INVALID_ARG_SIZE)
    NAME(CL_INVALID_KERNEL_ARGS)
    NAME(CL_INVALID_WORK_DIMENSION)
    NAME(CL_INVALID_WORK_GROUP_SIZE)
    NAME(CL_INVALID_WORK_ITEM_SIZE)
    NAME(CL_INVALID_GLOBAL_OFFSET)
    NAME(CL_INVALID_EVENT_WAIT_LIST)
    NAME(CL_INVALID_EVENT)
    NAME(CL_INVALID_OPERATION)
    NAME(CL_INVALID_BUFFER_SIZE)
    NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    NAME(CL_INVALID_PROPERTY)
#undef NAME
    case -1001:
      return "CL_PLATFORM_NOT_FOUND_KHR";
  }
  return "an error that OpenCL 1.2 has no name for";
}

void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  const bool memory = status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                      status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
  throw Error(memory ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, what, " failed: ", error_name(status),
              " (", status, ")");
}

bool find_devices() {
  cl_platform_id platforms[16];
  cl_uint n = 0;
  if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS) return false;
  for (cl_uint p = 0; p < n && p < 16; ++p) {
    cl_device_id ids[16];
    cl_uint found = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, ids, &found) != CL_SUCCESS) continue;
    for (cl_uint i = 0; i < found && i < 16 && device_count() < 16; ++i) add(ids[i]);
  }
  return device_count() > 0;
}

int device_count() { return static_cast<int>(gpus().size()); }
Gpu& gpu(int index) {
  if (index < 0 || index >= device_count())
    throw Error(TN_ERROR_VALUE, "there is no OpenCL device ", index);
  return *gpus()[static_cast<std::size_t>(index)];
}

void open_queue(Gpu& g, tn_stream& s) {
  cl_int status;
  s.queue = clCreateCommandQueue(g.context, g.id, CL_QUEUE_PROFILING_ENABLE, &status);
  check(status, "clCreateCommandQueue");
  const tn_error_word none{};
  s.report = clCreateBuffer(g.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none,
                            const_cast<tn_error_word*>(&none), &status);
  check(status, "clCreateBuffer");
  std::lock_guard<std::mutex> hold(g.lock);
  g.streams.push_back(&s);
}

void close_queue(tn_stream& s) {
  clFinish(s.queue);
  clReleaseMemObject(s.report);
  clReleaseCommandQueue(s.queue);
}

void finish(tn_stream& s) {
  std::lock_guard<std::mutex> hold(s.lock);
  check(clFinish(s.queue), "clFinish");
  if (!s.may_report) return;
  s.may_report = false;
  tn_error_word seen;
  check(clEnqueueReadBuffer(s.queue, s.report, CL_TRUE, 0, sizeof seen, &seen, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  if (seen.code == TN_OK) return;
  if (s.word && s.word->code == TN_OK) *s.word = seen;
  const tn_error_word none{};
  check(
      clEnqueueWriteBuffer(s.queue, s.report, CL_TRUE, 0, sizeof none, &none, 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
}

void finish_all(Gpu& g) {
  std::lock_guard<std::mutex> hold(g.lock);
  for (tn_stream* s : g.streams) finish(*s);
}

}  // namespace tenon::opencl
