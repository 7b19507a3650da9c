// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/dtype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace core {

std::atomic<bool> g_converted_in_use{false};

namespace {
template <class T, class F>
constexpr std::array<T, kMaxDtypes> table(F value) {
  std::array<T, kMaxDtypes> out{};
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  out[id] = value(tn_dtype{code, bits, 1}, DtypeClass::cls);
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
  return out;
}
}  // namespace

// Filled before any code runs, since other libraries' constructors may make tensors.
std::array<uint8_t, kMaxDtypes> g_item_size =
    table<uint8_t>([](tn_dtype t, DtypeClass) { return static_cast<uint8_t>(t.bits / 8); });
std::array<tn_dtype, kMaxDtypes> g_abi_dtype =
    table<tn_dtype>([](tn_dtype t, DtypeClass) { return t; });
std::array<DtypeClass, kMaxDtypes> g_dtype_class =
    table<DtypeClass>([](tn_dtype, DtypeClass c) { return c; });

namespace {

// Ids of foreign dtypes, by class: a mask that says "floating" can hold dtypes that are not
// registered yet.
struct Range {
  int begin, end;
};
constexpr Range foreign_range(DtypeClass c) {
  switch (c) {
    case DtypeClass::Floating:
      return {64, 96};
    case DtypeClass::Integral:
      return {96, 112};
    case DtypeClass::Bool:
      return {112, 116};
    default:
      return {116, 128};
  }
}

struct Registry {
  DtypeInfo info[kMaxDtypes];
  std::string enumerator[kMaxDtypes];
  std::atomic<bool> known[kMaxDtypes] = {};
  std::atomic<const tn_ext_dtype*> ext[kMaxDtypes] = {};
  LeafMutex lock;

  Registry() {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format)                         \
  info[id] =                                                                                   \
      DtypeInfo{#name, g_abi_dtype[id], DtypeClass::cls, bits, (code) != TN_UINT, (bits) / 8}; \
  enumerator[id] = #Enum;                                                                      \
  known[id] = true;
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
  }
};

Registry& dtype_registry() {
  static Registry& registry = *new Registry;  // never destroyed: tensors may outlive statics
  return registry;
}
// At load: functions that must not throw ask it.
[[maybe_unused]] const Registry& g_registry_at_load = dtype_registry();

int find(std::string_view name) {
  Registry& registry = dtype_registry();
  for (int i = 0; i < kMaxDtypes; ++i) {
    if (registry.known[i].load(std::memory_order_acquire) && registry.info[i].name == name)
      return i;
  }
  return -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void add_class(DtypeMask& mask, DtypeClass c, bool converted) {
  for (ScalarType t : kBuiltInDtypes) {
    if (dtype_class(t) == c) mask.add(t);
  }
  if (!converted) return;
  for (ScalarType t : kStorageDtypes) {
    if (dtype_class(t) == c) mask.add(t);
  }
  Range range = foreign_range(c);
  for (int i = range.begin; i < range.end; ++i) mask.add(static_cast<ScalarType>(i));
}

void add_word(DtypeMask& mask, std::string_view word, bool converted) {
  bool all = word == "all", number = all || word == "number";
  if (number || word == "floating") add_class(mask, DtypeClass::Floating, converted);
  if (number || word == "integral") add_class(mask, DtypeClass::Integral, converted);
  if (all || word == "bool") add_class(mask, DtypeClass::Bool, converted);
  if ((all && converted) || word == "complex") add_class(mask, DtypeClass::Complex, converted);
  if (number || word == "floating" || word == "integral" || word == "bool" || word == "complex")
    return;
  mask.add(dtype_from_name(word));
}

ScalarType signed_of_size(uint32_t bytes, ScalarType a, ScalarType b) {
  switch (bytes) {
    case 2:
      return ScalarType::Short;
    case 4:
      return ScalarType::Int;
    case 8:
      return ScalarType::Long;
    default:
      throw TypeError(join("no dtype holds both ", dtype_name(a), " and ", dtype_name(b)));
  }
}

ScalarType promote_integral(ScalarType a, const DtypeInfo& x, ScalarType b, const DtypeInfo& y) {
  if (x.is_signed == y.is_signed) return x.rank >= y.rank ? a : b;
  bool b_signed = y.is_signed;
  const DtypeInfo& s = b_signed ? y : x;
  const DtypeInfo& u = b_signed ? x : y;
  if (s.size > u.size) return b_signed ? b : a;
  return signed_of_size(u.size * 2, a, b);
}

}  // namespace

bool dtype_known(ScalarType dtype) noexcept {
  int id = static_cast<int>(dtype);
  return id >= 0 && dtype_registry().known[id].load(std::memory_order_acquire);
}

const DtypeInfo& dtype_info(ScalarType dtype) {
  TENON_CHECK(dtype_known(dtype), TypeError, "dtype number ", static_cast<int>(dtype),
              " is not known to this build");
  return dtype_registry().info[static_cast<int>(dtype)];
}

ScalarType dtype_from_name(std::string_view name) {
  int id = find(name);
  if (id < 0) {  // a plugin that is not open yet may bring it
    open_for_unknown_name();
    id = find(name);
  }
  TENON_CHECK(id >= 0, TypeError, "invalid type '", name, "': no dtype has this name");
  return static_cast<ScalarType>(id);
}

// A converted dtype that is asked for is that of tensors.
ScalarType dtype_from_abi(tn_dtype dtype) {
  for (int i = 0; i < kMaxDtypes; ++i) {
    if (g_abi_dtype[i].code == dtype.code && g_abi_dtype[i].bits == dtype.bits &&
        g_abi_dtype[i].lanes == dtype.lanes && g_item_size[i] != 0) {
      const auto found = static_cast<ScalarType>(i);
      if (TENON_UNLIKELY(converted_dtype(found)))
        g_converted_in_use.store(true, std::memory_order_relaxed);
      return found;
    }
  }
  throw TypeError(join("no dtype has code ", int{dtype.code}, ", ", int{dtype.bits}, " bits, ",
                       int{dtype.lanes}, " lanes"));
}

ScalarType register_dtype(DtypeInfo info) {
  TENON_CHECK(!info.name.empty() && info.name.size() <= 64, ValueError,
              "a dtype needs a name of 1 to 64 bytes");
  TENON_CHECK(info.size >= 1 && info.size <= 31, ValueError, "dtype '", info.name,
              "': size must be 1 to 31 bytes, got ", info.size);
  Registry& registry = dtype_registry();
  std::lock_guard hold(registry.lock);
  if (int id = find(info.name); id >= 0) {
    TENON_CHECK(id >= TN_DTYPE_FOREIGN && registry.info[id].size == info.size &&
                    registry.info[id].cls == info.cls,
                ValueError, "dtype '", info.name,
                "' is registered already with another size or class");
    return static_cast<ScalarType>(id);
  }
  Range range = foreign_range(info.cls);
  int id = range.begin;
  while (id < range.end && registry.known[id].load(std::memory_order_relaxed)) ++id;
  TENON_CHECK(id < range.end, ValueError, "dtype '", info.name, "': no id is left for its class");
  info.abi = {static_cast<uint8_t>(id), static_cast<uint8_t>(8 * info.size), 1};
  g_item_size[id] = static_cast<uint8_t>(info.size);
  g_abi_dtype[id] = info.abi;
  g_dtype_class[id] = info.cls;
  registry.enumerator[id] = info.name;
  registry.info[id] = std::move(info);
  registry.known[id].store(true, std::memory_order_release);
  return static_cast<ScalarType>(id);
}

ScalarType register_dtype(const tn_ext_dtype* ext) {
  const std::string name(ext->name.ptr ? ext->name.ptr : "", ext->name.len);
  const std::string_view cls(ext->dtype_class.ptr ? ext->dtype_class.ptr : "",
                             ext->dtype_class.len);
  const bool floating = cls == "floating", integral = cls == "integral";
  TENON_CHECK(floating || integral || cls == "bool", ValueError, "dtype '", name,
              "': unknown class '", cls, "' (floating, integral, bool)");
  TENON_CHECK(ext->to_float && ext->from_float, ValueError, "dtype '", name,
              "': it lacks a conversion");
  TENON_CHECK(ext->rank <= 255, ValueError, "dtype '", name, "': rank must be at most 255, got ",
              ext->rank);
  const DtypeClass c = floating   ? DtypeClass::Floating
                       : integral ? DtypeClass::Integral
                                  : DtypeClass::Bool;
  const ScalarType dtype =
      register_dtype(DtypeInfo{name, {}, c, static_cast<uint8_t>(ext->rank), true, ext->size});
  const tn_ext_dtype* none = nullptr;
  TENON_CHECK(dtype_registry().ext[static_cast<int>(dtype)].compare_exchange_strong(none, ext) ||
                  none == ext,
              ValueError, "dtype '", name, "' is registered already");
  return dtype;
}

void unregister_dtype(ScalarType dtype) noexcept {
  dtype_registry().ext[static_cast<int>(dtype)].store(nullptr, std::memory_order_release);
}

const tn_ext_dtype* dtype_ext(ScalarType dtype) noexcept {
  return dtype_registry().ext[static_cast<int>(dtype) & 127].load(std::memory_order_acquire);
}

ScalarType computing_dtype(ScalarType dtype) {
  if (!converted_dtype(dtype)) return dtype;
  switch (dtype_class(dtype)) {
    case DtypeClass::Integral:
      return ScalarType::Long;
    case DtypeClass::Complex:
      return ScalarType::ComplexFloat;
    default:
      return ScalarType::Float;
  }
}

DtypeMask parse_dtype_mask(std::string_view text, bool converted) {
  DtypeMask mask;
  while (!text.empty()) {
    std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = trimmed(text.substr(0, comma));
    if (!word.empty()) add_word(mask, word, converted);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return mask;
}

}  // namespace core

namespace {
// The complex dtype whose parts hold those of `c` and the numbers of a real dtype.
ScalarType promote_complex(ScalarType c, ScalarType real) {
  if (real == kDouble) return kComplexDouble;
  return c == kComplexHalf && isFloatingType(real) && real != kHalf && elementSize(real) > 1
             ? kComplexFloat
             : c;
}
}  // namespace

// Class, then width; two of one width that differ go to the next wider one that holds both.
ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (const auto ca = core::dtype_class(a), cb = core::dtype_class(b); ca != cb) {
    if (ca == core::DtypeClass::Complex) return promote_complex(a, b);
    if (cb == core::DtypeClass::Complex) return promote_complex(b, a);
    return ca > cb ? a : b;
  }
  const core::DtypeInfo& x = core::dtype_info(a);
  const core::DtypeInfo& y = core::dtype_info(b);
  if (x.cls == core::DtypeClass::Integral) return core::promote_integral(a, x, b, y);
  if (x.rank != y.rank || x.cls != core::DtypeClass::Floating) return x.rank >= y.rank ? a : b;
  return x.size < 4 ? ScalarType::Float : ScalarType::Double;
}

const char* toString(ScalarType dtype) {
  if (!core::dtype_known(dtype)) return "Undefined";
  return core::dtype_registry().enumerator[static_cast<int>(dtype)].c_str();
}

namespace {
std::atomic<ScalarType> g_default_dtype{ScalarType::Float};
}

ScalarType get_default_dtype() noexcept { return g_default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(ScalarType dtype) {
  TENON_CHECK(isFloatingType(dtype), TypeError, "the default dtype must be floating, got ",
              dtype_name(dtype));
  g_default_dtype.store(dtype, std::memory_order_relaxed);
}

}  // namespace tenon
