// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The tensor that programs hold: a counted handle on data and, where asked for, on its history.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <tuple>
#include <utility>

#include "tenon/autograd/mode.h"
#include "tenon/core/tensor_impl.h"
#include "tenon/runtime/sym_int.h"
#include "tenon/tensor_accessor.h"
#include "tenon/types.h"

namespace tenon {

class Stream;
enum class QScheme : uint8_t;  // quantized.h
namespace autograd {
class Node;
struct Edge;
}  // namespace autograd
namespace indexing {
struct TensorIndex;
}
namespace detail {
class TensorData;
}

// Where memory is: an address, or the handle of an opaque device. It owns nothing.
class DataPtr {
 public:
  DataPtr() = default;
  DataPtr(void* data, Device device) : DataPtr(data, nullptr, device) {}
  DataPtr(void* data, void* context, Device device)
      : data_(data), context_(context), device_(device) {}
  void* get() const { return data_; }
  void* mutable_get() const { return data_; }
  void* get_context() const { return context_; }  // what the deleter is given
  Device device() const { return device_; }
  operator void*() const { return data_; }
  template <class T>
  explicit operator T*() const {
    return static_cast<T*>(data_);
  }
  explicit operator bool() const { return data_ || context_; }

 private:
  void *data_ = nullptr, *context_ = nullptr;
  Device device_;
};

// The memory of a tensor, for questions about sharing.
class TENON_API Storage {
 public:
  Storage() = default;  // of no memory
  explicit Storage(core::Ref<core::Storage> s) : s_(std::move(s)) {}
  explicit operator bool() const noexcept { return static_cast<bool>(s_); }
  void* data() const {
    s_->expose();
    return s_->data;
  }
  DataPtr data_ptr() const {
    return {data(), s_->deleter ? s_->deleter_context : s_->data, device()};
  }
  DataPtr mutable_data_ptr() const { return data_ptr(); }
  void* mutable_data() const { return data(); }
  Device device() const { return core::device_of(s_->device); }
  DeviceType device_type() const { return device().type(); }
  std::size_t nbytes() const { return s_->bytes; }
  std::size_t use_count() const { return s_->use_count() - 1; }  // this handle does not count
  bool is_alias_of(const Storage& o) const { return s_ == o.s_; }

 private:
  friend class Tensor;
  core::Ref<core::Storage> s_;
};

class TENON_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(core::Impl impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // Writes into what the temporary views: x.index({0}) = y.
  Tensor& operator=(const Tensor& rhs) &&;
  Tensor& operator=(Tensor&& rhs) &&;  // NOLINT(performance-noexcept-move-constructor): may throw
  Tensor& operator=(const Scalar& v) &&;

  bool defined() const noexcept { return static_cast<bool>(impl_); }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& o) const noexcept { return impl_ == o.impl_; }
  std::size_t use_count() const noexcept { return impl_.use_count(); }
  bool is_uniquely_owned() const noexcept { return impl_.unique(); }
  // Nothing refers to a tensor weakly; all that refer to it together count as one, as in libtorch.
  std::size_t weak_use_count() const noexcept { return impl_ ? 1 : 0; }
  core::TensorImpl* unsafeGetTensorImpl() const noexcept { return impl_.get(); }
  core::TensorImpl* unsafeReleaseTensorImpl() { return impl_.leak(); }
  const core::Impl& getIntrusivePtr() const { return impl_; }

  // Geometry. Sizes and strides count elements.
  int64_t dim() const { return get().ndim(); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return get().sizes(); }
  IntArrayRef shape() const { return get().sizes(); }
  IntArrayRef size() const { return get().sizes(); }
  IntArrayRef strides() const { return strided().strides(); }
  int64_t size(int64_t d) const;  // negative counts from the end; IndexError when out of range
  int64_t stride(int64_t d) const;
  int64_t numel() const { return get().numel; }
  int64_t storage_offset() const { return strided().storage_offset(); }
  SymIntArrayRef sym_sizes() const { return fromIntArrayRefSlow(sizes()); }
  SymIntArrayRef sym_strides() const { return fromIntArrayRefSlow(strides()); }
  SymInt sym_size(int64_t d) const { return size(d); }
  SymInt sym_stride(int64_t d) const { return stride(d); }
  SymInt sym_numel() const { return numel(); }
  SymInt sym_storage_offset() const { return storage_offset(); }
  SymInt sym_nbytes() const { return static_cast<int64_t>(nbytes()); }
  std::size_t element_size() const { return get().itemsize(); }
  std::size_t itemsize() const { return get().itemsize(); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * itemsize(); }
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  MemoryFormat suggest_memory_format() const;
  bool is_non_overlapping_and_dense() const;

  // Kind.
  ScalarType dtype() const { return get().dtype; }
  ScalarType scalar_type() const { return get().dtype; }
  Device device() const;
  Layout layout() const { return static_cast<Layout>(get().layout_slot); }
  int64_t get_device() const;  // -1 on the host
  TensorOptions options() const;
  bool is_cpu() const { return get().device_id.is_host(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_xpu() const { return device().is_xpu(); }
  bool is_mps() const { return device().is_mps(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_privateuseone() const { return device().is_privateuseone(); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_signed() const { return core::dtype_info(scalar_type()).is_signed; }
  bool is_pinned() const { return strided().storage->pinned; }
  // What libtorch's tensors may be, and these never are.
  bool is_conj() const { return false; }
  bool is_neg() const { return false; }
  bool is_nested() const { return false; }
  bool is_mkldnn() const { return false; }
  const std::string& name() const;         // empty: names are given to no tensor
  DeprecatedTypeProperties& type() const;  // printed as "tenon.DoubleTensor"
  Tensor type(std::string_view type,
              bool non_blocking = false) const;  // to what such a string says
  // f(*this, arguments...), to be written in a chain.
  template <class F, class... A>
  auto m(F f, A&&... arguments) const -> decltype(f(*this, std::forward<A>(arguments)...)) {
    return f(*this, std::forward<A>(arguments)...);
  }
  bool is_type(std::string_view type) const { return toString() == type; }
  std::string toString() const;

  // Data. The typed forms check T against the dtype and throw TypeError. Reading through
  // const_data_ptr lets backends keep what they derived from the elements, packed weights for
  // example; the others may be written through at any time. Of a device's tensor it is an address
  // of the device, for kernels of the program's own; TypeError if it has none (opaque devices).
  // Null without elements.
  void* data_ptr() const {
    core::TensorImpl& t = addressed();
    return t.numel ? t.exposed_data() : nullptr;
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const {
    const core::TensorImpl& t = addressed();
    return t.numel ? t.host_data() : nullptr;
  }
  template <class T>
  T* data_ptr() const {
    check_type(CppTypeToScalarType<std::remove_const_t<T>>::value);
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    check_type(CppTypeToScalarType<std::remove_const_t<T>>::value);
    return static_cast<const T*>(const_data_ptr());
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  // The memory is in use on that stream, too: once freed, it is not reused before the stream has
  // passed this point.
  void record_stream(const Stream& s) const;
  Storage storage() const { return Storage(strided().storage); }
  bool has_storage() const { return defined() && !impl_->composite(); }
  // Whether they share memory, be it of one component.
  bool is_alias_of(const Tensor& o) const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor() const& {
    static_assert(N > 0, "accessor is for tensors with dimensions; use item<T>() for one element");
    check_accessor(N);
    return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  // ValueError: other dimensions; for 32 bits, too many elements.
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const& {
    check_packed(N, true);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const& {
    check_packed(N, false);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  // The same with indices of any integer type; libtorch's older name is packed_accessor.
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits,
            class Index = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, Index> generic_packed_accessor() const& {
    check_packed(N, sizeof(Index) < sizeof(int64_t));
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits,
            class Index = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, Index> packed_accessor() const& {
    return generic_packed_accessor<T, N, Traits, Index>();
  }
  bool is_nonzero() const;  // of one element; ValueError otherwise

  // Quantized tensors; quantized.h has the functions of these names.
  bool is_quantized() const noexcept;
  Tensor dequantize() const;
  Tensor int_repr() const;
  QScheme qscheme() const;
  double q_scale() const;
  int64_t q_zero_point() const;
  Tensor q_per_channel_scales() const;
  Tensor q_per_channel_zero_points() const;
  int64_t q_per_channel_axis() const;

  // History.
  bool requires_grad() const {
    return impl_ && (impl_->flags & (core::kTracked | core::kIsView)) &&
           ((impl_->flags & core::kTracked) || view_requires_grad());
  }
  const Tensor& set_requires_grad(bool on) const;
  const Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
  bool is_leaf() const;
  bool is_inference() const { return get().flags & core::kInference; }
  Tensor& mutable_grad() const;
  const Tensor& grad() const;
  core::Ref<autograd::Node> grad_fn() const;
  uint32_t output_nr() const;
  void retain_grad() const;
  bool retains_grad() const;
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false, std::optional<TensorList> inputs = std::nullopt) const;
  // Shares memory, counts writes apart, has no history.
  Tensor tensor_data() const { return variable_data(); }
  Tensor variable_data() const;
  Tensor data() const { return variable_data(); }
  void set_data(const Tensor& new_data) const;
  // The operator set_ with the elements of a storage, of this tensor's dtype.
  Tensor& set_(const Storage& source) const;
  Tensor& set_(const Storage& source, int64_t storage_offset, IntArrayRef size,
               IntArrayRef stride = {}) const;
  Tensor& detach_() const;
  int64_t _version() const { return get().version(); }
  bool is_view() const;
  Tensor _base() const;
  // The function gets the gradient and may return another one to use instead; returns a handle for
  // remove_hook.
  template <class F>
  unsigned register_hook(F&& f) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F, Tensor>>) {
      return add_hook(make_hook([f = std::forward<F>(f)](const Tensor& g) mutable {
        f(g);
        return Tensor();
      }));
    } else {
      return add_hook(make_hook(std::forward<F>(f)));
    }
  }
  void remove_hook(unsigned pos) const;
  // Of a leaf that requires grad: the function gets the leaf each time that a backward pass has
  // added to its grad(). The result is for remove_post_accumulate_grad_hook.
  template <class F>
  unsigned register_post_accumulate_grad_hook(F&& f) const {
    return add_accumulated_hook(make_hook([f = std::forward<F>(f)](const Tensor& leaf) mutable {
      f(leaf);
      return Tensor();
    }));
  }
  void remove_post_accumulate_grad_hook(unsigned pos) const;

  // Moving to devices and dtypes.
  Tensor cpu() const;
  // A new tensor of such data (tenon/creation.h), of this one's dtype and device unless options say
  // others.
  Tensor new_tensor(const detail::TensorData& data, const TensorOptions& options = {}) const;
  template <class T, class = std::enable_if_t<std::is_same_v<T, Tensor>>>
  Tensor new_tensor(const T& data, const TensorOptions& options = {}) const {
    return new_copy(data, options);
  }
  // Of a layout other than strided: its components, by the names that the layout gives them. They
  // share this one's memory.
  Tensor component(std::string_view name) const;
  bool layout_flag(std::string_view name) const;  // a flag of the layout: "coalesced"
  Tensor cuda() const;
  Tensor pin_memory() const;
  Tensor toType(ScalarType t) const;
  Tensor toBackend(Backend b) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  // Spelled out, because both convert to TensorOptions as well as to Device.
  Tensor to(DeviceType type, bool non_blocking = false, bool copy = false) const {
    return to(Device(type), non_blocking, copy);
  }
  Tensor to(const char* device, bool non_blocking = false, bool copy = false) const {
    return to(Device(device), non_blocking, copy);
  }
  // What is nullopt stays as it is.
  Tensor to(std::optional<ScalarType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
            bool copy, std::optional<MemoryFormat> memory_format) const;
  const Tensor& resize_(IntArrayRef size, std::optional<MemoryFormat> f = std::nullopt) const;
  const Tensor& resize_as_(const Tensor& other) const { return resize_(other.sizes()); }

  // Indexing: integers, slices, None, Ellipsis, masks and index tensors (tenon/indexing.h).
  Tensor operator[](int64_t i) const;
  Tensor operator[](const Tensor& index) const;
  Tensor operator[](const Scalar& index) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& v) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& v) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& v) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& v) const;
  // x(1, all, 3) is x.index({1, Slice(), 3}).
  template <class... I, class = std::enable_if_t<
                            (sizeof...(I) > 0) &&
                            (std::is_convertible_v<const I&, indexing::TensorIndex> && ...)>>
  Tensor operator()(const I&... indices) const {
    return index({indexing::TensorIndex(indices)...});
  }
  // Methods by libtorch's names for sizes that may be symbols.
  Tensor view_symint(SymIntArrayRef size) const { return view(asIntArrayRefUnchecked(size)); }
  Tensor reshape_symint(SymIntArrayRef shape) const {
    return reshape(asIntArrayRefUnchecked(shape));
  }
  Tensor expand_symint(SymIntArrayRef size, bool implicit = false) const {
    return expand(asIntArrayRefUnchecked(size), implicit);
  }
  Tensor repeat_symint(SymIntArrayRef repeats) const {
    return repeat(asIntArrayRefUnchecked(repeats));
  }
  Tensor sum_to_size_symint(SymIntArrayRef size) const {
    return sum_to_size(asIntArrayRefUnchecked(size));
  }
  Tensor as_strided_symint(SymIntArrayRef size, SymIntArrayRef stride,
                           std::optional<SymInt> storage_offset = std::nullopt) const {
    return as_strided(asIntArrayRefUnchecked(size), asIntArrayRefUnchecked(stride),
                      known(storage_offset));
  }
  Tensor narrow_symint(int64_t dim, SymInt start, SymInt length) const {
    return narrow(dim, int64_t{start}, int64_t{length});
  }
  Tensor select_symint(int64_t dim, SymInt index) const { return select(dim, int64_t{index}); }
  Tensor slice_symint(int64_t dim = 0, std::optional<SymInt> start = std::nullopt,
                      std::optional<SymInt> end = std::nullopt, SymInt step = 1) const {
    return slice(dim, known(start), known(end), int64_t{step});
  }
  std::vector<Tensor> split_symint(SymInt split_size, int64_t dim = 0) const {
    return split(int64_t{split_size}, dim);
  }
  std::vector<Tensor> split_with_sizes_symint(SymIntArrayRef sizes, int64_t dim = 0) const {
    return split_with_sizes(asIntArrayRefUnchecked(sizes), dim);
  }
  Tensor new_empty_symint(SymIntArrayRef size, const TensorOptions& options = {}) const {
    return new_empty(asIntArrayRefUnchecked(size), options);
  }
  Tensor new_zeros_symint(SymIntArrayRef size, const TensorOptions& options = {}) const {
    return new_zeros(asIntArrayRefUnchecked(size), options);
  }
  Tensor new_ones_symint(SymIntArrayRef size, const TensorOptions& options = {}) const {
    return new_ones(asIntArrayRefUnchecked(size), options);
  }
  Tensor new_full_symint(SymIntArrayRef size, const Scalar& fill_value,
                         const TensorOptions& options = {}) const {
    return new_full(asIntArrayRefUnchecked(size), fill_value, options);
  }
  // The old name of masked_scatter_, with a warning.
  Tensor& masked_copy_(const Tensor& mask, const Tensor& source) const;

  Tensor operator-() const;
  Tensor operator~() const;
  Tensor& operator+=(const Tensor& o);
  Tensor& operator+=(const Scalar& o);
  Tensor& operator-=(const Tensor& o);
  Tensor& operator-=(const Scalar& o);
  Tensor& operator*=(const Tensor& o);
  Tensor& operator*=(const Scalar& o);
  Tensor& operator/=(const Tensor& o);
  Tensor& operator/=(const Scalar& o);
  Tensor& operator&=(const Tensor& o);
  Tensor& operator|=(const Tensor& o);

  void print() const;  // to standard output: for use in a debugger

#include "tenon/tensor_methods.gen.h"

  Tensor polygamma(int64_t n) const;

  // An integer is the dimension, as in libtorch; `unbiased` takes a bool.
  Tensor var(int dim) const { return var(IntArrayRef(int64_t{dim})); }
  Tensor std(int dim) const { return std(IntArrayRef(int64_t{dim})); }

  // These elements where the condition holds, else the other's.
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor where(const Tensor& condition, const Scalar& other) const;

  // Of float64 alone, which is what float_power gives; TypeError otherwise.
  Tensor& float_power_(const Tensor& exponent) const;
  Tensor& float_power_(const Scalar& exponent) const;

  // The same elements under another geometry, in this tensor. Counts as a write: backward refuses
  // what was saved before.
  Tensor& t_() const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const { return transpose_(axis0, axis1); }
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const { return transpose_(dim0, dim1); }
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dim) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& as_strided_(IntArrayRef size, IntArrayRef stride,
                      std::optional<int64_t> storage_offset = std::nullopt) const;

  // A function that a gradient passes through, owned by the tensor's history.
  struct Hook {
    virtual ~Hook() = default;
    virtual Tensor call(const Tensor& grad) = 0;
  };

 private:
  template <class F>
  static Hook* make_hook(F f) {
    struct Typed final : Hook {
      explicit Typed(F fn) : f(std::move(fn)) {}
      Tensor call(const Tensor& grad) override { return f(grad); }
      F f;
    };
    return new Typed(std::move(f));
  }
  unsigned add_hook(Hook* owned) const;
  unsigned add_accumulated_hook(Hook* owned) const;
  Tensor new_copy(const Tensor& data, const TensorOptions& options) const;
  static std::optional<int64_t> known(std::optional<SymInt> v) {
    return v ? std::optional<int64_t>(*v) : std::nullopt;
  }
  bool view_requires_grad() const;  // a write to the base may have given a view a history
  TENON_INLINE core::TensorImpl& get() const {
    if (TENON_UNLIKELY(!impl_)) undefined();
    return *impl_;
  }
  [[noreturn]] TENON_COLD static void undefined();
  core::TensorImpl& addressed() const {
    if (TENON_UNLIKELY(strided().view.flags & TN_TENSOR_OPAQUE)) no_address();
    return *impl_;
  }
  [[noreturn]] TENON_COLD void no_address() const;
  core::TensorImpl& strided() const {
    if (TENON_UNLIKELY(get().composite())) not_strided();
    return *impl_;
  }
  [[noreturn]] TENON_COLD void not_strided() const;
  void check_type(ScalarType t) const {
    if (TENON_UNLIKELY(get().dtype != t)) wrong_type(t);
  }
  [[noreturn]] TENON_COLD void wrong_type(ScalarType asked) const;
  void check_accessor(std::size_t n) const;
  void check_packed(std::size_t n, bool in_32_bits) const;

  core::Impl impl_;
};

using Variable = Tensor;
inline Tensor variable(Tensor t, bool requires_grad = false) {
  return requires_grad ? t.set_requires_grad(true) : t;
}

#define TENON_OPERATOR(op)                                        \
  TENON_API Tensor operator op(const Tensor& a, const Tensor& b); \
  TENON_API Tensor operator op(const Tensor& a, const Scalar& b); \
  TENON_API Tensor operator op(const Scalar& a, const Tensor& b);
TENON_OPERATOR(+)
TENON_OPERATOR(-)
TENON_OPERATOR(*)
TENON_OPERATOR(/)
TENON_OPERATOR(%)
TENON_OPERATOR(==)
TENON_OPERATOR(!=)
TENON_OPERATOR(<)
TENON_OPERATOR(<=)
TENON_OPERATOR(>)
TENON_OPERATOR(>=)
TENON_OPERATOR(&)
TENON_OPERATOR(|)
TENON_OPERATOR(^)
#undef TENON_OPERATOR

TENON_API std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace tenon
