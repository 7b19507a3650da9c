// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The quantized operators of torchao's programs (its namespace is of that name): blocks of any
// shape have a scale and a zero point each. integer = clamp(round(real / scale) + zero_point),
// real = (integer - zero_point) * scale; floats of 8 bits have no zero point.
#include <algorithm>
#include <limits>

#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using Sizes = std::vector<int64_t>;
using OptionalTensor = std::optional<Tensor>;
using OptionalScalar = std::optional<Scalar>;
using OptionalType = std::optional<ScalarType>;
using OptionalDouble = std::optional<double>;

// A tensor in blocks: a dimension that several blocks divide becomes two, the blocks and the
// elements of one, the second at index `inner`. `kept` has size 1 where `dims`, those inside a
// block, are reduced. Other dimensions are taken as they are, whatever their sizes: models that are
// written have these operators, too.
struct Blocks {
  Sizes kept, dims, inner, elements;
};
Blocks blocks_of(const Tensor& x, const Sizes& block) {
  TENON_CHECK(static_cast<int64_t>(block.size()) == x.dim(), ValueError, "block_size has ",
              block.size(), " sizes for a tensor with ", x.dim(), " dimensions");
  Blocks b;
  const auto add = [&](int64_t size, bool inside) {
    if (inside) b.dims.push_back(static_cast<int64_t>(b.kept.size()));
    b.kept.push_back(inside ? 1 : size);
  };
  for (std::size_t i = 0; i < block.size(); ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i));
    if (block[i] <= 1 || block[i] == size) {
      add(size, block[i] != 1);
      continue;
    }
    TENON_CHECK(size % block[i] == 0, ValueError, "block_size has ", block[i], " for dimension ", i,
                ", which does not divide its size ", size);
    add(size / block[i], false);
    b.inner.push_back(static_cast<int64_t>(b.kept.size()));
    b.elements.push_back(block[i]);
    add(block[i], true);
  }
  return b;
}
Tensor split(Tensor x, const Blocks& b) {
  for (std::size_t i = 0; i < b.inner.size(); ++i)
    x = x.unflatten(b.inner[i] - 1, Sizes{-1, b.elements[i]});
  return x;
}
Tensor joined(Tensor x, const Blocks& b) {
  for (std::size_t i = 0; i < b.inner.size(); ++i) {
    const int64_t dim = b.inner[i] - 1 - static_cast<int64_t>(i);
    x = x.flatten(dim, dim + 1);
  }
  return x;
}
// Scales or zero points, one per block, so that they broadcast with the blocks.
Tensor per_block(const Tensor& t, const Blocks& b) {
  for (const Sizes* missing :
       {&b.dims, &b.inner}) {  // without what was reduced, or as one per block
    if (t.dim() + missing->size() != b.kept.size()) continue;
    Tensor out = t;
    for (const int64_t dim : *missing) out = out.unsqueeze(dim);
    if (out.sizes() == IntArrayRef(b.kept)) return out;
  }
  return t.reshape(b.kept);
}
bool given(const OptionalTensor& t) { return t && t->numel() > 0; }

double bound(const OptionalScalar& value, ScalarType dtype, bool upper) {
  if (value) return value->to<double>();
  switch (dtype) {
    case kByte:
      return upper ? 255 : 0;
    case kChar:
      return upper ? 127 : -128;
    case kShort:
      return upper ? 32767 : -32768;
    case kInt:
      return upper ? 2147483647.0 : -2147483648.0;
    case kFloat8_e4m3fn:
      return upper ? 448 : -448;
    case kFloat8_e5m2:
      return upper ? 57344 : -57344;
    case kFloat8_e4m3fnuz:
      return upper ? 240 : -240;
    case kFloat8_e5m2fnuz:
      return upper ? 57344 : -57344;
    default:
      break;
  }
  TENON_CHECK(false, TypeError, "quant_min and quant_max must be given for the dtype ",
              toString(dtype));
  return 0;
}

Tensor quantize(const Tensor& x, const Sizes& block, const Tensor& scale,
                const OptionalTensor& zero, ScalarType dtype, const OptionalScalar& low,
                const OptionalScalar& high) {
  const Blocks b = blocks_of(x, block);
  Tensor q = (split(x, b) * per_block(scale, b).reciprocal()).round();
  if (given(zero)) q = q + per_block(*zero, b);
  return joined(q.clamp(bound(low, dtype, false), bound(high, dtype, true)), b).to(dtype);
}
Tensor dequantize(const Tensor& q, const Sizes& block, const Tensor& scale,
                  const OptionalTensor& zero, ScalarType, const OptionalScalar&,
                  const OptionalScalar&, ScalarType out) {
  const Blocks b = blocks_of(q, block);
  Tensor x = split(q, b).to(out);
  if (given(zero)) x = x - per_block(*zero, b).to(out);
  return joined(x * per_block(scale, b), b).to(out);
}

double smallest_normal(ScalarType dtype) {
  if (dtype == kHalf) return 0x1p-14;
  return dtype == kDouble ? std::numeric_limits<double>::min()
                          : static_cast<double>(std::numeric_limits<float>::min());
}
using TwoTensors = std::tuple<Tensor, Tensor>;
TwoTensors choose(const Tensor& x, const std::string& mapping, const Sizes& block, ScalarType dtype,
                  const OptionalScalar& quant_min, const OptionalScalar& quant_max,
                  const OptionalDouble& given_eps, const OptionalType& scale_dtype,
                  const OptionalType& zero_dtype, bool keepdim) {
  const Blocks b = blocks_of(x, block);
  const double low = bound(quant_min, dtype, false), high = bound(quant_max, dtype, true);
  const double eps = given_eps.value_or(smallest_normal(x.scalar_type()));
  const Tensor parts = split(x, b);
  const Tensor least = parts.amin(b.dims, keepdim).clamp_max(0);
  const Tensor most = parts.amax(b.dims, keepdim).clamp_min(0);
  Tensor scale, zero;
  if (mapping == "ASYMMETRIC") {
    scale = ((most - least) / (high - low)).clamp_min(eps);
    zero = (low - (least / scale).round()).clamp(low, high).to(zero_dtype.value_or(kInt));
  } else {
    TENON_CHECK(mapping == "SYMMETRIC" || mapping == "SYMMETRIC_NO_CLIPPING_ERR", ValueError,
                "mapping_type must be SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC, not ",
                mapping);
    scale = mapping == "SYMMETRIC" ? maximum(least.neg(), most) / ((high - low) / 2)
                                   : maximum(least / low, most / high);
    scale = scale.clamp_min(eps);
    const auto middle = static_cast<int64_t>((high + low + 1) / 2);
    zero = full_like(scale, middle, zero_dtype.value_or(scale.scalar_type()));
  }
  if (keepdim) scale = joined(scale, b), zero = joined(zero, b);
  return {scale.to(scale_dtype.value_or(x.scalar_type())), zero};
}

Tensor choose_float8(const Tensor& x, const Sizes& block, ScalarType dtype, ScalarType scale_dtype,
                     const OptionalDouble& low, const OptionalDouble& high) {
  const Blocks b = blocks_of(x, block);
  Tensor most = split(x, b).abs().amax(b.dims, true);
  if (low) most = most.clamp_min(*low);
  if (high) most = most.clamp_max(*high);
  Tensor scale = joined(most / bound(std::nullopt, dtype, true), b);
  if (scale_dtype != kFloat) scale = scale.log2().round().exp2();  // a power of two
  return scale.to(kFloat);
}
// Repeats each scale over its block, where the scales do not broadcast as they are.
Tensor over_blocks(Tensor scale, const Tensor& x) {
  if (scale.numel() == 1) return scale;
  TENON_CHECK(scale.dim() == x.dim(), ValueError, "scale has ", scale.dim(),
              " dimensions, the tensor ", x.dim());
  for (int64_t i = 0; i < x.dim(); ++i) {
    const int64_t n = scale.size(i), size = x.size(i);
    TENON_CHECK(n > 0 && size % n == 0, ValueError, "dimension ", i, " of size ", size, " has ", n,
                " scales, which do not divide it");
    if (n != 1 && n != size) scale = scale.repeat_interleave(size / n, i);
  }
  return scale;
}
Tensor quantize_float8(const Tensor& x, const Tensor& scale, ScalarType dtype) {
  const double most = bound(std::nullopt, dtype, true);
  return (x.to(kFloat) / over_blocks(scale, x)).clamp(-most, most).to(dtype);
}
Tensor dequantize_float8(const Tensor& q, const Tensor& scale, ScalarType out) {
  return (q.to(kFloat) * over_blocks(scale, q)).to(out);
}
Tensor int_product(const Tensor& a, const Tensor& b) { return tenon::_int_mm(a, b); }
Tensor scaled_int_product(const Tensor& a, const Tensor& b, const Tensor& scales) {
  return tenon::_int_mm(a, b) * scales;
}

#define TORCHAO(schema, f) \
  { "torchao::" schema, unboxed<f> }
#define BLOCKS "Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
#define RANGE "Scalar? quant_min=None, Scalar? quant_max=None"
const HostOperator list[] = {
    TORCHAO("quantize_affine(" BLOCKS "ScalarType output_dtype, " RANGE ") -> Tensor", quantize),
    TORCHAO("dequantize_affine(" BLOCKS "ScalarType input_dtype, " RANGE
            ", ScalarType output_dtype=6) -> Tensor",
            dequantize),
    TORCHAO("choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, "
            "ScalarType target_dtype, " RANGE
            ", float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, "
            "bool keepdim=False) -> (Tensor, Tensor)",
            choose),
    TORCHAO("choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, "
            "ScalarType scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor",
            choose_float8),
    TORCHAO("quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType "
            "float8_dtype=24) -> Tensor",
            quantize_float8),
    TORCHAO("dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType "
            "output_dtype=6) -> Tensor",
            dequantize_float8),
    TORCHAO("int_matmul(Tensor a, Tensor b) -> Tensor", int_product),
    TORCHAO("int_scaled_matmul(Tensor a, Tensor b, Tensor scales1) -> Tensor", scaled_int_product),
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
