// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dtypes. Those of every build are in dtypes.def, in which kernels compute, and storage_dtypes.def;
// plugins may register more (ids from 64).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/abi/ext/dtype.h"
#include "tenon/abi/tensor.h"
#include "tenon/core/complex.h"
#include "tenon/core/float8.h"
#include "tenon/core/half.h"
#include "tenon/runtime/export.h"

namespace tenon {

// The numbers are c10's: programs switch on them. A foreign dtype is a value from 64.
enum class ScalarType : int8_t {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) Enum = id,
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
  Undefined = 46,
};

namespace core {

enum class DtypeClass : uint8_t { Bool, Integral, Floating, Complex };

struct DtypeInfo {
  std::string name;
  tn_dtype abi;
  DtypeClass cls;
  // Within the class: the width in bits, or a place among those; the higher wins a promotion.
  uint8_t rank;
  bool is_signed;
  uint32_t size;  // bytes
};

inline constexpr int kMaxDtypes = 128;

// Those of every build that kernels compute in: bool, the integral, floating and complex ones, each
// class by width.
inline constexpr ScalarType kBuiltInDtypes[] = {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) ScalarType::Enum,
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
};
inline constexpr ScalarType kStorageDtypes[] = {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) ScalarType::Enum,
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
};

// Whether operators compute in another dtype, if no kernel names this one: storage-only dtypes and
// those of plugins.
TENON_INLINE constexpr bool converted_dtype(ScalarType t) {
  constexpr uint32_t kNative = 0
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) | 1u << (id)
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
      ;
  return static_cast<uint8_t>(t) >= 32 || (kNative >> static_cast<uint8_t>(t) & 1u) == 0;
}
// That dtype: int64, float32 or complex64 by class; `t` itself where kernels compute in it.
TENON_API ScalarType computing_dtype(ScalarType t);

// What is known of a dtype. Throws TypeError for an id that nobody registered.
TENON_API const DtypeInfo& dtype_info(ScalarType t);
TENON_API bool dtype_known(ScalarType t) noexcept;
TENON_API ScalarType dtype_from_name(std::string_view name);  // TypeError if unknown
TENON_API ScalarType dtype_from_abi(tn_dtype t);
// The next id of its class from 64 on; `info.abi` is filled in. The same name and size again gives
// the same id. ValueError when the name has another size or class, or the class is full.
TENON_API ScalarType register_dtype(DtypeInfo info);
// The same for a plugin's, with its conversions, which must live until unregister_dtype. The name
// stays taken.
TENON_API ScalarType register_dtype(const tn_ext_dtype* ext);
TENON_API void unregister_dtype(ScalarType t) noexcept;
TENON_API const tn_ext_dtype* dtype_ext(ScalarType t) noexcept;  // null: no plugin converts it now
// Whether there was a tensor of a converted dtype: only then can a kernel be handed a dtype that it
// does not know.
extern TENON_API std::atomic<bool> g_converted_in_use;

// Written once an id, at registration.
extern TENON_API std::array<uint8_t, kMaxDtypes> g_item_size;  // zero for an unknown id
extern TENON_API std::array<tn_dtype, kMaxDtypes> g_abi_dtype;
extern TENON_API std::array<DtypeClass, kMaxDtypes> g_dtype_class;

inline uint32_t item_size(ScalarType t) { return g_item_size[static_cast<uint8_t>(t) & 127]; }
inline tn_dtype abi_dtype(ScalarType t) { return g_abi_dtype[static_cast<uint8_t>(t) & 127]; }
// dtype_info(t).cls for less.
TENON_INLINE DtypeClass dtype_class(ScalarType t) {
  return TENON_LIKELY(item_size(t) != 0) ? g_dtype_class[static_cast<uint8_t>(t) & 127]
                                         : dtype_info(t).cls;
}

// A set of dtypes, by id.
struct DtypeMask {
  uint64_t bits[2] = {0, 0};
  void add(ScalarType t) {
    bits[static_cast<uint8_t>(t) >> 6 & 1] |= uint64_t{1} << (static_cast<uint8_t>(t) & 63);
  }
  bool has(ScalarType t) const {
    return bits[static_cast<uint8_t>(t) >> 6 & 1] >> (static_cast<uint8_t>(t) & 63) & 1;
  }
};

// "all", "number", "floating", "integral", "complex", "bool", names, joined by commas; numbers are
// real. With `converted`, storage-only dtypes and those of plugins join by class, later ones too
// (their ids are kept apart by class): right for an operator, wrong for a kernel, which can only
// read what it knows or names. For the same reason "all" of a kernel means the real dtypes and
// bool, and those of kernels that know complex numbers say so.
TENON_API DtypeMask parse_dtype_mask(std::string_view text, bool converted = true);

}  // namespace core

TENON_API ScalarType promote_types(ScalarType a, ScalarType b);
TENON_API const char* toString(ScalarType t);  // "Float"; a foreign dtype's own name
inline std::string_view dtype_name(ScalarType t) { return core::dtype_info(t).name; }  // "float32"
inline std::size_t elementSize(ScalarType t) { return core::item_size(t); }

inline bool isFloatingType(ScalarType t) {
  return core::dtype_class(t) == core::DtypeClass::Floating;
}
inline bool isComplexType(ScalarType t) {
  return core::dtype_class(t) == core::DtypeClass::Complex;
}
// The dtype of the parts of complex numbers; a real dtype as it is.
inline ScalarType toRealValueType(ScalarType t) {
  return t == ScalarType::ComplexFloat    ? ScalarType::Float
         : t == ScalarType::ComplexDouble ? ScalarType::Double
         : t == ScalarType::ComplexHalf   ? ScalarType::Half
                                          : t;
}
// The complex dtype that holds numbers of t: complex128 for double, complex64 for the others.
inline ScalarType toComplexType(ScalarType t) {
  return t == ScalarType::Double || t == ScalarType::ComplexDouble ? ScalarType::ComplexDouble
                                                                   : ScalarType::ComplexFloat;
}
inline bool isIntegralType(ScalarType t, bool include_bool = false) {
  auto c = core::dtype_class(t);
  return c == core::DtypeClass::Integral || (include_bool && c == core::DtypeClass::Bool);
}

#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  inline constexpr ScalarType k##Enum = ScalarType::Enum;
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
// The other names of libtorch; kBool and kBFloat16 have one only.
inline constexpr ScalarType kUInt8 = ScalarType::Byte, kInt8 = ScalarType::Char,
                            kInt16 = ScalarType::Short, kInt32 = ScalarType::Int,
                            kInt64 = ScalarType::Long, kFloat16 = ScalarType::Half,
                            kFloat32 = ScalarType::Float, kFloat64 = ScalarType::Double,
                            kComplex32 = ScalarType::ComplexHalf,
                            kComplex64 = ScalarType::ComplexFloat,
                            kComplex128 = ScalarType::ComplexDouble;

template <class T>
struct CppTypeToScalarType;
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  template <>                                                          \
  struct CppTypeToScalarType<ctype> {                                  \
    static constexpr ScalarType value = ScalarType::Enum;              \
  };
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE

// The dtype of factories without one; float32 at start. Thread-safe; TypeError unless floating.
TENON_API ScalarType get_default_dtype() noexcept;
TENON_API void set_default_dtype(ScalarType t);

}  // namespace tenon
