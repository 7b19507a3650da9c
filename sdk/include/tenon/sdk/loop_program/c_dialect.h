// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// In which language print_c.h writes kernels. A backend of another one fills a CDialect of its own:
// the prelude defines the types tn_i8 to tn_u64, the functions tn_float_of(tn_u32) and
// tn_bits_of(float), which keep the bits, and tn_claim(pointer to int, code), which stores the code
// where 0 stood and says whether it did, for all work items at once.
#ifndef TENON_SDK_LOOP_PROGRAM_C_DIALECT_H_
#define TENON_SDK_LOOP_PROGRAM_C_DIALECT_H_

#include <string>

namespace tenon::sdk::loop_program {

struct CDialect {
  std::string prelude;
  std::string kernel;       // before the name of a kernel: "__kernel void"
  std::string function;     // before the type of a function: "static"
  std::string global;       // before the type of what a pointer to an array points to
  std::string no_alias;     // after the * of such a pointer
  std::string suffix;       // of the mathematical functions of float: "f" for expf
  std::string first, step;  // of the loop over items
  std::string unroll;       // a line before it
  bool doubles = true;      // whether the device computes in double
  bool packed = false;      // whether kernels have the signature of c99()
};

namespace detail {
inline constexpr const char* c_memcpy_bits = R"(static inline float tn_float_of(tn_u32 b) {
  float v;
  memcpy(&v, &b, sizeof v);
  return v;
}
static inline tn_u32 tn_bits_of(float v) {
  tn_u32 b;
  memcpy(&b, &v, sizeof b);
  return b;
}
)";
}  // namespace detail

// C99 for the host. Each kernel computes the items from `first` to `last` and is
//   void NAME(const int64_t* numbers, const double* reals, void* const* arrays,
//             tn_error_word* report, int op, int64_t first, int64_t last)
// To be compiled without contraction of products and sums, as all dialects are.
inline CDialect c99() {
  CDialect d;
  d.prelude = R"(#include <math.h>
#include <stdint.h>
#include <string.h>
typedef int8_t tn_i8;
typedef uint8_t tn_u8;
typedef int16_t tn_i16;
typedef uint16_t tn_u16;
typedef int32_t tn_i32;
typedef uint32_t tn_u32;
typedef int64_t tn_i64;
typedef uint64_t tn_u64;
#define tn_claim(p, code) __sync_bool_compare_and_swap(p, 0, code)
)" + std::string(detail::c_memcpy_bits);
  d.kernel = "void";
  d.function = "static";
  d.no_alias = "restrict ";
  d.suffix = "f";
  d.first = "tn_first";
  d.step = "1";
  d.packed = true;
  return d;
}

// OpenCL C 1.2.
inline CDialect opencl_c(bool doubles) {
  CDialect d;
  d.prelude = R"(#pragma OPENCL FP_CONTRACT OFF
typedef char tn_i8;
typedef uchar tn_u8;
typedef short tn_i16;
typedef ushort tn_u16;
typedef int tn_i32;
typedef uint tn_u32;
typedef long tn_i64;
typedef ulong tn_u64;
#define tn_float_of(b) as_float((uint)(b))
#define tn_bits_of(v) as_uint(v)
#define tn_claim(p, code) (atomic_cmpxchg((volatile __global int*)(p), 0, code) == 0)
)";
  if (doubles) d.prelude = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + d.prelude;
  d.kernel = "__kernel void";
  d.global = "__global ";
  d.no_alias = "restrict ";
  d.first = "(tn_i64)get_global_id(0)";
  d.step = "(tn_i64)get_global_size(0)";
  d.doubles = doubles;
  return d;
}

// CUDA C++ for NVRTC, with --fmad=false.
inline CDialect cuda_c() {
  CDialect d;
  d.prelude = R"(typedef signed char tn_i8;
typedef unsigned char tn_u8;
typedef short tn_i16;
typedef unsigned short tn_u16;
typedef int tn_i32;
typedef unsigned int tn_u32;
typedef long long tn_i64;
typedef unsigned long long tn_u64;
#define tn_float_of(b) __uint_as_float(b)
#define tn_bits_of(v) __float_as_uint(v)
#define tn_claim(p, code) (atomicCAS(p, 0, code) == 0)
#ifdef __CUDA_ARCH__
#define tn_unroll _Pragma("unroll 4")
#else
#define tn_unroll
#endif
)";
  d.kernel = "extern \"C\" __global__ void";
  d.function = "static __device__";
  d.no_alias = "__restrict__ ";
  d.suffix = "f";
  d.first = "(tn_i64)blockIdx.x * blockDim.x + threadIdx.x";
  d.step = "(tn_i64)gridDim.x * blockDim.x";
  d.unroll = "  tn_unroll\n";
  return d;
}

}  // namespace tenon::sdk::loop_program

#endif
