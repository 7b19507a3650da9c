// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Options of factories, generators and the small types that signatures use.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/dtype.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar.h"
#include "tenon/runtime/array_ref.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/random.h"

namespace tenon {

// The default of `keepdim`, which tenon/compat/backcompat.h watches: where that is included first,
// a call that relies on it is seen.
#ifndef TENON_KEEPDIM_DEFAULT
#define TENON_KEEPDIM_DEFAULT(function) false
#endif

class Tensor;
enum class Backend : uint8_t;  // compat/backend.h
using TensorList = ArrayRef<Tensor>;
using Dtype = ScalarType;
// The slot that types.cpp reserves for it.
inline constexpr Layout kSparse = static_cast<Layout>(1);
using std::nullopt;
using std::optional;

// What a factory makes: each part may be left open. Parts are set by functions that return the
// changed options.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType d) : dtype_(d) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  // "cuda:1". A template, so that the literal 0 is not a null string and arange(0, 5, 0) has one
  // meaning.
  template <class T, class = std::enable_if_t<std::is_convertible_v<T&&, std::string_view>>>
  TensorOptions(T&& device) : device_(Device(std::string_view(device))) {}
  TensorOptions(Layout l) : layout_(l) {}
  TensorOptions(MemoryFormat f) : memory_format_(f) {}

  TensorOptions dtype(std::optional<ScalarType> d) const {
    auto o = *this;
    o.dtype_ = d;
    return o;
  }
  TensorOptions device(std::optional<Device> d) const {
    auto o = *this;
    o.device_ = d;
    return o;
  }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  TensorOptions device(const char* d) const { return device(Device(d)); }
  TensorOptions device_index(DeviceIndex i) const { return device(Device(kCUDA, i)); }
  TensorOptions layout(std::optional<Layout> l) const {
    auto o = *this;
    o.layout_ = l;
    return o;
  }
  TensorOptions requires_grad(std::optional<bool> r) const {
    auto o = *this;
    o.requires_grad_ = r;
    return o;
  }
  TensorOptions pinned_memory(std::optional<bool> p) const {
    auto o = *this;
    o.pinned_ = p;
    return o;
  }
  TensorOptions memory_format(std::optional<MemoryFormat> f) const {
    auto o = *this;
    o.memory_format_ = f;
    return o;
  }

  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_.value_or(false); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_.has_value(); }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }
  // An operator's own argument wins.
  std::optional<MemoryFormat> memory_format_opt(std::optional<MemoryFormat> argument) const {
    return argument ? argument : memory_format_;
  }
  bool is_sparse() const { return layout() == kSparse; }
  // These options where set, those of `o` elsewhere overridden by `o`.
  TensorOptions merge_in(const TensorOptions& o) const {
    TensorOptions r = *this;
    if (o.dtype_) r.dtype_ = o.dtype_;
    if (o.device_) r.device_ = o.device_;
    if (o.layout_) r.layout_ = o.layout_;
    if (o.requires_grad_) r.requires_grad_ = o.requires_grad_;
    if (o.pinned_) r.pinned_ = o.pinned_;
    if (o.memory_format_) r.memory_format_ = o.memory_format_;
    return r;
  }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> requires_grad_;
  std::optional<bool> pinned_;
  std::optional<MemoryFormat> memory_format_;
};

// "strided", "sparse_coo", or what a plugin calls its own; opens that plugin. ValueError if there
// is none.
TENON_API Layout layout_from_name(std::string_view name);
TENON_API std::string_view toString(Layout l);
// "tenon.DoubleTensor", "tenon.cuda.sparse.DoubleTensor": what Tensor::type() says of a tensor with
// these options. A layout is known by the first word of its name.
TENON_API std::string type_string(const TensorOptions& o);
// And back. ValueError for any other string, and for a device that no plugin provides.
TENON_API TensorOptions options_from_type(std::string_view type);
// set_default_dtype by such a string. TypeError unless it is of strided tensors of a floating dtype
// on the host.
TENON_API void set_default_tensor_type(std::string_view type);

inline TensorOptions dtype(ScalarType d) { return TensorOptions().dtype(d); }
inline TensorOptions device(Device d) { return TensorOptions().device(d); }
inline TensorOptions device_index(DeviceIndex i) { return TensorOptions().device_index(i); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions().memory_format(f); }

// Device type, layout and dtype in one, as libtorch's older programs speak of a tensor's type.
// There is one for each combination, which lives as long as the process.
class TENON_API DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(const DeprecatedTypeProperties&) = delete;
  DeviceType device_type() const noexcept { return device_; }
  Layout layout() const noexcept { return layout_; }
  ScalarType scalarType() const noexcept { return dtype_; }
  ScalarType typeMeta() const noexcept { return dtype_; }
  Backend backend() const;  // Undefined for what has none
  bool is_cuda() const noexcept { return device_ == DeviceType::CUDA; }
  bool is_sparse() const noexcept { return layout_ == kSparse; }
  std::string toString() const;  // "tenon.cuda.FloatTensor"
  operator std::string() const { return toString(); }

  DeprecatedTypeProperties& toBackend(Backend b) const;
  DeprecatedTypeProperties& toScalarType(ScalarType dtype) const;
  DeprecatedTypeProperties& cpu() const;
  DeprecatedTypeProperties& cuda() const;
  TensorOptions options(DeviceIndex index = -1) const;
  // ValueError for a device of another type.
  TensorOptions options(std::optional<Device> device) const;
  operator TensorOptions() const { return options(); }
  // `src` as one of this type, on `device` if it is given.
  Tensor copy(const Tensor& src, bool non_blocking = false,
              std::optional<Device> device = {}) const;

  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return &a == &b;
  }
  friend bool operator!=(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return &a != &b;
  }
  friend bool operator==(const DeprecatedTypeProperties& a, std::string_view text) {
    return a.toString() == text;
  }
  TENON_API friend std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t);

 private:
  DeprecatedTypeProperties(DeviceType device, Layout layout, ScalarType dtype)
      : device_(device), layout_(layout), dtype_(dtype) {}
  TENON_API friend DeprecatedTypeProperties& getDeprecatedTypeProperties(DeviceType, Layout,
                                                                         ScalarType);
  DeviceType device_;
  Layout layout_;
  ScalarType dtype_;
};

TENON_API DeprecatedTypeProperties& getDeprecatedTypeProperties(DeviceType device, Layout layout,
                                                                ScalarType dtype);

// A source of random numbers; copies share its state.
class TENON_API Generator {
 public:
  Generator() = default;
  explicit Generator(core::Ref<core::GeneratorImpl> impl) : impl_(std::move(impl)) {}
  bool defined() const { return static_cast<bool>(impl_); }
  Device device() const { return impl("device").device(); }
  void set_current_seed(uint64_t seed) { impl("set_current_seed").set_seed(seed); }
  uint64_t current_seed() const { return impl("current_seed").seed(); }
  uint64_t seed();  // a new one from the system's entropy; returned
  void set_offset(uint64_t offset) { impl("set_offset").set_offset(offset); }
  uint64_t get_offset() const { return impl("get_offset").offset(); }
  Tensor get_state() const;  // 16 bytes as uint8
  void set_state(const Tensor& state);
  Generator clone() const;
  core::GeneratorImpl* unsafeGetGeneratorImpl() const { return impl_.get(); }
  const core::Ref<core::GeneratorImpl>& getIntrusivePtr() const { return impl_; }
  // For a program that draws several times in one go; Tenon's own draws do not wait for it.
  std::mutex& mutex() const { return impl("mutex").mutex(); }
  bool operator==(const Generator& o) const { return impl_ == o.impl_; }

 private:
  core::GeneratorImpl& impl(const char* method) const {
    TENON_CHECK(impl_, ValueError, "Generator.", method,
                ": the generator is undefined; make_generator() makes one");
    return *impl_;
  }
  core::Ref<core::GeneratorImpl> impl_;
};

// A new generator of a device, or the one that is used if none is given.
TENON_API Generator make_generator(Device device, uint64_t seed = 0);
TENON_API Generator default_generator(Device device = Device(kCPU));
TENON_API void manual_seed(uint64_t seed);

// What is drawn or seeded while this lives leaves no trace in the default generators of the host
// and of `devices`: it puts back what they were.
class TENON_API ForkRng {
 public:
  explicit ForkRng(const std::vector<Device>& devices = {});
  ~ForkRng();
  ForkRng(const ForkRng&) = delete;
  ForkRng& operator=(const ForkRng&) = delete;

 private:
  struct State {
    Generator generator;
    uint64_t seed, offset;
  };
  std::vector<State> states_;
};

TENON_API std::string toString(const TensorOptions& options);

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

}  // namespace tenon
