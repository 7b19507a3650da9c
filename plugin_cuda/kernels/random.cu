// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random operators: element i uses word i of the reserved range; float64 and wide integers use
// words 2i and 2i + 1, as on the host. A thread computes a block of four words and their elements.
#include <cmath>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "tenon/sdk/integers.h"
#include "tenon/sdk/ops/bernoulli.h"
#include "tenon/sdk/ops/exponential.h"
#include "tenon/sdk/ops/native_dropout.h"
#include "tenon/sdk/ops/native_dropout_backward.h"
#include "tenon/sdk/ops/normal.h"
#include "tenon/sdk/ops/prim_philox.h"
#include "tenon/sdk/ops/random.h"
#include "tenon/sdk/ops/uniform.h"
#include "tenon/sdk/philox.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// The reserved range. In a graph, seed and offset are on the device, so that each replay draws
// other numbers.
struct Stream {
  uint64_t seed, offset;
  const uint64_t* state;
  explicit Stream(const Generator& g) : seed(g.seed()), offset(g.offset()), state(g.state()) {}
  TN_DEVICE PhiloxBlock block(int64_t b) const {
    const uint64_t first = offset + (state ? state[1] : 0);
    return philox_block(state ? state[0] : seed, first + static_cast<uint64_t>(b));
  }
};

struct Target {
  char* p;
  Code code;
  int32_t item, words;  // bytes of an element, words for one
  int64_t n;
  Target(const Tensor& t, int words_of)
      : p(t.data<char>()),
        code(code_of(t.dtype())),
        item(static_cast<int32_t>(item_size(t.dtype()))),
        words(words_of),
        n(t.numel()) {}
  TN_DEVICE char* at(int64_t i) const { return p + i * item; }
};

// op(target, first element, words) writes the elements of one block of words.
template <class Op>
__global__ void draw(Target to, Stream stream, Op op) {
  const int per = 4 / to.words;
  for (int64_t b = global_thread(); b * per < to.n; b += global_threads()) {
    const PhiloxBlock words = stream.block(b);
    op(to, b * per, words);
  }
}

template <class Op>
tn_status run(const Call& call, const Target& to, const Generator& g, const Op& op) {
  if (to.n > 0)
    launch<draw<Op>>(call, shape_for(call, ceil_div(to.n * to.words, 4), 256), to, Stream(g), op);
  return TN_OK;
}

TN_DEVICE uint64_t wide(const PhiloxBlock& w, int k) {
  return static_cast<uint64_t>(w.w[2 * k]) << 32 | w.w[2 * k + 1];
}

// In [0, 1), with the precision of the dtype.
TN_DEVICE float fraction(uint32_t w, Code c) {
  const int bits = c == Code::F16 ? 11 : c == Code::BF16 ? 8 : 24;
  return static_cast<float>(w >> (32 - bits)) * (1.0f / static_cast<float>(1 << bits));
}

struct Uniform {
  double low, range;
  float low_float, range_float;
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 / to.words && first + k < to.n; ++k) {
      if (to.words == 2)
        write(to.at(first + k), philox_double(wide(w, k)) * range + low);
      else
        store(to.at(first + k), to.code, fraction(w.w[k], to.code) * range_float + low_float);
    }
  }
};

struct Normal {
  double mean, deviation;
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    if (to.words == 2) {
      double a, b;
      philox_normal2(wide(w, 0), wide(w, 1), &a, &b);
      write(to.at(first), a * deviation + mean);
      if (first + 1 < to.n) write(to.at(first + 1), b * deviation + mean);
      return;
    }
    for (int k = 0; k < 4 && first + k < to.n; k += 2) {
      float a, b;
      philox_normal2(w.w[k], w.w[k + 1], &a, &b);
      const float scale = static_cast<float>(deviation), shift = static_cast<float>(mean);
      store(to.at(first + k), to.code, a * scale + shift);
      if (first + k + 1 < to.n) store(to.at(first + k + 1), to.code, b * scale + shift);
    }
  }
};

struct Exponential {
  double rate;
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 / to.words && first + k < to.n; ++k) {
      const double u =
          to.words == 2 ? philox_double(wide(w, k)) : static_cast<double>(w.w[k] >> 8) * 0x1p-24;
      store(to.at(first + k), to.code, -std::log1p(-u) / rate);
    }
  }
};

struct Integers {
  uint64_t from, range;  // 0: all 64 bits
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 / to.words && first + k < to.n; ++k) {
      const uint64_t word = to.words == 2 ? wide(w, k) : w.w[k];
      const uint64_t v = range == 0 || (to.words == 1 && range >> 32) ? word : word % range;
      store(to.at(first + k), to.code, static_cast<int64_t>(from + v));
    }
  }
};

struct Words {
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 && first + k < to.n; ++k) write(to.at(first + k), w.w[k]);
  }
};

struct Coin {
  double p;
  const char* each;  // or a probability per element
  Code each_code;
  Faults faults;
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 / to.words && first + k < to.n; ++k) {
      double chance = p;
      if (each != nullptr) {
        chance = load<double>(each + (first + k) * code_bytes(each_code), each_code);
        if (!(chance >= 0 && chance <= 1)) faults.report(TN_ERROR_VALUE, first + k, 0);
      }
      const double u =
          to.words == 2 ? philox_double(wide(w, k)) : static_cast<double>(w.w[k] >> 8) * 0x1p-24;
      store<int64_t>(to.at(first + k), to.code, u < chance);
    }
  }
};

// Dropout; `to` has the input's dtype.
struct Dropout {
  const char* input;
  uint8_t* mask;
  double chance, scale;
  TN_DEVICE void operator()(const Target& to, int64_t first, const PhiloxBlock& w) const {
    for (int k = 0; k < 4 / to.words && first + k < to.n; ++k) {
      const int64_t i = first + k;
      const double u =
          to.words == 2 ? philox_double(wide(w, k)) : static_cast<double>(w.w[k] >> 8) * 0x1p-24;
      const bool keep = u < chance;
      mask[i] = keep;
      if (to.words == 2)
        write(to.at(i), keep ? read<double>(input + i * 8) * scale : 0.0);
      else
        store(to.at(i), to.code,
              keep ? load<float>(input + i * to.item, to.code) * static_cast<float>(scale) : 0.0f);
    }
  }
};

template <class C>
__global__ void masked_scale(char* out, const char* grad, const uint8_t* mask, Code code, C scale,
                             int64_t n) {
  const int64_t item = code_bytes(code);
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    store(out + i * item, code, mask[i] ? load<C>(grad + i * item, code) * scale : C(0));
  }
}

int words_of(const Tensor& t) { return t.dtype() == kFloat64 ? 2 : 1; }

tn_status uniform(Call& call, Tensor out, Tensor, double from, double to, Generator g) {
  const float low = static_cast<float>(from);
  return run(call, Target(out, words_of(out)), g,
             Uniform{from, to - from, low, static_cast<float>(to) - low});
}
tn_status normal(Call& call, Tensor out, Tensor, double mean, double deviation, Generator g) {
  return run(call, Target(out, words_of(out)), g, Normal{mean, deviation});
}
tn_status exponential(Call& call, Tensor out, Tensor, double rate, Generator g) {
  return run(call, Target(out, words_of(out)), g, Exponential{rate});
}

tn_status integers_to(const Call& call, const Tensor& out, const Generator& g, int64_t from,
                      int64_t last, bool wide) {
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
  const int words = wide || range == 0 || (range - 1) >> 32 != 0 ? 2 : 1;
  return run(call, Target(out, words), g, Integers{static_cast<uint64_t>(from), range});
}
tn_status random_from(Call& call, Tensor out, Tensor, int64_t from, std::optional<int64_t> to,
                      Generator g) {
  return integers_to(call, out, g, from, to ? *to - 1 : INT64_MAX, !to);
}
tn_status random_to(Call& call, Tensor out, Tensor, int64_t to, Generator g) {
  return integers_to(call, out, g, 0, to - 1, false);
}
// All integers that a float holds exactly, or the nonnegative ones of an integer dtype.
tn_status random_range(Call& call, Tensor out, Tensor, Generator g) {
  const DType t = out.dtype();
  return integers_to(call, out, g, 0, max_exact_integer(t), t == kInt64 || t == kFloat64);
}

tn_status bernoulli_float(Call& call, Tensor out, Tensor, double p, Generator g) {
  return run(call, Target(out, words_of(out)), g, Coin{p, nullptr, Code::F32, Faults(call)});
}
tn_status bernoulli_each(const Call& call, const Tensor& out, const Tensor& p, const Generator& g) {
  return run(call, Target(out, words_of(out)), g,
             Coin{0, p.data<char>(), code_of(p.dtype()), Faults(call)});
}
tn_status bernoulli(Call& call, Tensor out, Tensor self, Generator g) {
  return bernoulli_each(call, out, self, g);
}
tn_status bernoulli_tensor(Call& call, Tensor out, Tensor, Tensor p, Generator g) {
  if (p.device().type == TN_CPU) return TN_DECLINED;
  return bernoulli_each(call, out, p, g);
}

tn_status native_dropout(Call& call, Tensor out, Tensor mask, Tensor input, double p,
                         std::optional<bool> train, Generator g) {
  if (train && !*train) {
    copy_elements(call, out, input);
    fill_bytes(call, mask.data<char>(), mask.numel(), 1);
    return TN_OK;
  }
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  return run(call, Target(out, words_of(out)), g,
             Dropout{input.data<char>(), mask.data<uint8_t>(), 1 - p, scale});
}

tn_status native_dropout_backward(Call& call, Tensor out, Tensor grad, Tensor mask, double scale) {
  const int64_t n = out.numel();
  if (n == 0) return TN_OK;
  const auto run = [&](auto factor) {
    using C = decltype(factor);
    launch<masked_scale<C>>(call, shape_for(call, n), out.data<char>(), grad.data<char>(),
                            mask.data<uint8_t>(), code_of(out.dtype()), factor, n);
  };
  out.dtype() == kFloat64 ? run(scale) : run(static_cast<float>(scale));
  return TN_OK;
}

tn_status prim_philox(Call& call, Tensor out, Ints, std::optional<DType>, std::optional<int64_t>,
                      std::optional<Device>, std::optional<bool>, Generator g) {
  return run(call, Target(out, 1), g, Words{});
}

}  // namespace

TN_KERNEL(uniform, uniform, dtypes("floating").inplace("0=0").capture_safe());
TN_KERNEL(normal, normal, dtypes("floating").inplace("0=0").capture_safe());
TN_KERNEL(exponential, exponential, dtypes("floating").inplace("0=0").capture_safe());
TN_KERNEL(random_from, random_from, dtypes("all").inplace("0=0").capture_safe());
TN_KERNEL(random_to, random_to, dtypes("all").inplace("0=0").capture_safe());
TN_KERNEL(random, random_range, dtypes("all").inplace("0=0").capture_safe());
TN_KERNEL(bernoulli, bernoulli, dtypes("floating").capture_safe());
TN_KERNEL(bernoulli_float, bernoulli_float, dtypes("all").inplace("0=0").capture_safe());
TN_KERNEL(bernoulli_Tensor, bernoulli_tensor,
          dtypes("all").mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(native_dropout, native_dropout, dtypes("floating").capture_safe());
TN_KERNEL(native_dropout_backward, native_dropout_backward, dtypes("floating").capture_safe());
TN_KERNEL(prim_philox, prim_philox, dtypes("int32").capture_safe());

}  // namespace tenon::cuda
