// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/pointwise/engine.h"

#include "plugin_cpu/simd/convert.h"
#include "tenon/sdk/loops.h"

namespace tenon::cpu::pw {

const Loops& loops_mul();

namespace {

using namespace sdk;

constexpr int64_t kGrain = 32768;  // elements per block of the thread pool
constexpr int64_t kStage = 512;    // elements staged at a time
constexpr int kMaxInputs = 4;
constexpr int kMaxParams = 8;

Kind kind_of(DType d) {
  switch (dtype_key(d)) {
    case dtype_key(kBool):
      return kKindBool;
    case dtype_key(kUInt8):
      return kKindU8;
    case dtype_key(kInt8):
      return kKindI8;
    case dtype_key(kInt16):
      return kKindI16;
    case dtype_key(kInt32):
      return kKindI32;
    case dtype_key(kInt64):
      return kKindI64;
    case dtype_key(kFloat64):
      return kKindF64;
    case dtype_key(kComplex64):
      return kKindC64;
    case dtype_key(kComplex128):
      return kKindC128;
    case dtype_key(kFloat32):
    case dtype_key(kFloat16):
    case dtype_key(kBFloat16):
      return kKindF32;
  }
  refuse_dtype(d);
}

bool is_half_dtype(DType d) { return d == kFloat16 || d == kBFloat16; }

constexpr int64_t kSize[kKinds] = {1, 1, 1, 2, 4, 8, 4, 8, 8, 16};

template <class F>
void with_kind(Kind k, F&& f) {
  switch (k) {
    case kKindBool:
      return f(Type<bool>{});
    case kKindU8:
      return f(Type<uint8_t>{});
    case kKindI8:
      return f(Type<int8_t>{});
    case kKindI16:
      return f(Type<int16_t>{});
    case kKindI32:
      return f(Type<int32_t>{});
    case kKindI64:
      return f(Type<int64_t>{});
    case kKindF32:
      return f(Type<float>{});
    case kKindC64:
      return f(Type<complex<float>>{});
    case kKindC128:
      return f(Type<complex<double>>{});
    default:
      return f(Type<double>{});
  }
}

// One call, prepared: what each operand is and where its elements are.
struct Job {
  const Loops* loops;
  Kind kind;
  int inputs;
  Tensor out;
  Tensor in[kMaxInputs];
  bool is_value[kMaxInputs];
  alignas(16) char number[kMaxInputs][16];
  alignas(16) char params[kMaxParams * 16];
};

// An operand of the staged path: its elements in the compute type.
enum class Stage : uint8_t { Same, Half, BFloat };

struct Staged {
  Stage how[kMaxInputs + 1];
  int64_t item[kMaxInputs + 1];  // bytes of an element as the loop sees it
};

Stage stage_of(DType d) {
  return d == kFloat16 ? Stage::Half : d == kBFloat16 ? Stage::BFloat : Stage::Same;
}

template <class T>
void gather(const char* from, int64_t stride, char* to, int64_t n) {
  T* t = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) t[i] = *reinterpret_cast<const T*>(from + i * stride);
}
template <class T>
void scatter(const char* from, char* to, int64_t stride, int64_t n) {
  const T* f = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = f[i];
}

template <class F>
void with_size(int64_t size, F&& f) {
  switch (size) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    default:
      return f(Type<complex<double>>{});
  }
}

// Copies n elements to `to`, 16-bit floats as float.
void load(Stage how, const char* from, int64_t stride, int64_t item, char* to, int64_t n) {
  if (how == Stage::Same) {
    with_size(item, [&](auto tag) { gather<tn_type(tag)>(from, stride, to, n); });
    return;
  }
  uint16_t packed[kStage];
  if (stride != 2) {
    gather<uint16_t>(from, stride, reinterpret_cast<char*>(packed), n);
    from = reinterpret_cast<const char*>(packed);
  }
  float* f = reinterpret_cast<float*>(to);
  if (how == Stage::Half)
    to_float(reinterpret_cast<const Half*>(from), f, n);
  else
    to_float(reinterpret_cast<const BFloat16*>(from), f, n);
}

void store(Stage how, const char* from, char* to, int64_t stride, int64_t item, int64_t n) {
  if (how == Stage::Same) {
    with_size(item, [&](auto tag) { scatter<tn_type(tag)>(from, to, stride, n); });
    return;
  }
  uint16_t packed[kStage];
  char* run = stride == 2 ? to : reinterpret_cast<char*>(packed);
  const float* f = reinterpret_cast<const float*>(from);
  if (how == Stage::Half)
    from_float(f, reinterpret_cast<Half*>(run), n);
  else
    from_float(f, reinterpret_cast<BFloat16*>(run), n);
  if (stride != 2) scatter<uint16_t>(run, to, stride, n);
}

// A run of elements with one stride per operand: passed to the loop directly if the strides allow,
// else staged by blocks.
void run_boxed(const Job& job, const Staged& st, char* const* p, const int64_t* strides,
               int64_t n) {
  const int inputs = job.inputs;
  const bool last_is_value = job.loops->value[job.kind] != nullptr && strides[inputs] == 0;
  const LoopFn loop = last_is_value ? job.loops->value[job.kind] : job.loops->full[job.kind];
  const int64_t stage = job.kind == kKindC128 ? kStage / 2 : kStage;
  alignas(64) char buffer[kMaxInputs + 1][kStage * 8];
  const char* in[kMaxInputs];
  bool direct[kMaxInputs + 1];
  bool all_direct = true;
  for (int k = 0; k <= inputs; ++k) {
    direct[k] = st.how[k] == Stage::Same && strides[k] == st.item[k];
    if (k == inputs && last_is_value) {
      load(st.how[k], p[k], 0, st.item[k], buffer[k], 1);
      in[k - 1] = buffer[k];
      continue;
    }
    if (k > 0 && strides[k] == 0) {  // one value, repeated once for the whole row
      load(st.how[k], p[k], 0, st.item[k], buffer[k], n < stage ? n : stage);
      all_direct &= n <= stage;
      in[k - 1] = buffer[k];
      continue;
    }
    all_direct &= direct[k];
    if (k > 0) in[k - 1] = direct[k] ? p[k] : buffer[k];
  }
  if (all_direct) return loop(p[0], in, job.params, n);
  for (int64_t i = 0; i < n; i += stage) {
    const int64_t m = n - i < stage ? n - i : stage;
    for (int k = 1; k <= inputs; ++k) {
      if (strides[k] == 0) continue;
      if (direct[k])
        in[k - 1] = p[k] + i * strides[k];
      else
        load(st.how[k], p[k] + i * strides[k], strides[k], st.item[k], buffer[k], m);
    }
    char* out = direct[0] ? p[0] + i * strides[0] : buffer[0];
    loop(out, in, job.params, m);
    if (!direct[0]) store(st.how[0], out, p[0] + i * strides[0], strides[0], st.item[0], m);
  }
}

// Rows of one operand with one value of the other, as an image whose channels are scaled; false:
// another case. Of a product the value may be on either side.
bool run_rows(const Job& job, const Staged& st, const StridedLoop& loop) {
  const LoopFn rows = job.loops->value[job.kind];
  const int64_t* strides = loop.strides[0];
  if (job.inputs != 2 || rows == nullptr || strides[0] != st.item[0]) return false;
  for (const Stage how : {st.how[0], st.how[1], st.how[2]}) {
    if (how != Stage::Same) return false;
  }
  const int value = strides[1] == 0 && job.loops == &loops_mul() ? 1 : 2, row = 3 - value;
  if (strides[value] != 0 || strides[row] != st.item[row]) return false;
  parallel_for(loop.numel, kGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t*, int64_t n) {
      const char* in[2] = {p[row], p[value]};
      rows(p[0], in, job.params, n);
    });
  });
  return true;
}

__attribute__((noinline)) void run_general(const Job& job, int64_t numel) {
  Staged st;
  StridedLoop loop(job.out.sizes());
  loop.add(job.out);
  st.how[0] = stage_of(job.out.dtype());
  st.item[0] = job.loops->out_bool ? 1 : kSize[job.kind];
  for (int k = 0; k < job.inputs; ++k) {
    if (job.is_value[k])
      loop.add_value(job.number[k]);
    else
      loop.add(job.in[k]);
    st.how[k + 1] = job.is_value[k] ? Stage::Same : stage_of(job.in[k].dtype());
    st.item[k + 1] = job.loops->mask && k == 0 ? 1 : kSize[job.kind];
  }
  loop.finish();
  if (run_rows(job, st, loop)) return;
  parallel_for(numel, kGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t* strides, int64_t n) {
      run_boxed(job, st, p, strides, n);
    });
  });
}

// Before anything is written.
__attribute__((noinline)) void check(const Job& job, Guard guard) {
  if (job.kind >= kKindF32 || job.kind == kKindBool) return;
  bool bad = false;
  const int last = job.inputs - 1;
  with_kind(job.kind, [&](auto tag) {
    using T = tn_type(tag);
    if (job.is_value[last]) {
      bad = violates(guard, *reinterpret_cast<const T*>(job.number[last]));
      return;
    }
    StridedLoop loop(job.in[last].sizes());
    loop.add(job.in[last]);
    loop.finish();
    loop.run(0, loop.numel, [&](char* const* p, const int64_t* strides, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        bad |= violates(guard, *reinterpret_cast<const T*>(p[0] + i * strides[0]));
    });
  });
  if (bad) refuse_operand(guard);
}

bool same_sizes(Tensor a, Tensor b) {
  if (a.ndim() != b.ndim()) return false;
  for (int d = 0; d < a.ndim(); ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  return true;
}

// Whether every tensor is row-major, of the output's shape and of one dtype; the flag
// TN_CALL_UNIFORM says the same.
bool is_uniform(const Loops& loops, DType dtype, Tensor out, std::initializer_list<Operand> in) {
  if (!out.contiguous() || loops.mask || (!loops.out_bool && out.dtype() != dtype)) return false;
  for (const Operand& o : in) {
    const Tensor t = o.tensor;
    if (t.defined() && (!t.contiguous() || t.dtype() != dtype || !same_sizes(t, out))) return false;
  }
  return true;
}

// Operands that repeat every `run` elements, and others that do not.
template <class T>
bool run_repeats(const Loops& loops, LoopFn loop, Tensor out, std::initializer_list<Operand> in,
                 const char** p, const T* numbers) {
  const int64_t n = out.numel(), item = sizeof(T), out_item = loops.out_bool ? 1 : item;
  int64_t run = n, step[kMaxInputs], *to = step;
  for (const Operand& o : in) {
    const int64_t m = o.tensor.defined() ? o.tensor.numel() : n;
    if (m != n && run != n && m != run) return false;
    if (m != n) run = m;
    *to++ = m == n && o.tensor.defined() ? item : 0;
  }
  if (run == 1) return false;
  for (int64_t i = 0; i < n; i += run) {
    loop(out.data<char>() + i * out_item, p, reinterpret_cast<const char*>(numbers), run);
    for (std::size_t k = 0; k < in.size(); ++k) p[k] += run * step[k];
  }
  return true;
}

// The fast path of most small calls: uniform tensors, a scalar only as the last operand, too little
// work for threads. It makes no plan; false if the call does not qualify.
template <class T>
bool run_short(const Loops& loops, Kind kind, Tensor out, std::initializer_list<Operand> in,
               std::initializer_list<Param> params) {
  const int64_t n = out.numel();
  if (n == 0 || n > kGrain) return false;
  const char* p[kMaxInputs];
  T number;
  LoopFn loop = loops.full[kind];
  bool repeats = false;
  const char** to_data = p;
  for (const Operand& o : in) {
    if (o.tensor.defined()) {
      repeats |= o.tensor.ndim() != out.ndim();
      *to_data++ = o.tensor.data<char>();
    } else {
      if (&o != in.end() - 1) return false;
      number = o.number.to<T>();
      *to_data = reinterpret_cast<const char*>(&number);
      loop = loops.value[kind];
    }
  }
  if (loop == nullptr) return false;
  T numbers[kMaxParams];
  T* to = numbers;
  for (const Param& param : params) *to++ = convert<T>(param);
  if (repeats) return run_repeats(loops, loop, out, in, p, numbers);
  loop(out.data<char>(), p, reinterpret_cast<const char*>(numbers), n);
  return true;
}

__attribute__((noinline)) tn_status run_long(const Loops& real, const Loops* complex, Tensor out,
                                             std::initializer_list<Operand> in,
                                             std::initializer_list<Param> params, Guard guard) {
  Job job;
  job.out = out;
  job.inputs = 0;
  DType dtype = out.dtype();
  bool found = false, direct = out.contiguous();
  for (const Operand& o : in) {
    const int k = job.inputs++;
    job.is_value[k] = !o.tensor.defined();
    if (job.is_value[k]) continue;
    job.in[k] = o.tensor;
    direct = direct && o.tensor.contiguous() && same_sizes(o.tensor, out);
    if (!found && !(real.mask && k == 0)) {
      dtype = o.tensor.dtype();
      found = true;
    }
  }
  job.kind = kind_of(dtype);
  const Loops& loops = is_complex(dtype) && complex != nullptr ? *complex : real;
  job.loops = &loops;
  if (loops.full[job.kind] == nullptr) refuse_dtype(dtype);
  int k = 0;
  for (const Operand& o : in) {
    if (job.is_value[k]) {
      direct = direct && k == job.inputs - 1 && loops.value[job.kind] != nullptr;
      with_kind(job.kind, [&](auto tag) {
        using T = tn_type(tag);
        *reinterpret_cast<T*>(job.number[k]) = o.number.to<T>();
      });
    }
    ++k;
  }
  if (params.size() != 0) {
    with_kind(job.kind, [&](auto tag) {
      using T = tn_type(tag);
      T* to = reinterpret_cast<T*>(job.params);
      for (const Param& p : params) *to++ = convert<T>(p);
    });
  }
  const int64_t numel = out.numel();
  if (numel == 0) return TN_OK;
  if (guard != Guard::None) check(job, guard);
  if (!direct || is_half_dtype(dtype) || is_half_dtype(out.dtype())) {
    run_general(job, numel);
    return TN_OK;
  }
  const bool value = job.is_value[job.inputs - 1];
  const LoopFn loop = value ? loops.value[job.kind] : loops.full[job.kind];
  const int64_t size = kSize[job.kind], out_size = loops.out_bool ? 1 : size;
  parallel_for(numel, kGrain, [&](int64_t begin, int64_t end) {
    const char* p[kMaxInputs];
    for (int i = 0; i < job.inputs; ++i) {
      const int64_t item = loops.mask && i == 0 ? 1 : size;
      p[i] = job.is_value[i] ? job.number[i] : job.in[i].data<char>() + begin * item;
    }
    loop(out.data<char>() + begin * out_size, p, job.params, end - begin);
  });
  return TN_OK;
}

}  // namespace

tn_status run(const Call& call, const Loops& loops, Tensor out, std::initializer_list<Operand> in,
              std::initializer_list<Param> params, Guard guard, const Loops* complex) {
  if (const Operand& first = *in.begin(); first.tensor.defined()) {
    const DType d = first.tensor.dtype();
    if ((d == kFloat32 || d == kFloat64) && (call.uniform() || is_uniform(loops, d, out, in)) &&
        (d == kFloat32 ? run_short<float>(loops, kKindF32, out, in, params)
                       : run_short<double>(loops, kKindF64, out, in, params)))
      return TN_OK;
  }
  return run_long(loops, complex, out, in, params, guard);
}

}  // namespace tenon::cpu::pw
