// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Launches on tensors: the grid that kernels iterate over, and programs built per code and dtypes.
#pragma once

#include <string>

#include "runtime.h"
#include "tenon/sdk/kernel.h"

namespace tenon::opencl {

inline constexpr int kMaxDims = 12, kMaxOperands = 4;

// As Grid in cl/prelude.cl.
struct Grid {
  int64_t n = 1, ndim = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[kMaxDims][kMaxOperands] = {};
  uint64_t base[kMaxOperands] = {};
};

// A tensor in device memory: its first element is `base` bytes into `memory`.
struct View {
  cl_mem memory = nullptr;
  uint64_t base = 0;
  sdk::DType dtype{};
  int ndim = 0;
  int64_t size[64] = {}, stride[64] = {};

  View() = default;
  explicit View(const sdk::Tensor& t);
  // A contiguous tensor of these sizes at the start of `memory`.
  static View row_major(cl_mem memory, sdk::DType dtype, sdk::Ints sizes);
  int64_t length(int dim) const { return ndim ? size[dim] : 1; }
  int64_t step(int dim) const { return ndim ? stride[dim] : 0; }
  // The dimension reduced to size 1, or broadcast to size n by a stride of 0.
  View without(int dim) const;
  View broadcast_along(int dim, int64_t n) const;
};

// The shape of operand `shape` and the strides of all operands; dimensions are merged where every
// operand allows it. False if more than kMaxDims remain.
bool make_grid(Grid& g, const View& shape, std::initializer_list<const View*> operands);

// "float", "half", ...: as in cl/prelude.cl. Null for a dtype that the device does not support.
const char* type_name(const Gpu& g, sdk::DType d);

// The integer dtype of the same size, for kernels that only move elements: so a device without
// double moves doubles.
inline sdk::DType bits_of(sdk::DType d) {
  return sdk::make_dtype(d.bits == 8 ? TN_UINT : TN_INT, d.bits);
}

// A kernel object holds one set of arguments: under the lock they are set and the launch enqueued.
struct Kernel {
  cl_kernel kernel = nullptr;
  std::mutex lock;
};

// Of the kernels in the sources; `what` is named in the error if they do not build.
cl_program build_program(Gpu& g, std::initializer_list<const char*> sources,
                         const std::string& options, const std::string& what);
cl_kernel make_kernel(cl_program program, const std::string& name);

// One launch. The kernel `name`_of of cl/`file`.cl is built once per set of options and cached.
class Launch {
 public:
  Launch(sdk::Call& call, int index, const char* file, const char* name);
  Launch(sdk::Call& call, int index, Kernel& kernel);
  Gpu& gpu() const { return gpu_; }
  cl_command_queue queue() const { return stream_.queue; }
  Launch& code(int64_t code);
  Launch& define(const char* name, const char* value = "1");
  // "-D X=float", and -D NARROW_half for the 16-bit types. Declines the call if the device does not
  // support the dtype.
  Launch& type(char letter, sdk::DType d);
  // Grids of fewer than 2^32 elements use 32-bit positions.
  Launch& arg(const Grid& g) {
    if (g.n < int64_t{1} << 32) define("SMALL");
    return add(&g, sizeof g);
  }
  // A struct of these elements alone.
  template <class T>
  Launch& arg(const std::vector<T>& values) {
    return add(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  Launch& arg(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return add(&value, sizeof value);
  }
  Launch& arg(const View& v) { return arg(v.memory); }
  // The stream's error report and the operator's index.
  Launch& report();
  // In work-groups of 64 items; the number of items is rounded up.
  void run_items(int64_t items) { run_groups((items + 63) / 64); }
  void run_groups(int64_t groups);

 private:
  Launch& add(const void* value, std::size_t bytes);
  sdk::Call& call_;
  Gpu& gpu_;
  tn_stream& stream_;
  Kernel* own_ = nullptr;
  std::string file_, name_, options_;
  struct Arg {
    std::size_t at, bytes;
  };
  std::string values_;
  std::vector<Arg> args_;
  bool reports_ = false;
};

// Thrown to leave a call to the next fallback, before anything is written.
struct Declined {};
// Runs a kernel's body; a Declined becomes TN_DECLINED.
template <class F>
tn_status run_or_decline(F body) {
  try {
    body();
    return TN_OK;
  } catch (const Declined&) {
    return TN_DECLINED;
  }
}

// Temporary device memory of a call; the OpenCL runtime frees it when the launches that use it are
// done.
class Scratch {
 public:
  Scratch(Gpu& g, uint64_t bytes);
  ~Scratch() { clReleaseMemObject(memory); }
  Scratch(const Scratch&) = delete;
  const cl_mem memory;
};

// Copies elements, cast to dst's dtype.
void copy_view(sdk::Call& call, int index, const View& dst, const View& src);

}  // namespace tenon::opencl
