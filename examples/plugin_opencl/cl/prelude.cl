// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Prepended to every other source. A program is built for one code and the dtypes that its options name:
//   -D CODE=11 -D X=float -D Y=half
// LOAD(X, p, i) reads element i as COMPUTE(X), STORE(X, p, i, v) writes it.
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif

// Types of storage, of computation and of accumulation.
#define MEMORY_boolean uchar
#define MEMORY_uchar uchar
#define MEMORY_char char
#define MEMORY_short short
#define MEMORY_int int
#define MEMORY_long long
#define MEMORY_half half
#define MEMORY_bfloat ushort
#define MEMORY_float float
#define MEMORY_double double
#define COMPUTE_boolean uchar
#define COMPUTE_uchar uchar
#define COMPUTE_char char
#define COMPUTE_short short
#define COMPUTE_int int
#define COMPUTE_long long
#define COMPUTE_half float
#define COMPUTE_bfloat float
#define COMPUTE_float float
#define COMPUTE_double double
#define SUM_boolean uchar
#define SUM_uchar ulong
#define SUM_char ulong
#define SUM_short ulong
#define SUM_int ulong
#define SUM_long ulong
#define SUM_half float
#define SUM_bfloat float
#define SUM_float wide
#define SUM_double double
#define KIND_boolean 0
#define KIND_uchar 1
#define KIND_char 2
#define KIND_short 2
#define KIND_int 2
#define KIND_long 2
#define KIND_half 3
#define KIND_bfloat 3
#define KIND_float 3
#define KIND_double 3
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define MEMORY(T) JOIN(MEMORY_, T)
#define COMPUTE(T) JOIN(COMPUTE_, T)
#define SUM(T) JOIN(SUM_, T)
#define KIND(T) JOIN(KIND_, T)

// Of bool, a sum is `or` and a product `and`. Chosen by macro, as floats have neither operator.
#define ADD_0(a, b) ((a) | (b))
#define ADD_1(a, b) ((a) + (b))
#define ADD_2(a, b) ((a) + (b))
#define ADD_3(a, b) ((a) + (b))
#define MULTIPLY_0(a, b) ((a) & (b))
#define MULTIPLY_1(a, b) ((a) * (b))
#define MULTIPLY_2(a, b) ((a) * (b))
#define MULTIPLY_3(a, b) ((a) * (b))
#define ADD(T, a, b) JOIN(ADD_, KIND(T))(a, b)
#define MULTIPLY(T, a, b) JOIN(MULTIPLY_, KIND(T))(a, b)

float load_bfloat(__global const ushort* p, long i) { return as_float((uint)p[i] << 16); }
void store_bfloat(__global ushort* p, long i, float v) {
  const uint b = as_uint(v);
  p[i] = isnan(v) ? 0x7fc0 : (ushort)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
#define LOAD_boolean(p, i) ((uchar)((p)[i] != 0))
#define LOAD_uchar(p, i) (p)[i]
#define LOAD_char(p, i) (p)[i]
#define LOAD_short(p, i) (p)[i]
#define LOAD_int(p, i) (p)[i]
#define LOAD_long(p, i) (p)[i]
#define LOAD_half(p, i) vload_half(i, p)
#define LOAD_bfloat(p, i) load_bfloat(p, i)
#define LOAD_float(p, i) (p)[i]
#define LOAD_double(p, i) (p)[i]
#define STORE_boolean(p, i, v) (p)[i] = (v) != 0
#define STORE_uchar(p, i, v) (p)[i] = (uchar)(v)
#define STORE_char(p, i, v) (p)[i] = (char)(v)
#define STORE_short(p, i, v) (p)[i] = (short)(v)
#define STORE_int(p, i, v) (p)[i] = (int)(v)
#define STORE_long(p, i, v) (p)[i] = (long)(v)
#define STORE_half(p, i, v) vstore_half_rte((float)(v), i, p)
#define STORE_bfloat(p, i, v) store_bfloat(p, i, (float)(v))
#define STORE_float(p, i, v) (p)[i] = (float)(v)
#define STORE_double(p, i, v) (p)[i] = (double)(v)
#define LOAD(T, p, i) JOIN(LOAD_, T)(p, i)
#define STORE(T, p, i, v) JOIN(STORE_, T)(p, i, v)

// As Grid in launch.h: a shape, and strides and base of each operand. Strides count elements, bases bytes.
#define MAX_DIMS 12
#define MAX_OPERANDS 4
typedef struct {
  long n;
  long ndim;
  long size[MAX_DIMS];
  long stride[MAX_DIMS][MAX_OPERANDS];
  ulong base[MAX_OPERANDS];
} Grid;

// 64-bit divisions take several times as long as 32-bit ones, which suffice for nearly every grid (-D SMALL).
#ifdef SMALL
typedef uint Position;
#else
typedef ulong Position;
#endif

// The offsets of element i of the row-major grid in the first `operands` operands.
void locate(const Grid* g, long i, int operands, long* at) {
  for (int k = 0; k < operands; ++k) at[k] = 0;
  Position rest = (Position)i;
  for (int d = (int)g->ndim - 1; d > 0; --d) {
    const Position size = (Position)g->size[d], q = rest / size, r = rest - q * size;
    for (int k = 0; k < operands; ++k) at[k] += (long)r * g->stride[d][k];
    rest = q;
  }
  for (int k = 0; k < operands; ++k) at[k] += (long)rest * g->stride[0][k];
}
#define AT(T, buffer, k) ((__global MEMORY(T)*)((buffer) + g.base[k]))

// The error report of a stream, as tn_error_word, which defines index and limit. The first one stays.
typedef struct {
  int code, op;
  long index, limit;
} Report;
void report(__global Report* r, int code, int op, long index, long limit) {
  if (atomic_cmpxchg((volatile __global int*)&r->code, 0, code) != 0) return;
  r->op = op;
  r->index = index;
  r->limit = limit;
}
#define FAILED 2
#define BY_ZERO (-1)
#define FAILED_INDEX 3
#define FAILED_VALUE 5
