// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies, casts, comparisons of whole tensors, and operators that rearrange elements.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/quantized/quantizer.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

// An open index means the current device, or that of self if the type is the same.
bool same_device(const Tensor& self, const std::optional<Device>& d) {
  if (!d) return true;
  Device own = self.device();
  return own.type() == d->type() && (own.is_cpu() || !d->has_index() || d->index() == own.index());
}

bool keeps_format(const Tensor& self, std::optional<MemoryFormat> f) {
  return !f || self.layout() != kStrided || *f == MemoryFormat::Preserve || self.is_contiguous(*f);
}

}  // namespace

Tensor contiguous(const Tensor& self, MemoryFormat f) {
  TENON_CHECK(f != MemoryFormat::Preserve, ValueError, "contiguous: a memory format must be named");
  return self.is_contiguous(f) ? self : self.clone(f);
}

Tensor _to_copy(const Tensor& self, const TensorOptions& o, bool non_blocking,
                std::optional<MemoryFormat> f) {
  TENON_CHECK(!o.requires_grad(), ValueError, "_to_copy: options may not ask for requires_grad");
  if (self.unsafeGetTensorImpl()->batched() && is_quantized(self))
    return quantized::move_to(self, o, non_blocking);
  f = o.memory_format_opt(f);
  if (o.has_layout() && o.layout() != self.layout()) {
    (void)core::usable_layout(core::layout_name(static_cast<int>(o.layout())));
    const Tensor there =
        self.layout() == kStrided ? tenon::_to_layout(self, o.layout()) : self.to_dense();
    return there.to(o, non_blocking);
  }
  if (self.layout() != kStrided) {
    return tenon::_copy_components(self, o.has_dtype() ? o.dtype() : self.scalar_type(),
                                   o.device_opt().value_or(self.device()), non_blocking);
  }
  if (same_device(self, o.device_opt()) && (!o.has_dtype() || o.dtype() == self.scalar_type()))
    return self.clone(f);
  Tensor out = empty_like(self,
                          TensorOptions()
                              .dtype(o.dtype_opt())
                              .device(o.device_opt())
                              .pinned_memory(o.pinned_memory_opt()),
                          f);
  return out.copy_(self, non_blocking);
}

Tensor to_dtype_layout(const Tensor& self, const TensorOptions& o, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> f) {
  // As libtorch: the result may be self, whose history is not a question of options.
  TENON_CHECK(!o.requires_grad(), ValueError,
              "to: options may not ask for requires_grad; call requires_grad_()");
  f = o.memory_format_opt(f);
  bool same = same_device(self, o.device_opt()) &&
              (!o.has_dtype() || o.dtype() == self.scalar_type()) &&
              (!o.has_layout() || o.layout() == self.layout()) && keeps_format(self, f);
  return same && !copy ? self : tenon::_to_copy(self, o, non_blocking, f);
}
Tensor to_device(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy,
                 std::optional<MemoryFormat> f) {
  return to_dtype_layout(self, TensorOptions(dtype).device(device), non_blocking, copy, f);
}
Tensor to_dtype(const Tensor& self, ScalarType dtype, bool non_blocking, bool copy,
                std::optional<MemoryFormat> f) {
  if (!copy && self.scalar_type() == dtype && !f) return self;
  return to_dtype_layout(self, TensorOptions(dtype), non_blocking, copy, f);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                std::optional<MemoryFormat> f) {
  return to_dtype_layout(self, TensorOptions(other.scalar_type()).device(other.device()),
                         non_blocking, copy, f);
}
Tensor type_as(const Tensor& self, const Tensor& other) { return self.to(other); }

Tensor to_dense(const Tensor& self, std::optional<ScalarType> dtype,
                std::optional<bool> masked_grad) {
  if (self.layout() == kStrided) return dtype ? self.to(*dtype) : self;
  return tenon::_to_dense(self, dtype, masked_grad);
}

Scalar item(const Tensor& self) {
  TENON_CHECK(self.numel() == 1, ValueError,
              "item: only one-element tensors convert to a scalar; this one has ", self.numel());
  if (self.unsafeGetTensorImpl()->batched() && is_quantized(self))
    return tenon::dequantize(self).item();
  return core::item(*self.unsafeGetTensorImpl());
}
Scalar _local_scalar_dense(const Tensor& self) { return self.item(); }

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  TENON_CHECK(self.scalar_type() == other.scalar_type(), TypeError, "equal: expected ",
              dtype_name(self.scalar_type()), " but found ", dtype_name(other.scalar_type()),
              " for argument 'other'");
  NoGradGuard no_grad;
  return self.eq(other).all().item().toBool();
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TENON_CHECK(self.scalar_type() == other.scalar_type(), TypeError, "isclose: expected ",
              dtype_name(self.scalar_type()), " but found ", dtype_name(other.scalar_type()),
              " for argument 'other'");
  TENON_CHECK(rtol >= 0 && atol >= 0, ValueError, "isclose: tolerances ", rtol, " and ", atol,
              " must not be negative");
  NoGradGuard no_grad;
  Tensor close = self.eq(other);
  if (equal_nan && !isIntegralType(self.scalar_type(), true))
    close = close.logical_or(self.ne(self).logical_and(other.ne(other)));
  if (rtol == 0 && atol == 0) return close;
  // Integers are compared in double: a tolerance is a real number.
  const bool whole = isIntegralType(self.scalar_type(), true);
  Tensor a = whole ? self.to(kDouble) : self, b = whole ? other.to(kDouble) : other;
  Tensor allowed = b.abs().mul(rtol).add(atol), distance = a.sub(b).abs();
  Tensor finite = distance.sub(distance).eq(0);
  return close.logical_or(finite.logical_and(distance.le(allowed)));
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return tenon::isclose(self, other, rtol, atol, equal_nan).all().item().toBool();
}

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  int64_t lead = static_cast<int64_t>(repeats.size()) - self.dim();
  TENON_CHECK(lead >= 0, ValueError, "repeat: ", repeats,
              " has fewer entries than 'self' has dimensions (", self.dim(), ")");
  std::vector<int64_t> apart, wide, joined;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    TENON_CHECK(repeats[i] >= 0, ValueError, "repeat: negative count in ", repeats);
    int64_t size = static_cast<int64_t>(i) < lead ? 1 : self.size(static_cast<int64_t>(i) - lead);
    apart.insert(apart.end(), {1, size});
    wide.insert(wide.end(), {repeats[i], size});
    joined.push_back((core::Size(repeats[i]) * size).get("repeat", "a size of the result"));
  }
  TENON_CHECK(repeats.size() <= core::kMaxDims / 2, ValueError, "repeat: at most ",
              core::kMaxDims / 2, " dimensions are possible");
  return self.reshape(apart).expand(wide).clone(MemoryFormat::Contiguous).view(joined);
}
Tensor tile(const Tensor& self, IntArrayRef dims) {
  std::vector<int64_t> counts = dims.vec();
  while (static_cast<int64_t>(counts.size()) < self.dim()) counts.insert(counts.begin(), 1);
  return self.repeat(counts);
}

Tensor fliplr(const Tensor& self) {
  TENON_CHECK(self.dim() >= 2, ValueError, "fliplr: expected at least 2 dimensions, got ",
              self.dim());
  return self.flip({1});
}
Tensor flipud(const Tensor& self) {
  TENON_CHECK(self.dim() >= 1, ValueError, "flipud: expected at least 1 dimension");
  return self.flip({0});
}

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  TENON_CHECK(!shifts.empty(), ValueError, "roll: argument 'shifts' must not be empty");
  if (dims.empty()) {
    TENON_CHECK(shifts.size() == 1, ValueError, "roll: shifts ", shifts, " need as many dims");
    return self.reshape({-1}).roll(shifts, IntArrayRef(int64_t{0})).view(self.sizes());
  }
  TENON_CHECK(shifts.size() == dims.size(), ValueError, "roll: shifts ", shifts, " and dims ", dims,
              " differ in length");
  TENON_CHECK(self.dim() > 0, IndexError, "roll: dims ", dims,
              " given for a tensor without dimensions");
  Tensor out = self;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    int64_t d = wrap("roll", dims[i], self.dim());
    if (self.numel() == 0) continue;
    int64_t n = self.size(d), by = (shifts[i] % n + n) % n;
    if (by == 0) continue;
    out = cat({out.slice(d, n - by, n, 1), out.slice(d, 0, n - by, 1)}, d);
  }
  return out.is_same(self) ? self.clone(MemoryFormat::Contiguous) : out;
}

Tensor rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  TENON_CHECK(dims.size() == 2, ValueError, "rot90: expected two dims, got ", dims);
  TENON_CHECK(self.dim() >= 2, ValueError, "rot90: expected at least 2 dimensions, got ",
              self.dim());
  int64_t a = wrap("rot90", dims[0], self.dim()), b = wrap("rot90", dims[1], self.dim());
  TENON_CHECK(a != b, ValueError, "rot90: both dims are dimension ", a);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return self.flip(IntArrayRef(b)).transpose(a, b);
    case 2:
      return self.flip({a, b});
    case 3:
      return self.flip(IntArrayRef(a)).transpose(a, b);
    default:
      return self.clone(MemoryFormat::Contiguous);
  }
}

namespace {

// The source of each position of a dimension whose border is reflected or replicated.
int64_t padded_source(std::string_view mode, int64_t at, int64_t size) {
  if (mode == "replicate") return std::clamp<int64_t>(at, 0, size - 1);
  if (at < 0) at = -at;
  return at >= size ? 2 * (size - 1) - at : at;
}

Tensor pad_dim(const Tensor& self, int64_t d, int64_t before, int64_t after,
               std::string_view mode) {
  const int64_t size = self.size(d),
                n = (core::Size(size) + before + after).get("pad", "a size of the result");
  constexpr int64_t kLimit = int64_t{1} << 62;
  TENON_CHECK(before > -kLimit && after > -kLimit, ValueError, "pad: ", before, " and ", after,
              " are too large");
  TENON_CHECK(n >= 0 && size > 0, ValueError, "pad: dimension ", d, " of size ", size,
              " cannot be padded by ", before, " and ", after);
  bool reflect = mode == "reflect", circular = mode == "circular";
  TENON_CHECK(!reflect || (before < size && after < size), ValueError, "pad: reflection of ",
              before, " and ", after, " must be smaller than dimension ", d, " of size ", size);
  if (circular) {
    // A negative padding crops; what is left is wrapped around.
    const int64_t from = std::max<int64_t>(0, -before), left = std::max<int64_t>(0, before);
    const int64_t kept = size - from - std::max<int64_t>(0, -after),
                  right = std::max<int64_t>(0, after);
    TENON_CHECK(left <= kept && right <= kept, ValueError, "pad: wrapping ", before, " and ", after,
                " must not exceed the ", kept, " kept elements of dimension ", d, " of size ",
                size);
    const Tensor body = self.narrow(d, from, kept);
    return tenon::cat({body.narrow(d, kept - left, left), body, body.narrow(d, 0, right)}, d);
  }
  Tensor index = empty({n}, TensorOptions(kLong));
  int64_t* p = index.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) p[i] = padded_source(mode, i - before, size);
  return self.index_select(d, index.to(self.device()));
}

// By the operators for one to three spatial dimensions.
Tensor pad_planes(const Tensor& self, IntArrayRef pad, bool reflect) {
  switch (pad.size()) {
    case 2:
      return reflect ? tenon::reflection_pad1d(self, pad) : tenon::replication_pad1d(self, pad);
    case 4:
      return reflect ? tenon::reflection_pad2d(self, pad) : tenon::replication_pad2d(self, pad);
    default:
      return reflect ? tenon::reflection_pad3d(self, pad) : tenon::replication_pad3d(self, pad);
  }
}

}  // namespace

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode,
           std::optional<double> value) {
  TENON_CHECK(pad.size() % 2 == 0, ValueError, "pad: argument 'pad' ", pad,
              " must have an even length");
  TENON_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(), ValueError,
              "pad: argument 'pad' ", pad, " is too long for ", self.dim(), " dimensions");
  if (mode == "constant") {
    double v = value.value_or(0);
    bool whole = !self.is_floating_point() && v == std::trunc(v) && std::abs(v) < 0x1p63;
    return self.constant_pad_nd(pad, whole ? Scalar(static_cast<int64_t>(v)) : Scalar(v));
  }
  TENON_CHECK(mode == "reflect" || mode == "replicate" || mode == "circular", NotImplementedError,
              "pad: unknown mode '", std::string(mode), "'");
  TENON_CHECK(!value || *value == 0, ValueError, "pad: mode ", std::string(mode),
              " takes no value");
  const int64_t spatial = static_cast<int64_t>(pad.size()) / 2, lead = self.dim() - spatial;
  if (mode != "circular" && (lead == 1 || lead == 2) && spatial >= 1 && spatial <= 3) {
    return pad_planes(self, pad, mode == "reflect");
  }
  Tensor out = self;
  for (std::size_t k = 0; k < pad.size() / 2; ++k) {
    if (pad[2 * k] || pad[2 * k + 1])
      out =
          pad_dim(out, self.dim() - 1 - static_cast<int64_t>(k), pad[2 * k], pad[2 * k + 1], mode);
  }
  return out.is_same(self) ? self.clone() : out;
}

}  // namespace tenon::composite
