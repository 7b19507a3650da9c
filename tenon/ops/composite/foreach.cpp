// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One call for a list of tensors: the operator of its name for each.
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/composite/write_list.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Scalars = ArrayRef<Scalar>;

void check_any(const char* op, TensorList list) {
  TENON_CHECK(!list.empty(), ValueError, op, ": Tensor list must have at least one tensor.");
}
void check_lengths(const char* op, TensorList self, std::size_t other, const char* what) {
  check_any(op, self);
  TENON_CHECK(self.size() == other, ValueError, op, ": ", what,
              " must have the same number of elements as the list of tensors, got ", self.size(),
              " and ", other);
}
// The number that serves all tensors of a list.
void check_number(const char* op, const Tensor& t) {
  TENON_CHECK(t.dim() == 0 && t.numel() == 1, ValueError, op, ": expected a 0-dim tensor but got ",
              t.dim(), " dimensions with ", t.numel(), " elements");
}
Scalars check_scalars(const char* op, TensorList self, Scalars scalars) {
  check_lengths(op, self, scalars.size(), "Scalars");
  return scalars;
}
TensorList check_list(const char* op, TensorList self, TensorList other) {
  check_lengths(op, self, other.size(), "Tensor lists");
  return other;
}

// f(tensor, its position) of each.
template <class F>
std::vector<Tensor> each(const char* op, TensorList self, F&& f) {
  check_any(op, self);
  std::vector<Tensor> out;
  out.reserve(self.size());
  for (std::size_t i = 0; i < self.size(); ++i) out.push_back(f(self[i], i));
  return out;
}
// The numbers in a vector on the host.
std::vector<Scalar> numbers(const char* op, TensorList self, const Tensor& values) {
  check_any(op, self);
  TENON_CHECK(values.dim() == 1, ValueError, op,
              ": Expected packed scalar Tensor to be of dimension 1. Got ", values.dim(),
              " instead.");
  TENON_CHECK(static_cast<std::size_t>(values.size(0)) == self.size(), ValueError, op,
              ": Expected length of scalars to match input of length ", self.size(), " but got ",
              values.size(0), " instead.");
  std::vector<Scalar> out;
  for (int64_t i = 0; i < values.size(0); ++i) out.push_back(values.detach().select(0, i).item());
  return out;
}

void check_ternary(const char* op, TensorList self, TensorList a, TensorList b, Scalars values) {
  check_list(op, self, a);
  check_list(op, self, b);
  check_scalars(op, self, values);
}
std::vector<Scalar> repeated(TensorList self, const Scalar& value) {
  return std::vector<Scalar>(self.size(), value);
}

}  // namespace

#define UNARY(name)                                                           \
  std::vector<Tensor> _foreach_##name(TensorList self) {                      \
    return each("_foreach_" #name, self,                                      \
                [](const Tensor& t, std::size_t) { return tenon::name(t); }); \
  }                                                                           \
  void _foreach_##name##_(TensorList self) {                                  \
    check_any("_foreach_" #name "_", self);                                   \
    write_each("_foreach_" #name "_", self, {},                               \
               [](const Tensor& t, std::size_t) { t.name##_(); });            \
  }
UNARY(abs)
UNARY(acos)
UNARY(asin)
UNARY(atan)
UNARY(ceil)
UNARY(cos)
UNARY(cosh)
UNARY(erf)
UNARY(erfc)
UNARY(exp)
UNARY(expm1)
UNARY(floor)
UNARY(frac)
UNARY(lgamma)
UNARY(log)
UNARY(log10)
UNARY(log1p)
UNARY(log2)
UNARY(neg)
UNARY(reciprocal)
UNARY(round)
UNARY(rsqrt)
UNARY(sigmoid)
UNARY(sign)
UNARY(sin)
UNARY(sinh)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
UNARY(trunc)
#undef UNARY

void _foreach_zero_(TensorList self) {
  check_any("_foreach_zero_", self);
  write_each("_foreach_zero_", self, {}, [](const Tensor& t, std::size_t) { t.fill_(0); });
}

// `given`: what stands beside each tensor, of which `one` is that of the tensor at i.
#define PAIR(name, overload, takes, check, beside, one, call)                          \
  std::vector<Tensor> _foreach_##name##_##overload(TensorList self, takes) {           \
    check(_foreach_##name);                                                            \
    return each("_foreach_" #name, self,                                               \
                [&](const Tensor& t, std::size_t i) { return (void)i, t.call(one); }); \
  }                                                                                    \
  void _foreach_##name##__##overload(TensorList self, takes) {                         \
    check(_foreach_##name##_);                                                         \
    write_each("_foreach_" #name "_", self, beside,                                    \
               [&](const Tensor& t, std::size_t i) { (void)i, t.call##_(one); });      \
  }
#define CHECK_ANY(op) check_any(#op, self)
#define CHECK_LIST(op) check_list(#op, self, other)
#define CHECK_SCALARS(op) check_scalars(#op, self, scalars)
#define CHECK_NUMBER(op) check_number(#op, other)

#define NUMBERS(name, call)                                                                     \
  PAIR(name, Scalar, const Scalar& scalar, CHECK_ANY, Beside(), scalar, call)                   \
  PAIR(name, ScalarList, Scalars scalars, CHECK_SCALARS, (Beside{{}, {}, scalars}), scalars[i], \
       call)
#define LISTS(name, call) \
  NUMBERS(name, call)     \
  PAIR(name, List, TensorList other, CHECK_LIST, (Beside{other, {}, {}}), other[i], call)

NUMBERS(add, add)
NUMBERS(sub, sub)
LISTS(mul, mul)
LISTS(div, div)
LISTS(clamp_max, clamp_max)
LISTS(clamp_min, clamp_min)
NUMBERS(maximum, clamp_min)
NUMBERS(minimum, clamp_max)
PAIR(mul, Tensor, const Tensor& other, CHECK_NUMBER, Beside(), other, mul)
PAIR(div, Tensor, const Tensor& other, CHECK_NUMBER, Beside(), other, div)
#undef LISTS
#undef NUMBERS

#define WITH_FACTOR(name)                                                                 \
  std::vector<Tensor> _foreach_##name##_List(TensorList self, TensorList other,           \
                                             const Scalar& alpha) {                       \
    CHECK_LIST(_foreach_##name);                                                          \
    return each("_foreach_" #name, self,                                                  \
                [&](const Tensor& t, std::size_t i) { return t.name(other[i], alpha); }); \
  }                                                                                       \
  void _foreach_##name##__List(TensorList self, TensorList other, const Scalar& alpha) {  \
    CHECK_LIST(_foreach_##name##_);                                                       \
    write_each("_foreach_" #name "_", self, {other, {}, {}},                              \
               [&](const Tensor& t, std::size_t i) { t.name##_(other[i], alpha); });      \
  }
WITH_FACTOR(add)
WITH_FACTOR(sub)
#undef WITH_FACTOR

std::vector<Tensor> _foreach_add_Tensor(TensorList self, const Tensor& other, const Scalar& alpha) {
  CHECK_NUMBER(_foreach_add);
  return each("_foreach_add", self,
              [&](const Tensor& t, std::size_t) { return t.add(other, alpha); });
}
void _foreach_add__Tensor(TensorList self, const Tensor& other, const Scalar& alpha) {
  CHECK_NUMBER(_foreach_add_);
  write_each("_foreach_add_", self, {},
             [&](const Tensor& t, std::size_t) { t.add_(other, alpha); });
}

#define EXTREME(name)                                                                       \
  std::vector<Tensor> _foreach_##name##_List(TensorList self, TensorList other) {           \
    CHECK_LIST(_foreach_##name);                                                            \
    return each("_foreach_" #name, self,                                                    \
                [&](const Tensor& t, std::size_t i) { return tenon::name(t, other[i]); });  \
  }                                                                                         \
  void _foreach_##name##__List(TensorList self, TensorList other) {                         \
    CHECK_LIST(_foreach_##name##_);                                                         \
    write_each("_foreach_" #name "_", self, {other, {}, {}},                                \
               [&](const Tensor& t, std::size_t i) { t.copy_(tenon::name(t, other[i])); }); \
  }
EXTREME(maximum)
EXTREME(minimum)
#undef EXTREME

#define POWER(overload, takes, check, beside, one) \
  PAIR(pow, overload, takes, check, beside, one, pow)
#define CHECK_EXPONENTS(op) check_list(#op, self, exponent)
#define CHECK_POWERS(op) check_scalars(#op, self, exponent)
POWER(Scalar, const Scalar& exponent, CHECK_ANY, Beside(), exponent)
POWER(ScalarList, Scalars exponent, CHECK_POWERS, (Beside{{}, {}, exponent}), exponent[i])
POWER(List, TensorList exponent, CHECK_EXPONENTS, (Beside{exponent, {}, {}}), exponent[i])
#undef CHECK_POWERS
#undef CHECK_EXPONENTS
#undef POWER
#undef CHECK_NUMBER
#undef CHECK_SCALARS
#undef CHECK_LIST
#undef CHECK_ANY
#undef PAIR

std::vector<Tensor> _foreach_pow_ScalarAndTensor(const Scalar& self, TensorList exponent) {
  return each("_foreach_pow", exponent,
              [&](const Tensor& t, std::size_t) { return tenon::pow(self, t); });
}

// `given` is the argument behind the lists, `list` its numbers, one a position.
#define TERNARY(name, overload, argument, list)                                                 \
  std::vector<Tensor> _foreach_##name##_##overload(TensorList self, TensorList a, TensorList b, \
                                                   argument given) {                            \
    const char* const op = "_foreach_" #name;                                                   \
    const std::vector<Scalar> values = list;                                                    \
    check_ternary(op, self, a, b, values);                                                      \
    return each(op, self, [&](const Tensor& t, std::size_t i) {                                 \
      return tenon::name(t, a[i], b[i], values[i]);                                             \
    });                                                                                         \
  }
#define TERNARY_(name, overload, argument, list)                                           \
  void _foreach_##name##__##overload(TensorList self, TensorList a, TensorList b,          \
                                     argument given) {                                     \
    const char* const op = "_foreach_" #name "_";                                          \
    const std::vector<Scalar> values = list;                                               \
    check_ternary(op, self, a, b, values);                                                 \
    write_each(op, self, {a, b, values},                                                   \
               [&](const Tensor& t, std::size_t i) { t.name##_(a[i], b[i], values[i]); }); \
  }
#define TERNARIES(overload, argument, list)   \
  TERNARY(addcdiv, overload, argument, list)  \
  TERNARY_(addcdiv, overload, argument, list) \
  TERNARY(addcmul, overload, argument, list)  \
  TERNARY_(addcmul, overload, argument, list)
TERNARIES(ScalarList, Scalars, given.vec())
TERNARIES(Scalar, const Scalar&, repeated(self, given))
TERNARIES(Tensor, const Tensor&, numbers(op, self, given))
#undef TERNARIES
#undef TERNARY_
#undef TERNARY

std::vector<Tensor> _foreach_lerp_List(TensorList self, TensorList end, TensorList weights) {
  check_list("_foreach_lerp", self, end);
  check_list("_foreach_lerp", self, weights);
  return each("_foreach_lerp", self,
              [&](const Tensor& t, std::size_t i) { return t.lerp(end[i], weights[i]); });
}
std::vector<Tensor> _foreach_lerp_ScalarList(TensorList self, TensorList end, Scalars weights) {
  check_list("_foreach_lerp", self, end);
  check_scalars("_foreach_lerp", self, weights);
  return each("_foreach_lerp", self,
              [&](const Tensor& t, std::size_t i) { return t.lerp(end[i], weights[i]); });
}
std::vector<Tensor> _foreach_lerp_Scalar(TensorList self, TensorList end, const Scalar& weight) {
  return _foreach_lerp_ScalarList(self, end, std::vector<Scalar>(self.size(), weight));
}
void _foreach_lerp__List(TensorList self, TensorList end, TensorList weights) {
  check_list("_foreach_lerp_", self, end);
  check_list("_foreach_lerp_", self, weights);
  write_each("_foreach_lerp_", self, {end, weights, {}},
             [&](const Tensor& t, std::size_t i) { t.lerp_(end[i], weights[i]); });
}
void _foreach_lerp__ScalarList(TensorList self, TensorList end, Scalars weights) {
  check_list("_foreach_lerp_", self, end);
  check_scalars("_foreach_lerp_", self, weights);
  write_each("_foreach_lerp_", self, {end, {}, weights},
             [&](const Tensor& t, std::size_t i) { t.lerp_(end[i], weights[i]); });
}
void _foreach_lerp__Scalar(TensorList self, TensorList end, const Scalar& weight) {
  _foreach_lerp__ScalarList(self, end, std::vector<Scalar>(self.size(), weight));
}

std::vector<Tensor> _foreach_max(TensorList self) {
  return each("_foreach_max", self, [](const Tensor& t, std::size_t) { return t.max(); });
}
std::vector<Tensor> _foreach_norm_Scalar(TensorList self, const Scalar& ord,
                                         std::optional<ScalarType> dtype) {
  return each("_foreach_norm", self, [&](const Tensor& t, std::size_t) {
    return tenon::linalg_vector_norm(t, ord, {}, false, dtype);
  });
}
std::vector<Tensor> _foreach_powsum_Scalar(TensorList self, const Scalar& ord,
                                           std::optional<ScalarType> dtype) {
  return each("_foreach_powsum", self, [&](const Tensor& t, std::size_t) {
    return (dtype ? t.to(*dtype) : t).abs().pow(ord).sum();
  });
}
std::vector<Tensor> _foreach_clone(TensorList self, std::optional<MemoryFormat> format) {
  return each("_foreach_clone", self,
              [&](const Tensor& t, std::size_t) { return t.clone(format); });
}
std::vector<Tensor> _foreach_copy(TensorList self, TensorList src, bool non_blocking) {
  check_list("_foreach_copy", self, src);
  return each("_foreach_copy", self,
              [&](const Tensor& t, std::size_t i) { return t.copy(src[i], non_blocking); });
}
void _foreach_copy_(TensorList self, TensorList src, bool non_blocking) {
  check_list("_foreach_copy_", self, src);
  write_each("_foreach_copy_", self, {src, {}, {}},
             [&](const Tensor& t, std::size_t i) { t.copy_(src[i], non_blocking); });
}
std::vector<Tensor> _foreach_mm(TensorList self, TensorList mat2) {
  check_list("_foreach_mm", self, mat2);
  return each("_foreach_mm", self, [&](const Tensor& t, std::size_t i) { return t.mm(mat2[i]); });
}

void _amp_foreach_non_finite_check_and_unscale_(TensorList self, const Tensor& found_inf,
                                                const Tensor& inv_scale) {
  const char* name = "_amp_foreach_non_finite_check_and_unscale_";
  TENON_CHECK(inv_scale.numel() == 1 && found_inf.numel() == 1, ValueError, name,
              ": inv_scale and found_inf must be tensors of 1 element");
  const NoGradGuard none;
  Tensor finite = tenon::ones({}, found_inf.options().dtype(kBool));
  for (const Tensor& t : self) {
    TENON_CHECK(t.is_floating_point(), TypeError, name, ": expected floating tensors, got ",
                toString(t.scalar_type()));
    finite = finite.logical_and(t.isfinite().all());
  }
  const Tensor found = found_inf.masked_fill(finite.logical_not(), 1);
  write_each(name, self, {}, [&](const Tensor& t, std::size_t) {
    t.mul_(inv_scale.to(t.scalar_type()).reshape({}));
  });
  found_inf.copy_(found);
}
Tensor _amp_update_scale_(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                          double growth, double backoff, int64_t interval) {
  const NoGradGuard none;
  TENON_CHECK(self.numel() == 1 && growth_tracker.numel() == 1 && found_inf.numel() == 1,
              ValueError,
              "_amp_update_scale_: scale, growth tracker and found_inf have one element each, got ",
              self.numel(), ", ", growth_tracker.numel(), " and ", found_inf.numel());
  TENON_CHECK(self.is_floating_point() && isIntegralType(growth_tracker.scalar_type()), TypeError,
              "_amp_update_scale_: expected a floating scale and a whole growth tracker, got ",
              toString(self.scalar_type()), " and ", toString(growth_tracker.scalar_type()));
  if (found_inf.item<double>() != 0) {
    growth_tracker.fill_(0);
    return self.mul_(backoff);
  }
  growth_tracker.add_(1);
  if (growth_tracker.item<int64_t>() < interval) return self;
  growth_tracker.fill_(0);
  const Tensor grown = self.mul(growth);
  return grown.isfinite().all().item<bool>() ? self.copy_(grown) : self;
}

}  // namespace tenon::composite
