// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parts of Tensor that are not operators.
#include "tenon/tensor.h"

#include <algorithm>
#include <cstring>

#include "tenon/autograd.h"
#include "tenon/call/generated.h"
#include "tenon/core/geometry.h"
#include "tenon/core/layout.h"
#include "tenon/ops/dims.h"
#include "tenon/quantized/quantizer.h"
#include "tenon/runtime/error.h"

namespace tenon {

using autograd::meta;

void Tensor::undefined() { throw TypeError("expected a tensor but found an undefined one"); }

void Tensor::wrong_type(ScalarType asked) const {
  throw TypeError(core::join("data_ptr: expected ", dtype_name(asked), " but found ",
                             dtype_name(scalar_type())));
}

void Tensor::no_address() const {
  quantized::refuse_quantized("data_ptr", *this);
  TENON_CHECK(
      !get().batched(), core::NeedsSlices,
      "data_ptr: vmap: Cannot access data pointer of a batched tensor, which stands for many "
      "slices");
  TENON_CHECK(core::has_data(get().device_id), TypeError,
              "data_ptr: a tensor on the device 'meta' has no elements");
  throw TypeError(core::join(
      "data_ptr: the memory of ", device().str(),
      " is a handle, which has no address to add an offset to; use cpu() for the elements, or "
      "storage().data_ptr() for the handle and storage_offset()"));
}

void Tensor::not_strided() const {
  throw TypeError(
      core::join("a tensor of layout ", core::layout_name(get().layout_slot),
                 " has neither strides nor memory of one piece; use to_dense() or component()"));
}

namespace {
std::size_t find_name(const char* what, const std::vector<std::string>& names,
                      std::string_view name, int layout) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  throw ValueError(core::join(what, ": layout ", core::layout_name(layout), " has no '", name,
                              "'; it has ", all.empty() ? "none" : all));
}
}  // namespace

Tensor Tensor::component(std::string_view name) const {
  const core::TensorImpl& t = get();
  TENON_CHECK(t.composite(), TypeError, "component: a strided tensor has no components");
  const std::size_t at =
      find_name("component", core::layout_components(t.layout_slot), name, t.layout_slot);
  return Tensor(core::Impl::share(t.components->impl[at])).detach();
}

namespace {

bool share_memory(const core::TensorImpl& a, const core::TensorImpl& b) {
  if (!a.composite()) return b.composite() ? share_memory(b, a) : a.storage == b.storage;
  for (int k = 0; k < a.components->n; ++k) {
    if (share_memory(*a.components->impl[k], b)) return true;
  }
  return false;
}

}  // namespace

bool Tensor::is_alias_of(const Tensor& o) const { return share_memory(get(), o.get()); }

bool Tensor::layout_flag(std::string_view name) const {
  const core::TensorImpl& t = get();
  TENON_CHECK(t.composite(), TypeError, "layout_flag: a strided tensor has none");
  return t.view.flags >>
             (TN_LAYOUT_FLAG +
              find_name("layout_flag", core::layout_flags(t.layout_slot), name, t.layout_slot)) &
         1;
}

void Tensor::check_accessor(std::size_t n) const {
  TENON_CHECK(static_cast<std::size_t>(dim()) == n, ValueError, "accessor: expected ", n,
              " dimensions but the tensor has ", dim());
  const bool readable =
      core::device_entry(get().device_id).flags & TN_DEVICE_HOST_READABLE || is_cpu();
  TENON_CHECK(readable, TypeError, "accessor: the memory of ", device().str(),
              " cannot be read by the host; use cpu() first");
}

void Tensor::check_packed(std::size_t n, bool in_32_bits) const {
  check_accessor(n);
  TENON_CHECK(!in_32_bits || numel() <= INT32_MAX, ValueError, "packed_accessor32: the tensor has ",
              numel(), " elements, more than 32 bits can count; use packed_accessor64");
}

namespace {
std::size_t entry(const char* op, int64_t d, int64_t n) {
  const int64_t at = wrap(op, d, n);
  TENON_CHECK(n > 0, IndexError, op, ": dimension ", d, " of a 0-dim tensor");
  return static_cast<std::size_t>(at);
}
}  // namespace

int64_t Tensor::size(int64_t d) const { return sizes()[entry("size", d, dim())]; }
int64_t Tensor::stride(int64_t d) const { return strides()[entry("stride", d, dim())]; }

bool Tensor::is_contiguous(MemoryFormat f) const {
  if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) {
    return get().batched() ? core::is_row_major(sizes(), strides()) : get().contiguous();
  }
  int n = f == MemoryFormat::ChannelsLast ? 4 : 5;
  if (dim() != n) return false;
  int64_t expected = 1;
  auto fits = [&](int d) {
    if (size(d) != 1 && stride(d) != expected) return false;
    expected *= size(d);
    return true;
  };
  if (!fits(1)) return false;
  for (int d = n - 1; d >= 2; --d) {
    if (!fits(d)) return false;
  }
  return fits(0);
}

// By the strides alone, those of dimensions of size 1 and of parts of larger tensors included:
// channels, then the last dimension and so on to the batch, each at least as far as those before
// reach. Where all strides are one, and of one channel or a batch whose strides say nothing, rows
// come first.
static bool looks_channels_last(const Tensor& t, int64_t rank) {
  if (t.dim() != rank || t.numel() == 0 || t.stride(1) == 0) return false;
  int64_t reach = 0;
  const auto follows = [&](int64_t d) {
    if (t.stride(d) < reach || (d == 0 && reach == t.stride(1))) return false;
    reach = t.stride(d) * t.size(d);
    return true;
  };
  if (!follows(1)) return false;
  for (int64_t d = rank - 1; d >= 2; --d)
    if (!follows(d)) return false;
  return follows(0);
}

MemoryFormat Tensor::suggest_memory_format() const {
  if (looks_channels_last(*this, 4)) return MemoryFormat::ChannelsLast;
  if (looks_channels_last(*this, 5)) return MemoryFormat::ChannelsLast3d;
  return MemoryFormat::Contiguous;
}

bool Tensor::is_non_overlapping_and_dense() const {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int64_t d = 0; d < dim(); ++d) {
    if (size(d) != 1) dims.emplace_back(stride(d), size(d));
  }
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (auto [st, n] : dims) {
    if (st != expected) return false;
    expected *= n;
  }
  return true;
}

Device Tensor::device() const { return get().device(); }

int64_t Tensor::get_device() const {
  const core::DeviceId id = get().device_id;
  return id.is_host() ? -1 : id.index;
}

TensorOptions Tensor::options() const {
  return TensorOptions(scalar_type()).device(device()).layout(layout());
}

DeprecatedTypeProperties& Tensor::type() const {
  return getDeprecatedTypeProperties(device().type(), layout(), scalar_type());
}
std::string Tensor::toString() const { return type_string(options()); }
Tensor Tensor::type(std::string_view type, bool non_blocking) const {
  return to(options_from_type(type), non_blocking);
}

bool Tensor::is_nonzero() const {
  if (get().batched() && is_quantized()) return dequantize().is_nonzero();
  TENON_CHECK(
      !get().batched(), core::NeedsSlices,
      "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
      "flow. We don't support that");
  TENON_CHECK(numel() == 1, ValueError, "is_nonzero: the truth value of ", numel(),
              " elements is ambiguous");
  return item().to<bool>();
}

const Tensor& Tensor::set_requires_grad(bool on) const {
  TENON_CHECK(
      !on || isFloatingType(scalar_type()) || isComplexType(scalar_type()), TypeError,
      "Only Tensors of floating point and complex dtype can require gradients, this one is ",
      dtype_name(scalar_type()));
  if (on == requires_grad()) return *this;
  TENON_CHECK(
      is_leaf(), Error,
      "you can only change requires_grad flags of leaf variables. Use detach() for a tensor "
      "without history");
  TENON_CHECK(
      !on || !is_inference() || InferenceMode::is_enabled(), Error,
      "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
      "Use its clone().");
  if (on) {
    autograd::make_meta(*this);
    impl_->flags |= core::kTracked;
  } else {
    impl_->flags &= static_cast<uint8_t>(~core::kTracked);
  }
  return *this;
}

bool Tensor::is_leaf() const { return !requires_grad() || !grad_fn(); }
Tensor& Tensor::mutable_grad() const {
  get();
  return autograd::make_meta(*this).grad;
}

const Tensor& Tensor::grad() const {
  static const Tensor none;
  return get().autograd ? meta(*this)->grad : none;
}

uint32_t Tensor::output_nr() const { return get().autograd ? meta(*this)->output_nr : 0; }

void Tensor::retain_grad() const {
  TENON_CHECK(requires_grad(), Error, "retain_grad needs a tensor that requires grad");
  if (is_leaf() || meta(*this)->retains_grad) return;
  meta(*this)->retains_grad = true;
  grad_fn()->hooks_for_write().retained.emplace_back(output_nr(), impl_.get());
}

bool Tensor::retains_grad() const { return get().autograd && meta(*this)->retains_grad; }

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      std::optional<TensorList> inputs) const {
  get();
  TENON_CHECK(
      !inputs || !inputs->empty(), ValueError,
      "backward: 'inputs' argument to backward cannot be empty; leave it out for all leaves");
  autograd::backward({*this}, {gradient}, retain_graph, create_graph,
                     inputs ? inputs->vec() : std::vector<Tensor>());
}

Tensor Tensor::variable_data() const {
  Tensor out(get().alias(true));
  out.impl_->flags |= impl_->flags & core::kInference;
  return out;
}

// The dtype may change, also of a leaf that requires grad: modules are converted so. The old
// gradient is the caller's.
void Tensor::set_data(const Tensor& o) const {
  quantized::refuse_quantized("set_data", *this);
  quantized::refuse_quantized("set_data", o);
  core::TensorImpl &t = get(), &from = o.get();
  TENON_CHECK(t.layout_slot == from.layout_slot, TypeError, "set_data: a tensor of layout ",
              core::layout_name(t.layout_slot), " cannot hold the data of one of layout ",
              core::layout_name(from.layout_slot));
  TENON_CHECK(!t.batched() && !from.batched(), Error,
              "set_data: vmap: not for a batched tensor, which has the memory of many slices");
  autograd::changed("set_data", *this);
  if (t.composite()) {
    t.take_components(*from.alias(true));
    return;
  }
  t.dtype = o.scalar_type();
  t.view.dtype = o.get().view.dtype;
  t.set_storage(o.get().storage);
  t.set_geometry(o.get().ndim(), o.sizes().data(), o.strides().data(), o.get().byte_offset());
}

Tensor& Tensor::set_(const Storage& source) const {
  const auto n = static_cast<int64_t>(source.nbytes() / element_size());
  return set_(source, 0, {n}, {1});
}
Tensor& Tensor::set_(const Storage& source, int64_t storage_offset, IntArrayRef size,
                     IntArrayRef stride) const {
  const auto n = static_cast<int64_t>(source.nbytes() / element_size());
  const Tensor whole(core::TensorImpl::make(scalar_type(), source.s_, 0, 1, &n));
  NoGradGuard no_grad;
  std::vector<int64_t> steps = stride.vec();
  if (steps.empty()) {
    TENON_CHECK(size.size() <= core::kMaxDims, ValueError, "set_: ", size.size(), " dimensions");
    steps.resize(size.size());
    core::contiguous_strides(static_cast<int>(size.size()), size.data(), steps.data());
  }
  set_(whole.as_strided(size, steps, storage_offset));
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::detach_() const {
  TENON_CHECK(!is_view(), Error, "a view cannot be detached in place; use detach()");
  autograd::changed("detach_", *this);
  if (autograd::AutogradMeta* m = meta(*this)) {
    m->grad_fn.reset();
    m->output_nr = 0;
    impl_->flags &= static_cast<uint8_t>(~core::kTracked);
  }
  return const_cast<Tensor&>(*this);
}

bool Tensor::is_view() const { return get().flags & core::kIsView; }
Tensor Tensor::_base() const {
  TENON_CHECK(is_view(), Error, "_base: this tensor is not a view");
  return Tensor(impl_->base);
}

unsigned Tensor::add_hook(Hook* owned) const {
  std::unique_ptr<Hook> hook(owned);
  TENON_CHECK(requires_grad(), Error, "register_hook needs a tensor that requires grad");
  autograd::NodeHooks& hooks = autograd::hooks_of(*this);
  hooks.tensor_pre.push_back({is_leaf() ? 0 : output_nr(), std::move(hook)});
  return static_cast<unsigned>(hooks.tensor_pre.size() - 1);
}

void Tensor::remove_hook(unsigned pos) const {
  TENON_CHECK(requires_grad() && pos < autograd::hooks_of(*this).tensor_pre.size(), IndexError,
              "Invalid index: there is no hook ", pos);
  autograd::hooks_of(*this).tensor_pre[pos].hook.reset();
}

unsigned Tensor::add_accumulated_hook(Hook* owned) const {
  std::shared_ptr<Hook> hook(owned);
  TENON_CHECK(requires_grad() && is_leaf(), Error,
              "register_post_accumulate_grad_hook needs a leaf that requires grad");
  auto& hooks = autograd::hooks_of(*this).accumulated;
  hooks.push_back(std::move(hook));
  return static_cast<unsigned>(hooks.size() - 1);
}

void Tensor::remove_post_accumulate_grad_hook(unsigned pos) const {
  TENON_CHECK(requires_grad() && is_leaf() && pos < autograd::hooks_of(*this).accumulated.size(),
              IndexError, "remove_post_accumulate_grad_hook: there is no hook ", pos);
  autograd::hooks_of(*this).accumulated[pos].reset();
}

Tensor& Tensor::operator=(const Tensor& rhs) && { return copy_(rhs); }
// Writes elements, so it may throw.
// NOLINTNEXTLINE(performance-noexcept-move-constructor)
Tensor& Tensor::operator=(Tensor&& rhs) && { return copy_(rhs); }
Tensor& Tensor::operator=(const Scalar& v) && { return fill_(v); }

Tensor Tensor::cpu() const { return to(Device(kCPU)); }
Tensor Tensor::cuda() const { return to(Device(kCUDA)); }
Tensor Tensor::toType(ScalarType t) const { return to(t); }
Tensor Tensor::to(Device d, bool non_blocking, bool copy) const {
  return to(TensorOptions(d), non_blocking, copy);
}

Tensor Tensor::to(std::optional<ScalarType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
                  bool copy, std::optional<MemoryFormat> memory_format) const {
  const TensorOptions options =
      TensorOptions().dtype(dtype).layout(layout).device(device).pinned_memory(pin_memory);
  return to(options, non_blocking, copy, memory_format);
}

Tensor Tensor::pin_memory() const {
  if (is_pinned()) return *this;
  TENON_CHECK(is_cpu(), TypeError, "pin_memory: only host tensors can be pinned, this one is on ",
              device().str());
  core::Impl made =
      core::new_pinned("pin_memory", scalar_type(), static_cast<int>(dim()), sizes().data());
  core::copy(*made, *impl_);
  return Tensor(std::move(made));
}

const std::string& Tensor::name() const {
  static const std::string none;
  return none;
}
Tensor Tensor::polygamma(int64_t n) const { return tenon::polygamma(n, *this); }

Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tenon::where(condition, *this, other);
}
Tensor Tensor::where(const Tensor& condition, const Scalar& other) const {
  return tenon::where(condition, *this, other);
}

namespace {
const Tensor& base_of_float_power(const Tensor& self) {
  TENON_CHECK(self.scalar_type() == kDouble, TypeError,
              "float_power_: argument 'self' must be float64, got ",
              dtype_name(self.scalar_type()));
  return self;
}
}  // namespace

Tensor& Tensor::float_power_(const Tensor& exponent) const {
  return base_of_float_power(*this).pow_(exponent.to(kDouble));
}
Tensor& Tensor::float_power_(const Scalar& exponent) const {
  return base_of_float_power(*this).pow_(exponent.toDouble());
}

static std::vector<int64_t> channels_last_strides(IntArrayRef size, MemoryFormat format) {
  const std::size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  TENON_CHECK(size.size() == rank, ValueError, "resize_: a channels-last memory format needs ",
              rank, " dimensions, got ", size.size());
  std::vector<int64_t> strides(rank);
  int64_t next = 1;
  const auto set = [&](std::size_t d) {
    strides[d] = next;
    next *= std::max<int64_t>(size[d], 1);
  };
  set(1);
  for (std::size_t d = rank - 1; d >= 2; --d) set(d);
  set(0);
  return strides;
}

const Tensor& Tensor::resize_(IntArrayRef size, std::optional<MemoryFormat> format) const {
  TENON_CHECK(format != MemoryFormat::Preserve, ValueError,
              "resize_: there is no memory format to preserve");
  const bool rows = !format || format == MemoryFormat::Contiguous;
  const std::vector<int64_t> strides =
      rows ? std::vector<int64_t>() : channels_last_strides(size, *format);
  TENON_CHECK(!requires_grad(), Error, "resize_: cannot resize a tensor that requires grad");
  TENON_CHECK(!is_inference() || InferenceMode::is_enabled(), Error,
              "resize_: Inplace update to inference tensor outside InferenceMode is not allowed; "
              "clone() it");
  if (layout() != kStrided) {
    _resize_components_(size);
    return *this;
  }
  quantized::refuse_quantized("resize_", *this);
  autograd::changed("resize_", *this);
  core::checked_numel("resize_", static_cast<int>(size.size()), size.data());
  core::resize(get(), static_cast<int>(size.size()), size.data());
  impl_->bump_version();
  if (!rows) as_strided_(size, strides);
  return *this;
}

#define TENON_BINARY(symbol, name)                                               \
  Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.name(b); } \
  Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.name(b); }
#define TENON_COMMUTES(symbol, name) \
  TENON_BINARY(symbol, name)         \
  Tensor operator symbol(const Scalar& a, const Tensor& b) { return b.name(a); }
TENON_COMMUTES(+, add)
TENON_COMMUTES(*, mul)
TENON_COMMUTES(==, eq)
TENON_COMMUTES(!=, ne)
TENON_COMMUTES(&, bitwise_and)
TENON_COMMUTES(|, bitwise_or)
TENON_COMMUTES(^, bitwise_xor)
TENON_BINARY(-, sub)
TENON_BINARY(/, div)
TENON_BINARY(%, remainder)
TENON_BINARY(<, lt)
TENON_BINARY(<=, le)
TENON_BINARY(>, gt)
TENON_BINARY(>=, ge)
#undef TENON_COMMUTES
#undef TENON_BINARY
Tensor operator-(const Scalar& a, const Tensor& b) { return rsub(b, a); }
Tensor operator/(const Scalar& a, const Tensor& b) {
  const bool era = autograd::t_mode & autograd::kEra04;
  if (TENON_UNLIKELY(era) && isIntegralType(b.scalar_type(), false))
    return full({}, a, b.options()).div(b);
  return b.reciprocal().mul(a);
}
Tensor operator%(const Scalar& a, const Tensor& b) {
  return scalar_tensor(a, b.options()).remainder(b);
}
Tensor operator<(const Scalar& a, const Tensor& b) { return b.gt(a); }
Tensor operator<=(const Scalar& a, const Tensor& b) { return b.ge(a); }
Tensor operator>(const Scalar& a, const Tensor& b) { return b.lt(a); }
Tensor operator>=(const Scalar& a, const Tensor& b) { return b.le(a); }

Tensor Tensor::operator-() const { return neg(); }
// The masks of 0.4 are bytes, and their inverse is 1 - mask; no other dtype had one.
Tensor Tensor::operator~() const {
  const bool era = autograd::t_mode & autograd::kEra04;
  if (!TENON_UNLIKELY(era) || scalar_type() == kBool) return bitwise_not();
  TENON_CHECK(scalar_type() == kByte, TypeError, "operator~: expected uint8 but found ",
              dtype_name(scalar_type()), "; compat::Era04 inverts masks of bytes alone");
  return 1 - *this;
}
Tensor& Tensor::operator+=(const Tensor& o) { return add_(o); }
Tensor& Tensor::operator+=(const Scalar& o) { return add_(o); }
Tensor& Tensor::operator-=(const Tensor& o) { return sub_(o); }
Tensor& Tensor::operator-=(const Scalar& o) { return sub_(o); }
Tensor& Tensor::operator*=(const Tensor& o) { return mul_(o); }
Tensor& Tensor::operator*=(const Scalar& o) { return mul_(o); }
Tensor& Tensor::operator/=(const Tensor& o) { return div_(o); }
Tensor& Tensor::operator/=(const Scalar& o) { return div_(o); }
Tensor& Tensor::operator&=(const Tensor& o) { return bitwise_and_(o); }
Tensor& Tensor::operator|=(const Tensor& o) { return bitwise_or_(o); }

}  // namespace tenon
