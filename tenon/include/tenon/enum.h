// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The named choices of option structs: kReLU, kMean, kFanIn, ... Each name is a type of its own, so
// that an option takes only the names that it knows; OneOf holds which of them was given.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "tenon/runtime/export.h"

// clang-format off
#define TENON_FORALL_ENUM_NAMES(_)                                                                       \
  _(Linear) _(Conv1D) _(Conv2D) _(Conv3D) _(ConvTranspose1D) _(ConvTranspose2D) _(ConvTranspose3D)       \
  _(Sigmoid) _(Tanh) _(ReLU) _(GELU) _(SiLU) _(Mish) _(LeakyReLU) _(SELU) _(FanIn) _(FanOut)             \
  _(Constant) _(Reflect) _(Replicate) _(Circular) _(Nearest) _(Bilinear) _(Bicubic) _(Trilinear)         \
  _(Area) _(NearestExact) _(Sum) _(Mean) _(Max) _(None) _(BatchMean) _(Zeros) _(Border) _(Reflection)    \
  _(RNN_TANH) _(RNN_RELU) _(LSTM) _(GRU) _(Valid) _(Same)
// clang-format on

namespace tenon {
namespace enumtype {

enum class Name : uint8_t {
#define TENON_ENUM_NAME(n) n,
  TENON_FORALL_ENUM_NAMES(TENON_ENUM_NAME)
#undef TENON_ENUM_NAME
};

#define TENON_ENUM_TYPE(n)                 \
  struct k##n {                            \
    static constexpr Name value = Name::n; \
  };
TENON_FORALL_ENUM_NAMES(TENON_ENUM_TYPE)
#undef TENON_ENUM_TYPE

TENON_API const char* text(Name name);

// One of the types in Allowed; anything else does not compile.
template <class... Allowed>
class OneOf {
 public:
  template <class T, class = std::enable_if_t<(std::is_same_v<T, Allowed> || ...)>>
  constexpr OneOf(T) : name_(T::value) {}
  constexpr Name name() const { return name_; }
  template <class T>
  constexpr bool is() const {
    return name_ == T::value;
  }

 private:
  Name name_;
};

template <class... A>
constexpr bool operator==(OneOf<A...> a, OneOf<A...> b) {
  return a.name() == b.name();
}
template <class... A>
constexpr bool operator!=(OneOf<A...> a, OneOf<A...> b) {
  return a.name() != b.name();
}

// "kMean" for kMean, and so on.
template <class... A>
std::string get_enum_name(OneOf<A...> v) {
  return std::string("k") + text(v.name());
}

using Reduction = OneOf<kNone, kMean, kSum>;
// The code that operator schemas use: 0 none, 1 mean, 2 sum.
inline int64_t reduction_get_enum(Reduction r) {
  return r.is<kNone>() ? 0 : (r.is<kMean>() ? 1 : 2);
}

}  // namespace enumtype

#define TENON_ENUM_CONSTANT(n) inline constexpr enumtype::k##n k##n{};
TENON_FORALL_ENUM_NAMES(TENON_ENUM_CONSTANT)
#undef TENON_ENUM_CONSTANT

}  // namespace tenon
