// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/infer/epilogue.h"

#include <string_view>

#include "infer_args.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

struct Activation {
  std::string_view name;
  std::size_t parameters;
};
constexpr Activation kActivations[] = {
#define TN_ACTIVATION(name, parameters) {#name, parameters},
#include "tenon/abi/activations.def"
#undef TN_ACTIVATION
};

}  // namespace

void check_activation(Infer& c, int activation, int parameters) {
  const std::string_view name(c.in[activation].u.str, c.in[activation].len);
  std::string names;
  for (const Activation& a : kActivations) {
    if (a.name == name) {
      if (c.in[parameters].len != a.parameters) {
        fail<ValueError>(c, c.arg(parameters), " needs ", a.parameters, " entries for ", name,
                         ", got ", c.in[parameters].len);
      }
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  fail<ValueError>(c, c.arg(activation), " must be one of ", names, ", got '", name, "'");
}

void check_other(Infer& c, int other, IntArrayRef sizes, ScalarType dtype) {
  const TensorImpl* t = c.tensor_or_null(other);
  if (!t) return;
  if (t->sizes() != sizes) {
    fail<ValueError>(c, c.arg(other), " must have the shape of the product, ", sizes, ", got ",
                     t->sizes());
  }
  if (t->dtype != dtype) {
    fail<TypeError>(c, "the product has dtype ", dtype_name(dtype), " but other has ",
                    dtype_name(t->dtype));
  }
}

TENON_INFER(linear_epilogue) {
  using A = args::linear_epilogue;
  const TensorImpl &input = c.tensor(A::input), &weight = c.tensor(A::weight);
  if (weight.ndim() != 2 || input.ndim() < 1 || input.size(input.ndim() - 1) != weight.size(1)) {
    fail<ValueError>(c, "expected a weight [out, in] and an input [..., in], got weight ",
                     weight.sizes(), " and input ", input.sizes());
  }
  if (input.dtype != weight.dtype) {
    fail<TypeError>(c, "input has dtype ", dtype_name(input.dtype), " but weight has ",
                    dtype_name(weight.dtype));
  }
  if (const TensorImpl* bias = c.tensor_or_null(A::bias)) {
    const int64_t expected[] = {weight.size(0)};
    if (bias->sizes() != IntArrayRef(expected))
      fail<ValueError>(c, "bias must have shape ", IntArrayRef(expected), ", got ", bias->sizes());
    if (bias->dtype != input.dtype) {
      fail<TypeError>(c, "input has dtype ", dtype_name(input.dtype), " but bias has ",
                      dtype_name(bias->dtype));
    }
  }
  int64_t sizes[kMaxDims];
  std::copy(input.sizes().begin(), input.sizes().end(), sizes);
  sizes[input.ndim() - 1] = weight.size(0);
  const IntArrayRef shape{sizes, static_cast<std::size_t>(input.ndim())};
  check_other(c, A::other, shape, input.dtype);
  check_activation(c, A::activation, A::parameters);
  c.set(0, shape, input.dtype);
}

}  // namespace tenon::core
