// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A lambda for each of a set of dtypes, with scalar_t in it. The dtype that fits none throws
// NotImplementedError.
#pragma once

#include <ATen/core/DeprecatedTypeProperties.h>
#include <c10/util/Exception.h>
#include <torch/namespaces.h>

#include "tenon/core/dtype.h"

namespace tenon::compat {

template <ScalarType t>
struct CppType;
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  template <>                                                          \
  struct CppType<ScalarType::Enum> {                                   \
    using type = ctype;                                                \
  };
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE

// Older programs give a tensor's type().
inline ScalarType dispatched_type(ScalarType type) { return type; }
inline ScalarType dispatched_type(const DeprecatedTypeProperties& type) {
  return type.scalarType();
}

}  // namespace tenon::compat

#define AT_DISPATCH_CASE(enum_type, ...)                                                  \
  case enum_type: {                                                                       \
    using scalar_t [[maybe_unused]] = typename ::tenon::compat::CppType<enum_type>::type; \
    return __VA_ARGS__();                                                                 \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                     \
  [&] {                                                                                         \
    const auto at_dispatch_type = ::tenon::compat::dispatched_type(TYPE);                       \
    switch (at_dispatch_type) {                                                                 \
      __VA_ARGS__                                                                               \
      default:                                                                                  \
        throw ::tenon::NotImplementedError(::tenon::core::join(                                 \
            "\"", NAME, "\" not implemented for '", ::tenon::toString(at_dispatch_type), "'")); \
    }                                                                                           \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                 \
  AT_DISPATCH_CASE(::tenon::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)               \
  AT_DISPATCH_CASE(::tenon::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tenon::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)      \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(::tenon::ScalarType::Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(EXTRA, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...)            \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                    \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE( \
                         EXTRA1, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(EXTRA, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                          \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...)                                \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                   \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(EXTRA1, EXTRA2, EXTRA3, TYPE, NAME, ...)                        \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                   \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__)                                     \
                             AT_DISPATCH_CASE(EXTRA3, __VA_ARGS__))

#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                         \
  AT_DISPATCH_CASE(::tenon::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(EXTRA, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                         \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...)            \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                           \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE( \
                         EXTRA1, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(EXTRA1, EXTRA2, EXTRA3, TYPE, NAME, ...)         \
  AT_DISPATCH_SWITCH(                                                                           \
      TYPE, NAME,                                                                               \
      AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA1, __VA_ARGS__) \
          AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA3, __VA_ARGS__))
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)       \
  AT_DISPATCH_CASE(::tenon::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tenon::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(EXTRA1, EXTRA2, EXTRA3, TYPE, NAME, ...)         \
  AT_DISPATCH_SWITCH(                                                                    \
      TYPE, NAME,                                                                        \
      AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA1, __VA_ARGS__) \
          AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(EXTRA, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(EXTRA, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                              \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...)            \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE( \
                         EXTRA1, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))

// With index_t, for the dtypes of indices.
#define TENON_COMPAT_INDEX_CASE(enum_type, ...)                                          \
  case enum_type: {                                                                      \
    using index_t [[maybe_unused]] = typename ::tenon::compat::CppType<enum_type>::type; \
    return __VA_ARGS__();                                                                \
  }
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                    \
                     TENON_COMPAT_INDEX_CASE(::tenon::ScalarType::Int, __VA_ARGS__) \
                         TENON_COMPAT_INDEX_CASE(::tenon::ScalarType::Long, __VA_ARGS__))
