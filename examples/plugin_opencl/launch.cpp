// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "sources.h"

namespace tenon::opencl {

using sdk::DType;
using sdk::Error;

View::View(const sdk::Tensor& t)
    : memory(static_cast<cl_mem>(t.abi()->data)),
      base(t.abi()->byte_offset),
      dtype(t.dtype()),
      ndim(t.ndim()) {
  std::copy_n(t.sizes().data(), ndim, size);
  std::copy_n(t.strides().data(), ndim, stride);
}

View View::row_major(cl_mem memory, DType dtype, sdk::Ints sizes) {
  View v;
  v.memory = memory;
  v.dtype = dtype;
  v.ndim = static_cast<int>(sizes.size());
  int64_t step = 1;
  for (int d = v.ndim - 1; d >= 0; --d) {
    v.size[d] = sizes[d];
    v.stride[d] = step;
    step *= sizes[d];
  }
  return v;
}

View View::broadcast_along(int dim, int64_t n) const {
  View v = *this;
  if (ndim == 0) return v;
  v.size[dim] = n;
  v.stride[dim] = 0;
  return v;
}

View View::without(int dim) const { return broadcast_along(dim, 1); }

bool make_grid(Grid& g, const View& shape, std::initializer_list<const View*> operands) {
  const View* const* all = operands.begin();
  const int k = static_cast<int>(operands.size());
  int64_t stride[64][kMaxOperands] = {}, size[64];
  int n = 0;
  for (int d = 0; d < shape.ndim; ++d) {
    g.n *= shape.size[d];
    if (shape.size[d] == 1) continue;
    bool merges = n > 0;
    for (int o = 0; o < k; ++o) {
      stride[n][o] = all[o]->stride[d];
      merges = merges && stride[n - 1][o] == stride[n][o] * shape.size[d];
    }
    size[n] = shape.size[d];
    if (merges) {
      size[n - 1] *= size[n];
      std::copy_n(stride[n], k, stride[n - 1]);
    } else {
      ++n;
    }
  }
  if (n > kMaxDims) return false;
  g.ndim = n;
  std::copy_n(size, n, g.size);
  std::memcpy(g.stride, stride, sizeof g.stride);
  for (int o = 0; o < k; ++o) g.base[o] = all[o]->base;
  return true;
}

const char* type_name(const Gpu& g, DType d) {
  switch (sdk::dtype_key(d)) {
    case sdk::dtype_key(sdk::kBool):
      return "boolean";
    case sdk::dtype_key(sdk::kUInt8):
      return "uchar";
    case sdk::dtype_key(sdk::kInt8):
      return "char";
    case sdk::dtype_key(sdk::kInt16):
      return "short";
    case sdk::dtype_key(sdk::kInt32):
      return "int";
    case sdk::dtype_key(sdk::kInt64):
      return "long";
    case sdk::dtype_key(sdk::kFloat16):
      return "half";
    case sdk::dtype_key(sdk::kBFloat16):
      return "bfloat";
    case sdk::dtype_key(sdk::kFloat32):
      return "float";
    case sdk::dtype_key(sdk::kFloat64):
      return g.doubles ? "double" : nullptr;
  }
  return nullptr;
}

namespace {

std::string build_log(const Gpu& g, cl_program program) {
  char text[2048] = {};
  clGetProgramBuildInfo(program, g.id, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text, nullptr);
  return text;
}

Kernel& built(Gpu& g, const std::string& file, const std::string& name,
              const std::string& options) {
  static std::mutex lock;
  static auto& all = *new std::map<std::pair<Gpu*, std::string>, Kernel>;
  const std::string key = file + "/" + name + options;
  std::lock_guard<std::mutex> hold(lock);
  auto it = all.find({&g, key});
  if (it != all.end()) return it->second;
  cl_program program =
      build_program(g, {source("prelude"), source(file)}, options, "cl/" + file + ".cl");
  cl_kernel kernel = make_kernel(program, name + "_of");
  clReleaseProgram(program);
  Kernel& b = all[{&g, key}];
  b.kernel = kernel;
  return b;
}

}  // namespace

cl_program build_program(Gpu& g, std::initializer_list<const char*> sources,
                         const std::string& options, const std::string& what) {
  std::vector<const char*> texts(sources);
  cl_int status;
  cl_program program = clCreateProgramWithSource(g.context, static_cast<cl_uint>(texts.size()),
                                                 texts.data(), nullptr, &status);
  check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program, 1, &g.id, options.c_str(), nullptr, nullptr);
  if (status == CL_SUCCESS) return program;
  const std::string log = build_log(g, program);
  clReleaseProgram(program);
  throw Error(TN_ERROR_BACKEND, what, " does not build with", options, ": ", error_name(status),
              ": ", log);
}

cl_kernel make_kernel(cl_program program, const std::string& name) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name.c_str(), &status);
  check(status, "clCreateKernel");
  return kernel;
}

Launch::Launch(sdk::Call& call, int index, Kernel& kernel)
    : call_(call),
      gpu_(opencl::gpu(index)),
      stream_(stream_of(gpu_, call.stream())),
      own_(&kernel) {}

Launch::Launch(sdk::Call& call, int index, const char* file, const char* name)
    : call_(call),
      gpu_(opencl::gpu(index)),
      stream_(stream_of(gpu_, call.stream())),
      file_(file),
      name_(name),
      options_(gpu_.doubles ? " -cl-std=CL1.2 -D FP64" : " -cl-std=CL1.2") {
  define(("KERNEL_" + name_).c_str());
}

Launch& Launch::define(const char* name, const char* value) {
  options_.append(" -D ").append(name).append("=").append(value);
  return *this;
}

Launch& Launch::code(int64_t code) { return define("CODE", std::to_string(code).c_str()); }

Launch& Launch::type(char letter, DType d) {
  const char* name = type_name(gpu_, d);
  if (!name) throw Declined{};
  if (letter == 'X' && sdk::is_floating(d) && d.bits == 16)
    define((std::string("NARROW_") + name).c_str());
  return define(std::string(1, letter).c_str(), name);
}

Launch& Launch::add(const void* value, std::size_t bytes) {
  args_.push_back({values_.size(), bytes});
  values_.append(static_cast<const char*>(value), bytes);
  return *this;
}

Launch& Launch::report() {
  reports_ = true;
  return arg(stream_.report).arg(cl_int{call_.abi()->op});
}

void Launch::run_groups(int64_t groups) {
  if (groups == 0) return;
  Kernel& b = own_ ? *own_ : built(gpu_, file_, name_, options_);
  if (reports_) {
    std::lock_guard<std::mutex> hold(stream_.lock);
    stream_.word = call_.device_error();
    stream_.may_report = true;
  }
  std::lock_guard<std::mutex> hold(b.lock);
  for (std::size_t i = 0; i < args_.size(); ++i) {
    check(clSetKernelArg(b.kernel, static_cast<cl_uint>(i), args_[i].bytes,
                         values_.data() + args_[i].at),
          "clSetKernelArg");
  }
  const std::size_t local = 64, global = local * static_cast<std::size_t>(groups);
  check(clEnqueueNDRangeKernel(stream_.queue, b.kernel, 1, nullptr, &global, &local, 0, nullptr,
                               nullptr),
        "clEnqueueNDRangeKernel");
}

namespace {
cl_mem make_block(Gpu& g, uint64_t bytes) {
  cl_int status;
  cl_mem m =
      clCreateBuffer(g.context, CL_MEM_READ_WRITE, std::max<uint64_t>(bytes, 1), nullptr, &status);
  check(status, "clCreateBuffer");
  return m;
}
}  // namespace

Scratch::Scratch(Gpu& g, uint64_t bytes) : memory(make_block(g, bytes)) {}

void copy_view(sdk::Call& call, int index, const View& dst, const View& src) {
  Grid g;
  if (!make_grid(g, dst, {&dst, &src})) throw Declined{};
  Launch(call, index, "move", "copy")
      .type('X', src.dtype)
      .type('Y', dst.dtype)
      .arg(g)
      .arg(dst)
      .arg(src)
      .run_items(g.n);
}

}  // namespace tenon::opencl
