// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs an op of one element (a line of pointwise.def, written by opgen as a struct) over tensors of
// any strides: contiguous operands by 128-bit accesses, all others by one general kernel per
// compute type.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/pointwise.h"
#include "tenon/sdk/scalar_math.h"

namespace tenon::cuda::pw {

using namespace sdk::pointwise;
using sdk::Scalar;
using sdk::Tensor;

// The scalars of a kernel. C: the type of the computation.
template <class C, int kInputs, int kParams>
struct ScalarsOf {
  C param[kParams + 1];
  C value[kInputs];
  bool is_value[kInputs];
  Faults faults;
};
template <class Op, class C>
using Scalars = ScalarsOf<C, Op::kInputs, Op::kParams>;

template <class Op, class C>
TN_DEVICE auto compute(C a, C b, C c, const Scalars<Op, C>& n) {
  if constexpr (Op::kGuard != Guard::None && std::is_integral_v<C>) {
    const C last = Op::kInputs == 2 ? b : c;
    if (violates(Op::kGuard, last)) {
      n.faults.report(Op::kGuard == Guard::Divisor ? TN_ERROR : TN_ERROR_VALUE,
                      static_cast<int64_t>(last), 0);
      return decltype(Op::apply(a, last, n.param))(0);
    }
  }
  if constexpr (Op::kInputs == 1) {
    return Op::apply(a, n.param);
  } else if constexpr (Op::kInputs == 2) {
    return Op::apply(a, b, n.param);
  } else {
    return Op::apply(a, b, c, n.param);
  }
}

template <class Op, class C>
TN_DEVICE auto compute_masked(bool m, C b, C c, const Scalars<Op, C>& n) {
  return Op::apply(m, b, c, n.param);
}

// S: the stored type; kWidth elements per thread at a time, from index `first` on.
template <class Op, class S, class C, int kWidth>
TN_DEVICE void dense_run(char* out, const char* const* in, const Scalars<Op, C>& n, int64_t first) {
  using Out = std::conditional_t<Op::kOutBool, uint8_t, S>;
  using First = std::conditional_t<Op::kMask, uint8_t, S>;
  Pack<First, kWidth> a = {};
  Pack<S, kWidth> rest[2] = {};
  if (!n.is_value[0]) a = reinterpret_cast<const Pack<First, kWidth>*>(in[0])[first];
  for (int k = 1; k < Op::kInputs; ++k) {
    if (!n.is_value[k]) rest[k - 1] = reinterpret_cast<const Pack<S, kWidth>*>(in[k])[first];
  }
  Pack<Out, kWidth> r;
  for (int i = 0; i < kWidth; ++i) {
    C v[3] = {};
    for (int k = 1; k < Op::kInputs; ++k)
      v[k] = n.is_value[k] ? n.value[k] : static_cast<C>(rest[k - 1].v[i]);
    if constexpr (Op::kMask) {
      const bool m = n.is_value[0] ? n.value[0] != C(0) : a.v[i] != 0;
      r.v[i] = static_cast<Out>(static_cast<C>(compute_masked<Op, C>(m, v[1], v[2], n)));
    } else {
      v[0] = n.is_value[0] ? n.value[0] : static_cast<C>(a.v[i]);
      if constexpr (Op::kOutBool)
        r.v[i] = static_cast<bool>(compute<Op, C>(v[0], v[1], v[2], n));
      else
        r.v[i] = static_cast<Out>(static_cast<C>(compute<Op, C>(v[0], v[1], v[2], n)));
    }
  }
  reinterpret_cast<Pack<Out, kWidth>*>(out)[first] = r;
}

template <int kInputs>
struct Addresses {
  char* out;
  const char* in[kInputs];
};

template <class Op, class S, class C>
__global__ void dense(Addresses<Op::kInputs> at, Scalars<Op, C> scalars, int64_t n) {
  constexpr int kWidth = kPackWidth<S>;
  const int64_t packs = n / kWidth, step = global_threads();
  for (int64_t i = global_thread(); i < packs; i += step)
    dense_run<Op, S, C, kWidth>(at.out, at.in, scalars, i);
  for (int64_t i = packs * kWidth + global_thread(); i < n; i += step) {
    dense_run<Op, S, C, 1>(at.out, at.in, scalars, i);
  }
}

// Code::F16 and BF16 are converted; other types are C itself.
template <class C>
TN_DEVICE C load_as(const char* p, Code code) {
  if constexpr (std::is_same_v<C, float>) {
    if (code == Code::F16) return read<sdk::Half>(p);
    if (code == Code::BF16) return read<sdk::BFloat16>(p);
  }
  if constexpr (std::is_same_v<C, bool>) {
    return read<uint8_t>(p) != 0;
  } else {
    return read<C>(p);
  }
}
template <class C>
TN_DEVICE void store_as(char* p, Code code, C v) {
  if constexpr (std::is_same_v<C, float>) {
    if (code == Code::F16) return write(p, sdk::Half(v));
    if (code == Code::BF16) return write(p, sdk::BFloat16(v));
  }
  write(p, v);
}

template <class Op, class C>
__global__ void general(Strided<Op::kInputs + 1> at, Scalars<Op, C> scalars, Code code) {
  const uint32_t step = static_cast<uint32_t>(global_threads());
  for (uint32_t i = static_cast<uint32_t>(global_thread()); i < at.numel; i += step) {
    int64_t offset[Op::kInputs + 1];
    at.offsets(i, offset);
    C v[3] = {};
    for (int k = Op::kMask ? 1 : 0; k < Op::kInputs; ++k) {
      v[k] =
          scalars.is_value[k] ? scalars.value[k] : load_as<C>(at.base[k + 1] + offset[k + 1], code);
    }
    char* out = at.base[0] + offset[0];
    if constexpr (Op::kMask) {
      const bool m = scalars.is_value[0] ? scalars.value[0] != C(0)
                                         : read<uint8_t>(at.base[1] + offset[1]) != 0;
      store_as<C>(out, code, static_cast<C>(compute_masked<Op, C>(m, v[1], v[2], scalars)));
    } else if constexpr (Op::kOutBool) {
      write<uint8_t>(out, static_cast<bool>(compute<Op, C>(v[0], v[1], v[2], scalars)));
    } else {
      store_as<C>(out, code, static_cast<C>(compute<Op, C>(v[0], v[1], v[2], scalars)));
    }
  }
}

inline bool aligned(const void* p, std::size_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

// Bytes of an element, of the result and of the first operand where they are flags, and elements
// of a pack.
struct Items {
  int64_t item, out, first;
  int64_t width;
};

// Whether the loop is one run in which every tensor operand is contiguous.
inline bool is_dense(const sdk::StridedLoop& loop, const bool* is_value, int inputs,
                     const Items& items) {
  if (loop.ndim != 1) return false;
  for (int k = 0; k <= inputs; ++k) {
    if (k > 0 && is_value[k - 1]) continue;
    const int64_t item = k == 0 ? items.out : k == 1 ? items.first : items.item;
    if (loop.strides[0][k] != item && loop.sizes[0] != 1) return false;
    if (!aligned(loop.base[k], static_cast<std::size_t>(item * items.width))) return false;
  }
  return true;
}

// What operators with as many operands and parameters share: scalars, and the loop.
template <class C, int kInputs, int kParams>
struct Operands {
  ScalarsOf<C, kInputs, kParams> scalars{};
  sdk::StridedLoop loop;

  Operands(const sdk::Call& call, const Tensor& out, std::initializer_list<Operand> in,
           std::initializer_list<Param> params, Guard guard)
      : loop(out.sizes()) {
    auto& n = scalars;
    n.faults = Faults(call);
    loop.add(out);
    int k = 0;
    for (const Operand& o : in) {
      n.is_value[k] = !o.tensor.defined();
      if (n.is_value[k]) {
        n.value[k] = o.number.to<C>();
        loop.add_value(nullptr);
      } else {
        loop.add(o.tensor);
      }
      ++k;
    }
    k = 0;
    for (const Param& p : params) n.param[k++] = convert<C>(p);
    if (guard != Guard::None && n.is_value[kInputs - 1] && violates(guard, n.value[kInputs - 1]))
      refuse_operand(guard);
    if (loop.numel > 0) loop.finish();
  }
};

template <class Op, class S>
void run_as(const sdk::Call& call, const Tensor& out, std::initializer_list<Operand> in,
            std::initializer_list<Param> params, sdk::DType dtype) {
  using C = sdk::compute_t<S>;
  constexpr int kInputs = Op::kInputs;
  constexpr int64_t kItem = sizeof(S);
  const Operands<C, kInputs, Op::kParams> all(call, out, in, params, Op::kGuard);
  const sdk::StridedLoop& loop = all.loop;
  if (loop.numel == 0) return;
  const Items items{kItem, Op::kOutBool ? 1 : kItem, Op::kMask ? 1 : kItem, kPackWidth<S>};
  if (is_dense(loop, all.scalars.is_value, kInputs, items)) {
    Addresses<kInputs> at{loop.base[0], {}};
    for (int i = 0; i < kInputs; ++i) at.in[i] = loop.base[i + 1];
    launch<dense<Op, S, C>>(call, shape_for(call, loop.numel, 256, kPackWidth<S>), at, all.scalars,
                            loop.numel);
    return;
  }
  for_each_piece<kInputs + 1>(loop, [&](const Strided<kInputs + 1>& at) {
    launch<general<Op, C>>(call, shape_for(call, at.numel, 256, 2), at, all.scalars,
                           code_of(dtype));
  });
}

template <class... T>
struct Types {};
using Floating = Types<float, double, sdk::Half, sdk::BFloat16>;
using Integral = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using Bits = Types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t>;
using Number =
    Types<float, double, sdk::Half, sdk::BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t>;
using All = Types<float, double, sdk::Half, sdk::BFloat16, bool, uint8_t, int8_t, int16_t, int32_t,
                  int64_t>;

template <class Op, class... S>
tn_status run(const sdk::Call& call, Types<S...>, Tensor out, std::initializer_list<Operand> in,
              std::initializer_list<Param> params) {
  sdk::DType dtype = out.dtype();
  bool first = Op::kMask;
  for (const Operand& o : in) {
    if (o.tensor.defined() && !first) {
      dtype = o.tensor.dtype();
      break;
    }
    first = false;
  }
  const bool known =
      ((dtype == sdk::dtype_of<S> ? (run_as<Op, S>(call, out, in, params, dtype), true) : false) ||
       ...);
  if (!known) sdk::refuse_dtype(dtype);
  return TN_OK;
}

}  // namespace tenon::cuda::pw
