// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Casts, those to types that Tenon holds in wider ones included: their values are those of the
// type.
#include <cmath>
#include <limits>

#include "onnx/import/builder.h"
#include "onnx/ops/cast.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _round_small(x: Tensor, mantissa: int, least: int, largest: float, beyond: float, infinite: float, nan: float, zero: bool) -> Tensor:
  wide = x.to(torch.float64)
  safe = torch.where(torch.isfinite(wide), wide, torch.zeros_like(wide))
  _, exponent = torch.frexp(safe)
  unit = torch.clamp_min(exponent - 1, least) - mantissa
  scale = torch.pow(2.0, unit.to(torch.float64))
  y = torch.round(safe / scale) * scale
  sign = torch.where(torch.signbit(wide), -1.0, 1.0).to(torch.float64)
  y = torch.where(torch.abs(y) > largest, sign * beyond, y)
  y = torch.where(torch.isinf(wide), sign * infinite, y)
  y = torch.where(torch.isnan(wide), torch.full_like(wide, nan), y)
  if zero:
    y = torch.where(y == 0, torch.zeros_like(y), y)
  return y.to(torch.float32)
def _round_scale(x: Tensor, mode: str, saturate: bool) -> Tensor:
  wide = torch.abs(x.to(torch.float64))
  m, exponent = torch.frexp(torch.where(torch.isfinite(wide), wide, torch.ones_like(wide)))
  e = exponent.to(torch.float64) - 1.0
  if mode == "up":
    e = torch.where(m > 0.5, e + 1.0, e)
  elif mode == "nearest":
    e = torch.where(m >= 0.75, e + 1.0, e)
  nan = torch.full_like(wide, float("nan"))
  top = torch.full_like(wide, 127.0)
  y = torch.pow(2.0, torch.clamp(e, -127.0, 127.0))
  over = torch.pow(2.0, top) if saturate else nan
  y = torch.where((e > 127.0) | torch.isinf(wide), over, y)
  y = torch.where(wide == 0, torch.pow(2.0, -top), y)
  return torch.where(torch.isnan(wide), nan, y).to(torch.float32)
def _wrap_bits(x: Tensor, bits: int, signed: bool, dtype: int) -> Tensor:
  i = x.to(torch.int64)
  i = torch.bitwise_and(i, (1 << bits) - 1)
  if signed:
    half = 1 << (bits - 1)
    i = torch.bitwise_xor(i, half) - half
  return i.to(dtype)
def _to_bool(x: Tensor) -> Tensor:
  return x != 0
def _to_small_int(x: Tensor, dtype: int) -> Tensor:
  return x.to(torch.int64).to(dtype)
)py");

struct Bits {
  int bits;
  bool is_signed;
};
std::optional<Bits> wrapped_bits(int32_t type) {
  switch (type) {
    case pb::UINT16:
      return Bits{16, false};
    case pb::UINT32:
      return Bits{32, false};
    case pb::UINT4:
      return Bits{4, false};
    case pb::INT4:
      return Bits{4, true};
    case pb::UINT2:
      return Bits{2, false};
    case pb::INT2:
      return Bits{2, true};
    default:
      return std::nullopt;
  }
}

Value* to_small_float(Builder& b, Value* x, int32_t type, bool saturate, const std::string& mode) {
  const SmallFloat& f = *small_float(type);
  if (!f.is_signed)
    return b.call_text("_round_scale", {x, b.constant(mode), b.constant(saturate)}).at(0);
  const double most = round_to(f, std::numeric_limits<float>::max(), true);
  const double beyond = round_to(f, std::numeric_limits<float>::max(), saturate);
  const double infinite = round_to(f, std::numeric_limits<float>::infinity(), saturate);
  const double nan = round_to(f, std::numeric_limits<float>::quiet_NaN(), saturate);
  return b
      .call_text("_round_small",
                 {x, b.constant(int64_t{f.mantissa}), b.constant(int64_t{1 - f.bias}),
                  b.constant(most), b.constant(beyond), b.constant(infinite), b.constant(nan),
                  b.constant(f.nan_is_negative_zero)})
      .at(0);
}

std::vector<ItemPtr> translate_cast(Builder& b, Call& c) {
  return {cast_to(b, c.input(0), static_cast<int32_t>(c.integer("to", 0)),
                  c.integer("saturate", 1) != 0, c.text("round_mode", "up"))};
}

std::vector<ItemPtr> translate_cast_like(Builder& b, Call& c) {
  const ItemPtr& like = c.input(1);
  const int32_t type = type_of_item(*like);
  if (type != 0)
    return {
        cast_to(b, c.input(0), type, c.integer("saturate", 1) != 0, c.text("round_mode", "up"))};
  Value* y = b.emit1("aten::type_as", {b.tensor(c.input(0)), b.tensor(like)});
  return {Builder::item(y)};
}

std::vector<ItemPtr> translate_bit_cast(Builder& b, Call& c) {
  const auto to = static_cast<int32_t>(c.integer("to", 0));
  const auto dtype = dtype_of(to);
  const int32_t from = type_of_item(*c.input(0));
  const auto own = [](int32_t type) {
    return !small_float(type) && !wrapped_bits(type) && type != pb::UINT64;
  };
  const auto integer_bits = [&](int32_t type) -> int64_t {
    if (const auto b = wrapped_bits(type)) return b->bits;
    const auto held = dtype_of(type);
    const bool integral = held && isIntegralType(*held) && !small_float(type);
    return integral ? static_cast<int64_t>(8 * elementSize(*held)) : 0;
  };
  const int64_t bits = integer_bits(to);
  if (bits > 0 && bits == integer_bits(from) && !(own(to) && own(from))) {
    const auto wrapped = wrapped_bits(to);
    const bool is_signed = wrapped ? wrapped->is_signed : to != pb::UINT8 && to != pb::UINT64;
    Value* x = b.tensor(c.input(0));
    if (bits < 64)
      x = b.call_text("_wrap_bits",
                      {x, b.constant(bits), b.constant(is_signed), b.constant(*dtype)})
              .at(0);
    ItemPtr out = Builder::item(x, *dtype);
    out->onnx_type = to;
    return {out};
  }
  TENON_CHECK(dtype && own(to) && own(from), NotImplementedError, "bits of ", name_of_type(from),
              " as ", name_of_type(to), ": Tenon holds one of them in a wider type");
  ItemPtr out = Builder::item(
      b.emit1("aten::view.dtype", {b.tensor(c.input(0)), b.constant(*dtype)}), *dtype);
  out->onnx_type = to;
  return {out};
}

const Entry kCasts[] = {
    {"Cast", 6, 0, Gives::Unknown, nullptr, translate_cast},
    {"CastLike", 15, 0, Gives::Unknown, nullptr, translate_cast_like},
    {"BitCast", 26, 0, Gives::Unknown, nullptr, translate_bit_cast},
};
const Entries kRegistered("", kCasts, std::size(kCasts));

}  // namespace

int32_t type_of_item(const Item& i) {
  if (i.onnx_type != 0) return i.onnx_type;
  if (!i.dtype) return 0;
  for (int32_t type = 1; type <= pb::BFLOAT16; ++type)
    if (!wrapped_bits(type) && dtype_of(type) == i.dtype) return type;
  return 0;
}

ItemPtr cast_to(Builder& b, const ItemPtr& x, int32_t type, bool saturate,
                const std::string& mode) {
  const auto dtype = dtype_of(type);
  TENON_CHECK(dtype, NotImplementedError, "a cast to ", name_of_type(type), " is not supported");
  if (x->ints && (type == pb::INT64 || type == pb::INT32)) {
    auto out = std::make_shared<Item>(*x);
    out->tensor = nullptr;
    out->dtype = dtype;
    out->onnx_type = type;
    return out;
  }
  Value* v = b.tensor(x);
  if (small_float(type))
    v = to_small_float(b, v, type, saturate, mode);
  else if (const auto bits = wrapped_bits(type))
    v = b.call_text("_wrap_bits", {v, b.constant(int64_t{bits->bits}), b.constant(bits->is_signed),
                                   b.constant(*dtype)})
            .at(0);
  else if (type == pb::BOOL)
    v = b.call_text("_to_bool", {v}).at(0);
  else if (type == pb::UINT8 || type == pb::INT8 || type == pb::INT16)
    v = b.call_text("_to_small_int", {v, b.constant(*dtype)}).at(0);
  else if (x->dtype != dtype)
    v = b.emit1("aten::to.dtype", {v, b.constant(*dtype)});
  ItemPtr out = Builder::item(v, *dtype);
  out->onnx_type = type;
  return out;
}

}  // namespace tenon::onnx
