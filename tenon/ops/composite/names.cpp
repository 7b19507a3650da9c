// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small relatives of other operators, what dtypes give together, and storage that is exchanged.
#include <algorithm>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/core/sizes.h"
#include "tenon/creation.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/composite/write_list.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;
using Indices = ArrayRef<OptTensor>;

std::vector<Tensor> copies(std::vector<Tensor> parts) {
  for (Tensor& part : parts) part = part.clone(MemoryFormat::Contiguous);
  return parts;
}
template <class F>
std::vector<Tensor> each(TensorList tensors, F f) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

// Indices that are in range wherever a mask leaves them out.
std::vector<OptTensor> held(const Tensor& self, Indices indices) {
  std::vector<OptTensor> out;
  for (const OptTensor& i : indices) {
    const auto d = static_cast<int64_t>(out.size());
    TENON_CHECK(!i || d < self.dim(), IndexError, "_unsafe_masked_index: too many indices for ",
                self.dim(), " dimensions");
    out.push_back(i && i->defined() ? OptTensor(i->clamp(0, std::max<int64_t>(self.size(d) - 1, 0)))
                                    : std::nullopt);
  }
  return out;
}

// Without elements, and with a dimension unless t has none.
Tensor stand_in(const Tensor& t) {
  return tenon::empty(std::vector<int64_t>(t.dim() ? 1 : 0, 0), TensorOptions(t.scalar_type()));
}

const Tensor& exchange(const Tensor& self, const Tensor& with) {
  check_leaves("set_", {self});
  self.set_data(with);
  self.unsafeGetTensorImpl()->bump_version();
  return self;
}

}  // namespace

std::vector<Tensor> split_copy_Tensor(const Tensor& self, int64_t size, int64_t dim) {
  return copies(self.split(size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, IntArrayRef sizes, int64_t dim) {
  return copies(self.split_with_sizes(sizes, dim));
}
std::vector<Tensor> atleast_1d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return tenon::atleast_1d(t); });
}
std::vector<Tensor> atleast_2d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return tenon::atleast_2d(t); });
}
std::vector<Tensor> atleast_3d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return tenon::atleast_3d(t); });
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size,
                          IntArrayRef stride, std::optional<int64_t> offset) {
  TENON_CHECK(
      src.sizes() == size, ValueError,
      "as_strided_scatter: expected src to have a size equal to the slice of self. src size "
      "= ",
      src.sizes(), ", slice size = ", size);
  // The geometry is one of self's storage: which element of self lies where, or one more for none.
  const TensorOptions places(TensorOptions(kLong).device(self.device()));
  const int64_t n = self.numel();
  int64_t end = self.storage_offset() + 1;
  for (int64_t d = 0; d < self.dim(); ++d) end += (self.size(d) - 1) * self.stride(d);
  const Tensor storage = tenon::full({std::max<int64_t>(n ? end : 0, 0)}, n, places);
  if (n > 0) {
    storage.as_strided(self.sizes(), self.strides(), self.storage_offset())
        .copy_(tenon::arange(n, places).view(self.sizes()));
  }
  const Tensor at = storage.as_strided(size, stride, offset.value_or(self.storage_offset()));
  return tenon::constant_pad_nd(self.reshape({-1}), {0, 1})
      .scatter(0, at.reshape({-1}), src.to(self.scalar_type()).reshape({-1}))
      .narrow(0, 0, n)
      .view(self.sizes());
}

Tensor _shape_as_tensor(const Tensor& self) {
  return tenon::tensor(self.sizes().vec(), TensorOptions(kLong));
}
Tensor _int_mm(const Tensor& self, const Tensor& mat2) {
  const bool fits = self.scalar_type() == kInt8 || self.scalar_type() == kByte;
  TENON_CHECK(fits && mat2.scalar_type() == kInt8, TypeError,
              "_int_mm: expected int8 matrices, the first of them also uint8, got ",
              toString(self.scalar_type()), " and ", toString(mat2.scalar_type()));
  TENON_CHECK(self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(0), ValueError,
              "_int_mm: self and mat2 must be matrices that can be multiplied, got ", self.sizes(),
              " and ", mat2.sizes());
  if (self.numel() == 0 || mat2.numel() == 0) return self.to(kInt).mm(mat2.to(kInt));
  // Rows are the pixels of an image of one column.
  const Tensor image = self.t().unsqueeze(0).unsqueeze(-1),
               filters = mat2.t().unsqueeze(-1).unsqueeze(-1),
               one = tenon::ones({1}, TensorOptions(self.device()).dtype(kFloat));
  return tenon::_int8_convolution(image, filters, std::nullopt, one, {1, 1}, {0, 0}, {1, 1}, 1, 0,
                                  kInt, 0, false)
      .squeeze(-1)
      .squeeze(0)
      .t();
}
Tensor _scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                  const Tensor& scale_b, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& scale_result, std::optional<ScalarType> out_dtype,
                  bool) {
  TENON_CHECK(self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(0), ValueError,
              "_scaled_mm: self and mat2 must be matrices that can be multiplied, got ",
              self.sizes(), " and ", mat2.sizes());
  TENON_CHECK(self.is_floating_point() && mat2.is_floating_point(), TypeError,
              "_scaled_mm: expected floating matrices, got ", toString(self.scalar_type()), " and ",
              toString(mat2.scalar_type()));
  const bool one = scale_a.numel() == 1 && scale_b.numel() == 1;
  const bool rows = scale_a.sizes() == IntArrayRef({self.size(0), 1}) &&
                    scale_b.sizes() == IntArrayRef({1, mat2.size(1)});
  TENON_CHECK(one || rows, ValueError,
              "_scaled_mm: Invalid scaling configuration: expected one scale each, or scale_a of "
              "shape [",
              self.size(0), ", 1] and scale_b of shape [1, ", mat2.size(1), "], got ",
              scale_a.sizes(), " and ", scale_b.sizes());
  TENON_CHECK(!scale_result || !scale_result->defined(), NotImplementedError,
              "_scaled_mm: scale_result is not supported: torch multiplies by it on CUDA and "
              "divides by it on the CPU");
  const ScalarType wide =
      tenon::promote_types(kFloat, tenon::promote_types(self.scalar_type(), mat2.scalar_type()));
  const auto scaled = [&](const Tensor& m, const Tensor& scale) {
    return m.to(wide) * (one ? scale.reshape({}) : scale).to(wide);
  };
  const Tensor product = scaled(self, scale_a).mm(scaled(mat2, scale_b));
  const ScalarType dtype = out_dtype.value_or(self.scalar_type());
  return bias && bias->defined() ? (product + bias->to(wide)).to(dtype) : product.to(dtype);
}
std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted, bool return_inverse) {
  auto [values, inverse, counts] = tenon::_unique2(self, sorted, return_inverse, false);
  return {values, inverse};
}
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& self, int64_t dim,
                                                          bool return_inverse, bool return_counts) {
  dim = wrap("unique_dim_consecutive", dim, self.dim());
  return tenon::unique_consecutive(self, return_inverse, return_counts, dim);
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double value,
                    std::string_view padding_side) {
  const char* name = "pad_sequence";
  TENON_CHECK(!sequences.empty(), ValueError, name, ": received an empty list of sequences");
  const bool left = padding_side == "left";
  TENON_CHECK(left || padding_side == "right", ValueError, name,
              ": padding_side should be either 'right' or 'left', but got '", padding_side, "'");
  int64_t longest = 0;
  for (const Tensor& t : sequences) {
    TENON_CHECK(t.dim() > 0, ValueError, name, ": expected sequences of at least 1 dimension");
    TENON_CHECK(t.sizes().slice(1) == sequences[0].sizes().slice(1), ValueError, name,
                ": sequences may differ in the first dimension only, got ", t.sizes(), " and ",
                sequences[0].sizes());
    longest = std::max(longest, t.size(0));
  }
  std::vector<Tensor> filled;
  for (const Tensor& t : sequences) {
    std::vector<int64_t> amounts(static_cast<std::size_t>(2 * t.dim()), 0);
    amounts[amounts.size() - (left ? 2 : 1)] = longest - t.size(0);
    filled.push_back(tenon::constant_pad_nd(t, amounts, value));
  }
  return tenon::stack(filled, batch_first ? 0 : 1);
}

Tensor _chunk_cat(TensorList tensors, int64_t dim, int64_t n) {
  const char* name = "_chunk_cat";
  TENON_CHECK(n >= 1, ValueError, name, ": expects num_chunks to be at least 1, got ", n);
  TENON_CHECK(!tensors.empty(), ValueError, name, ": expects a non-empty list of tensors");
  dim = wrap(name, dim, tensors[0].dim());
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    TENON_CHECK(t.numel() > 0, ValueError, name, ": expects tensors with elements");
    TENON_CHECK(t.scalar_type() == tensors[0].scalar_type(), ValueError, name,
                ": expects tensors of one dtype");
    TENON_CHECK(t.dim() > dim && t.sizes().slice(0, static_cast<std::size_t>(dim)) ==
                                     tensors[0].sizes().slice(0, static_cast<std::size_t>(dim)),
                ValueError, name, ": expects the same sizes before dimension ", dim, ", got ",
                t.sizes(), " and ", tensors[0].sizes());
    const core::Size each = (t.size(dim) - 1) / n + 1;
    const int64_t whole = (each * n).get(name, "the size of the chunks");
    std::vector<int64_t> amounts(static_cast<std::size_t>(2 * (t.dim() - dim)), 0);
    amounts.back() = whole - t.size(dim);
    std::vector<int64_t> shape(t.sizes().begin(), t.sizes().begin() + dim);
    shape.insert(shape.end(), {n, -1});
    parts.push_back(tenon::constant_pad_nd(t, amounts, 0).reshape(shape));
  }
  return tenon::cat(parts, dim + 1);
}

Tensor _pad_enum(const Tensor& self, IntArrayRef pad, int64_t mode, std::optional<double> value) {
  constexpr const char* kModes[] = {"reflect", "replicate", "circular", "constant"};
  TENON_CHECK(mode >= 0 && mode < 4, ValueError, "_pad_enum: unknown padding mode ", mode);
  return tenon::pad(self, pad, kModes[mode], value);
}

Tensor flatten_dense_tensors(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "flatten_dense_tensors: expected at least one tensor");
  return tenon::cat(each(tensors, [](const Tensor& t) { return t.reshape({-1}); }));
}
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  int64_t at = 0;
  return each(tensors, [&](const Tensor& t) {
    const Tensor part = flat.narrow(0, at, t.numel());
    at += t.numel();
    return part.view(t.sizes());
  });
}

Tensor _unsafe_masked_index(const Tensor& self, const Tensor& mask, Indices indices,
                            const Scalar& fill) {
  return self.index(held(self, indices)).masked_fill(mask.logical_not(), fill);
}
Tensor _unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask, Indices indices,
                                           const Tensor& values) {
  return self.index_put(held(self, indices), values.masked_fill(mask.logical_not(), 0), true);
}

Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap_around) {
  TENON_CHECK(self.dim() >= 2, ValueError, "fill_diagonal_: dimensions must larger than 1");
  TENON_CHECK(!(self.unsafeGetTensorImpl()->view.flags & TN_TENSOR_OVERLAPPING), ValueError,
              "fill_diagonal_: elements of 'self' share memory");
  const IntArrayRef sizes = self.sizes(), strides = self.strides();
  int64_t least = sizes[0], step = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    TENON_CHECK(sizes.size() == 2 || sizes[d] == sizes[0], ValueError,
                "fill_diagonal_: all dimensions of input must be of equal length");
    least = std::min(least, sizes[d]), step += strides[d];
  }
  self.as_strided({least}, {step}, self.storage_offset()).fill_(value);
  // The diagonal of a tall matrix goes on below, a line free between.
  const int64_t below = least + 1;
  if (wrap_around && sizes.size() == 2 && sizes[0] > below)
    self.narrow(0, below, sizes[0] - below).fill_diagonal_(value, true);
  return self;
}

Tensor embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm,
                         double norm_type) {
  TENON_CHECK(self.dim() == 2, ValueError, "embedding_renorm_: expected a matrix, got ",
              self.sizes());
  const NoGradGuard none;
  const Tensor rows = std::get<0>(tenon::_unique2(indices.to(kLong).reshape({-1})));
  if (rows.numel() > 0)
    self.index_copy_(0, rows, self.index_select(0, rows).renorm(norm_type, 0, max_norm));
  return self;
}

ScalarType result_type_Tensor(const Tensor& tensor, const Tensor& other) {
  return (stand_in(tensor) + stand_in(other)).scalar_type();
}
ScalarType result_type_Scalar(const Tensor& tensor, const Scalar& other) {
  return (stand_in(tensor) + other).scalar_type();
}
ScalarType result_type_Scalar_Tensor(const Scalar& scalar, const Tensor& tensor) {
  return (stand_in(tensor) + scalar).scalar_type();
}
ScalarType result_type_Scalar_Scalar(const Scalar& a, const Scalar& b) {
  const auto of = [](const Scalar& s) {
    return s.isFloatingPoint() ? get_default_dtype() : s.isBoolean() ? kBool : kLong;
  };
  return tenon::promote_types(of(a), of(b));
}
// Floats to integers, integers to bools and signed to unsigned lose what they hold.
bool can_cast(ScalarType from, ScalarType to) {
  const auto kind = [](ScalarType t) { return static_cast<int>(core::dtype_class(t)); };
  const bool unsigned_only = isIntegralType(from) && from != kUInt8 && to == kUInt8;
  return kind(from) <= kind(to) && !unsigned_only;
}

Tensor float_power__Scalar(const Tensor& self, const Scalar& exponent) {
  TENON_CHECK(self.scalar_type() == kDouble, ValueError,
              "float_power_: the base given to float_power_ has dtype ",
              toString(self.scalar_type()), " but the operation's result requires dtype float64");
  return self.copy_(tenon::float_power(self, exponent));
}
Tensor float_power__Tensor(const Tensor& self, const Tensor& exponent) {
  TENON_CHECK(self.scalar_type() == kDouble, ValueError,
              "float_power_: the base given to float_power_ has dtype ",
              toString(self.scalar_type()), " but the operation's result requires dtype float64");
  return self.copy_(tenon::float_power(self, exponent));
}

Tensor resize_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> format) {
  return self.resize_(size, format);
}
Tensor resize_as_(const Tensor& self, const Tensor& like, std::optional<MemoryFormat> format) {
  return self.resize_(like.sizes(), format);
}

Tensor set_(const Tensor& self) {
  return exchange(self, tenon::empty({0}, TensorOptions(self.scalar_type()).device(self.device())));
}
Tensor set__source_Tensor(const Tensor& self, const Tensor& source) {
  TENON_CHECK(self.scalar_type() == source.scalar_type(), TypeError, "set_: expected dtype ",
              toString(self.scalar_type()), ", got ", toString(source.scalar_type()));
  return exchange(self, source.detach());
}
Tensor set__source_Tensor_storage_offset(const Tensor& self, const Tensor& source, int64_t offset,
                                         IntArrayRef size, IntArrayRef stride) {
  std::vector<int64_t> strides = stride.vec();
  if (stride.empty()) {
    core::Size step = 1;
    strides.assign(size.size(), 1);
    for (std::size_t d = size.size(); d-- > 0;) {
      strides[d] = step.get("set_", "the product of argument 'size'");
      step = step * std::max<int64_t>(size[d], 1);
    }
  }
  return set__source_Tensor(self, source.detach().as_strided(size, strides, offset));
}

}  // namespace tenon::composite
