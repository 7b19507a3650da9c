// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elementwise operators. Division and powers of integers are those of C.
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _like(a: Tensor, b: Tensor, axis: Optional[int]) -> Tensor:
  if axis is None:
    return b
  n = a.dim() - b.dim() - (axis + a.dim() if axis < 0 else axis)
  for i in range(n):
    b = b.unsqueeze(-1)
  return b
def Add(a: Tensor, b: Tensor) -> Tensor:
  return torch.add(a, b)
def Sub(a: Tensor, b: Tensor) -> Tensor:
  return torch.sub(a, b)
def Mul(a: Tensor, b: Tensor) -> Tensor:
  return torch.mul(a, b)
def Div(a: Tensor, b: Tensor) -> Tensor:
  if a.is_floating_point():
    return torch.div(a, b)
  return torch.div(a, b, rounding_mode="trunc")
def Div_real(a: Tensor, b: Tensor) -> Tensor:
  return torch.div(a, b)
def Pow(a: Tensor, b: Tensor) -> Tensor:
  if a.dtype == b.dtype:
    return torch.pow(a, b)
  if a.is_floating_point():
    return torch.pow(a, b.to(a.dtype))
  return torch.pow(a.to(torch.float64), b.to(torch.float64)).to(a.dtype)
def Add_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.add(a, _like(a, b, axis))
def Sub_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.sub(a, _like(a, b, axis))
def Mul_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.mul(a, _like(a, b, axis))
def Div_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return Div(a, _like(a, b, axis))
def Pow_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.pow(a, _like(a, b, axis))
def Add__1(a: int, b: int) -> int:
  return a + b
def Sub__1(a: int, b: int) -> int:
  return a - b
def Mul__1(a: int, b: int) -> int:
  return a * b
def _div_int(a: int, b: int) -> int:
  q = abs(a) // abs(b)
  return q if (a < 0) == (b < 0) else -q
def Div__1(a: int, b: int) -> int:
  return _div_int(a, b)
def _at(a: List[int], i: int) -> int:
  return a[0] if len(a) == 1 else a[i]
def Add__2(a: List[int], b: List[int]) -> List[int]:
  out: List[int] = []
  for i in range(max(len(a), len(b))):
    out.append(_at(a, i) + _at(b, i))
  return out
def Sub__2(a: List[int], b: List[int]) -> List[int]:
  out: List[int] = []
  for i in range(max(len(a), len(b))):
    out.append(_at(a, i) - _at(b, i))
  return out
def Mul__2(a: List[int], b: List[int]) -> List[int]:
  out: List[int] = []
  for i in range(max(len(a), len(b))):
    out.append(_at(a, i) * _at(b, i))
  return out
def Div__2(a: List[int], b: List[int]) -> List[int]:
  out: List[int] = []
  for i in range(max(len(a), len(b))):
    out.append(_div_int(_at(a, i), _at(b, i)))
  return out
def Add__3(a: List[int], b: int) -> List[int]:
  return [x + b for x in a]
def Sub__3(a: List[int], b: int) -> List[int]:
  return [x - b for x in a]
def Mul__3(a: List[int], b: int) -> List[int]:
  return [x * b for x in a]
def Div__3(a: List[int], b: int) -> List[int]:
  return [_div_int(x, b) for x in a]
def Add__4(a: int, b: List[int]) -> List[int]:
  return [a + x for x in b]
def Mul__4(a: int, b: List[int]) -> List[int]:
  return [a * x for x in b]
def Neg__1(a: int) -> int:
  return -a
def Mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
  return torch.fmod(a, b) if fmod == 1 else torch.remainder(a, b)
def Mod__1(a: int, b: int, *, fmod: int = 0) -> int:
  return a - b * _div_int(a, b) if fmod == 1 else a % b
def Abs(x: Tensor) -> Tensor:
  return torch.abs(x)
def Neg(x: Tensor) -> Tensor:
  return torch.neg(x)
def Acos(x: Tensor) -> Tensor:
  return torch.acos(x)
def Acosh(x: Tensor) -> Tensor:
  return torch.acosh(x)
def Asin(x: Tensor) -> Tensor:
  return torch.asin(x)
def Asinh(x: Tensor) -> Tensor:
  return torch.asinh(x)
def Atan(x: Tensor) -> Tensor:
  return torch.atan(x)
def Atanh(x: Tensor) -> Tensor:
  return torch.atanh(x)
def Ceil(x: Tensor) -> Tensor:
  return torch.ceil(x)
def Cos(x: Tensor) -> Tensor:
  return torch.cos(x)
def Cosh(x: Tensor) -> Tensor:
  return torch.cosh(x)
def Erf(x: Tensor) -> Tensor:
  return torch.erf(x)
def Exp(x: Tensor) -> Tensor:
  return torch.exp(x)
def Floor(x: Tensor) -> Tensor:
  return torch.floor(x)
def Log(x: Tensor) -> Tensor:
  return torch.log(x)
def Reciprocal(x: Tensor) -> Tensor:
  return torch.reciprocal(x)
def Round(x: Tensor) -> Tensor:
  return torch.round(x)
def Sign(x: Tensor) -> Tensor:
  return torch.sign(x)
def Sin(x: Tensor) -> Tensor:
  return torch.sin(x)
def Sinh(x: Tensor) -> Tensor:
  return torch.sinh(x)
def Sqrt(x: Tensor) -> Tensor:
  return torch.sqrt(x)
def Tan(x: Tensor) -> Tensor:
  return torch.tan(x)
def Identity(x: Tensor) -> Tensor:
  return x
def IsNaN(x: Tensor) -> Tensor:
  return torch.isnan(x)
def IsInf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
  if detect_negative == 1 and detect_positive == 1:
    return torch.isinf(x)
  if detect_positive == 1:
    return torch.isposinf(x)
  if detect_negative == 1:
    return torch.isneginf(x)
  return torch.zeros_like(x, dtype=torch.bool)
def And(a: Tensor, b: Tensor) -> Tensor:
  return torch.logical_and(a, b)
def Or(a: Tensor, b: Tensor) -> Tensor:
  return torch.logical_or(a, b)
def Xor(a: Tensor, b: Tensor) -> Tensor:
  return torch.logical_xor(a, b)
def Not(a: Tensor) -> Tensor:
  return torch.logical_not(a)
def And_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.logical_and(a, _like(a, b, axis))
def Or_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.logical_or(a, _like(a, b, axis))
def Xor_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.logical_xor(a, _like(a, b, axis))
def Equal(a: Tensor, b: Tensor) -> Tensor:
  return torch.eq(a, b)
def Greater(a: Tensor, b: Tensor) -> Tensor:
  return torch.gt(a, b)
def Less(a: Tensor, b: Tensor) -> Tensor:
  return torch.lt(a, b)
def GreaterOrEqual(a: Tensor, b: Tensor) -> Tensor:
  return torch.ge(a, b)
def LessOrEqual(a: Tensor, b: Tensor) -> Tensor:
  return torch.le(a, b)
def Equal_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.eq(a, _like(a, b, axis))
def Greater_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.gt(a, _like(a, b, axis))
def Less_6(a: Tensor, b: Tensor, *, axis: Optional[int] = None, broadcast: int = 0) -> Tensor:
  return torch.lt(a, _like(a, b, axis))
def BitwiseAnd(a: Tensor, b: Tensor) -> Tensor:
  return torch.bitwise_and(a, b)
def BitwiseOr(a: Tensor, b: Tensor) -> Tensor:
  return torch.bitwise_or(a, b)
def BitwiseXor(a: Tensor, b: Tensor) -> Tensor:
  return torch.bitwise_xor(a, b)
def _shift(x: Tensor, y: Tensor, bits: int, left: bool) -> Tensor:
  inside = (y >= 0) & (y < bits)
  s = torch.where(inside, y, torch.zeros_like(y))
  if left:
    return torch.where(inside, torch.bitwise_left_shift(x, s), torch.zeros_like(x))
  return torch.where(inside, torch.bitwise_right_shift(x, s), torch.where(x < 0, torch.full_like(x, -1), torch.zeros_like(x)))
def Where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
  return torch.where(condition, a, b)
def Sum(inputs: List[Tensor]) -> Tensor:
  out = inputs[0]
  for i in range(1, len(inputs)):
    out = out + inputs[i]
  return out
def Mean(inputs: List[Tensor]) -> Tensor:
  return Sum(inputs) / len(inputs)
def Max(inputs: List[Tensor]) -> Tensor:
  out = inputs[0]
  for i in range(1, len(inputs)):
    out = torch.maximum(out, inputs[i])
  return out
def Max__1(inputs: List[int]) -> int:
  out = inputs[0]
  for i in range(1, len(inputs)):
    out = max(out, inputs[i])
  return out
def Min__1(inputs: List[int]) -> int:
  out = inputs[0]
  for i in range(1, len(inputs)):
    out = min(out, inputs[i])
  return out
def Min(inputs: List[Tensor]) -> Tensor:
  out = inputs[0]
  for i in range(1, len(inputs)):
    out = torch.minimum(out, inputs[i])
  return out
def Clip(x: Tensor, low: Optional[Tensor], high: Optional[Tensor]) -> Tensor:
  if low is not None:
    x = torch.maximum(x, low)
  if high is not None:
    x = torch.minimum(x, high)
  return x
def Clip_10(x: Tensor, *, min: Optional[float] = None, max: Optional[float] = None) -> Tensor:
  if min is not None:
    x = torch.clamp_min(x, min)
  if max is not None:
    x = torch.clamp_max(x, max)
  return x
def _scan_all(x: Tensor, axis: int, exclusive: int, reverse: int, product: bool) -> Tensor:
  if reverse == 1:
    x = x.flip([axis])
  if exclusive == 1:
    n = x.size(axis)
    first = torch.ones_like(x.narrow(axis, 0, 1)) if product else torch.zeros_like(x.narrow(axis, 0, 1))
    x = torch.cat([first, x.narrow(axis, 0, n - 1)], axis)
  y = torch.cumprod(x, axis, dtype=x.dtype) if product else torch.cumsum(x, axis, dtype=x.dtype)
  return y.flip([axis]) if reverse == 1 else y
def CumSum(x: Tensor, axis: int, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
  return _scan_all(x, axis, exclusive, reverse, False)
def CumProd(x: Tensor, axis: int, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
  return _scan_all(x, axis, exclusive, reverse, True)
def Det(x: Tensor) -> Tensor:
  return torch.linalg.det(x)
def Einsum(inputs: List[Tensor], *, equation: str) -> Tensor:
  return torch.einsum(equation, inputs)
def MatMul(a: Tensor, b: Tensor) -> Tensor:
  return torch.matmul(a, b)
def Gemm(a: Tensor, b: Tensor, c: Optional[Tensor], *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0, broadcast: int = 0) -> Tensor:
  if transA != 0:
    a = a.t()
  if transB != 0:
    b = b.t()
  if c is None:
    y = torch.mm(a, b)
    return y if alpha == 1.0 else y * alpha
  if a.is_floating_point():
    return torch.addmm(c, a, b, beta=beta, alpha=alpha)
  return (torch.mm(a, b) * alpha + c * beta).to(a.dtype)
)py");

// A linear layer where it is one.
std::vector<ItemPtr> translate_gemm(Builder& b, Call& c) {
  const ItemPtr shift = c.optional_input(2);
  const bool vector = !shift || (shift->constant.defined() && shift->constant.dim() == 1);
  const bool plain = c.real("alpha", 1) == 1 && c.real("beta", 1) == 1 && c.input(0)->dtype &&
                     isFloatingType(*c.input(0)->dtype) && c.integer("transA", 0) == 0;
  if (plain && vector && c.integer("transB", 0) != 0)
    return {Builder::item(b.emit1("aten::linear", {b.tensor(c.input(0)), b.tensor(c.input(1)),
                                                   shift ? b.tensor(shift) : b.constant(IValue())}),
                          c.input(0)->dtype)};
  if (plain && shift && c.integer("transB", 0) == 0)
    return {Builder::item(
        b.emit1("aten::addmm", {b.tensor(shift), b.tensor(c.input(0)), b.tensor(c.input(1))}),
        c.input(0)->dtype)};
  return b.call_function(c, "Gemm", Gives::Same);
}

std::vector<ItemPtr> translate_div(Builder& b, Call& c) {
  const bool real = c.input(0)->dtype && isFloatingType(*c.input(0)->dtype);
  return b.call_function(c, real ? "Div_real" : "Div", Gives::Same);
}

// Each form of a value, as it is.
std::vector<ItemPtr> translate_identity(Builder&, Call& c) {
  auto copy = std::make_shared<Item>(*c.input(0));
  return {c.input(0)->is_initializer && !c.input(0)->tensor ? c.input(0) : copy};
}

// The bits that the type of the file has; 0: what holds it has no more.
int64_t mask_of(const Item& i) {
  return i.onnx_type == pb::UINT16 ? 0xffff : i.onnx_type == pb::UINT32 ? 0xffffffff : 0;
}
// Wraps as the type of the file does.
ItemPtr wrapped(Builder& b, const Item& like, Value* y) {
  if (const int64_t mask = mask_of(like))
    y = b.emit1("aten::bitwise_and.Scalar", {y, b.constant(mask)});
  ItemPtr out = Builder::item(y, like.dtype);
  out->onnx_type = like.onnx_type;
  return out;
}
std::vector<ItemPtr> translate_sum(Builder& b, Call& c) {
  const std::string& op = c.node.op_type();
  if (!mask_of(*c.input(0))) return b.call_function(c, op.c_str(), Gives::Same);
  const char* const name = op == "Add"   ? "aten::add.Tensor"
                           : op == "Sub" ? "aten::sub.Tensor"
                                         : "aten::mul.Tensor";
  std::vector<Value*> arguments{b.tensor(c.input(0)), b.tensor(c.input(1))};
  if (op != "Mul") arguments.push_back(b.constant(int64_t{1}));
  return {wrapped(b, *c.input(0), b.emit1(name, arguments))};
}

std::vector<ItemPtr> translate_shift(Builder& b, Call& c) {
  const std::string direction = c.text("direction", "");
  TENON_CHECK(direction == "LEFT" || direction == "RIGHT", ValueError, "direction is '", direction,
              "'");
  const int32_t known = c.input(0)->onnx_type;
  const int64_t bits =
      known == pb::UINT16 ? 16
      : known == pb::UINT32
          ? 32
          : static_cast<int64_t>(8 * elementSize(c.input(0)->dtype.value_or(kLong)));
  Value* y = b.call_text("_shift", {b.tensor(c.input(0)), b.tensor(c.input(1)), b.constant(bits),
                                    b.constant(direction == "LEFT")})
                 .at(0);
  return {wrapped(b, *c.input(0), y)};
}

std::vector<ItemPtr> translate_bitwise_not(Builder& b, Call& c) {
  return {wrapped(b, *c.input(0), b.emit1("aten::bitwise_not", {b.tensor(c.input(0))}))};
}

constexpr Gives kSame = Gives::Same, kBoolean = Gives::Bool;
const Entry kMath[] = {
    {"Add", 7, 0, kSame, nullptr, translate_sum},
    {"Sub", 7, 0, kSame, nullptr, translate_sum},
    {"Mul", 7, 0, kSame, nullptr, translate_sum},
    {"Div", 7, 0, kSame, nullptr, translate_div},
    {"Pow", 7, 0, kSame},
    {"Add", 1, 6, kSame, "Add_6"},
    {"Sub", 1, 6, kSame, "Sub_6"},
    {"Mul", 1, 6, kSame, "Mul_6"},
    {"Div", 1, 6, kSame, "Div_6"},
    {"Pow", 1, 6, kSame, "Pow_6"},
    {"Mod", 10, 0, kSame},
    {"Abs", 1, 0, kSame},
    {"Neg", 1, 0, kSame},
    {"Acos", 7, 0, kSame},
    {"Acosh", 9, 0, kSame},
    {"Asin", 7, 0, kSame},
    {"Asinh", 9, 0, kSame},
    {"Atan", 7, 0, kSame},
    {"Atanh", 9, 0, kSame},
    {"Ceil", 1, 0, kSame},
    {"Cos", 7, 0, kSame},
    {"Cosh", 9, 0, kSame},
    {"Erf", 9, 0, kSame},
    {"Exp", 1, 0, kSame},
    {"Floor", 1, 0, kSame},
    {"Log", 1, 0, kSame},
    {"Reciprocal", 1, 0, kSame},
    {"Round", 11, 0, kSame},
    {"Sign", 9, 0, kSame},
    {"Sin", 7, 0, kSame},
    {"Sinh", 9, 0, kSame},
    {"Sqrt", 1, 0, kSame},
    {"Tan", 7, 0, kSame},
    {"Identity", 1, 0, kSame, nullptr, translate_identity},
    {"IsNaN", 9, 0, kBoolean},
    {"IsInf", 10, 0, kBoolean},
    {"And", 7, 0, kBoolean},
    {"Or", 7, 0, kBoolean},
    {"Xor", 7, 0, kBoolean},
    {"And", 1, 6, kBoolean, "And_6"},
    {"Or", 1, 6, kBoolean, "Or_6"},
    {"Xor", 1, 6, kBoolean, "Xor_6"},
    {"Not", 1, 0, kBoolean},
    {"Equal", 7, 0, kBoolean},
    {"Greater", 7, 0, kBoolean},
    {"Less", 7, 0, kBoolean},
    {"Equal", 1, 6, kBoolean, "Equal_6"},
    {"Greater", 1, 6, kBoolean, "Greater_6"},
    {"Less", 1, 6, kBoolean, "Less_6"},
    {"GreaterOrEqual", 12, 0, kBoolean},
    {"LessOrEqual", 12, 0, kBoolean},
    {"BitwiseAnd", 18, 0, kSame},
    {"BitwiseOr", 18, 0, kSame},
    {"BitwiseXor", 18, 0, kSame},
    {"BitwiseNot", 18, 0, kSame, nullptr, translate_bitwise_not},
    {"BitShift", 11, 0, kSame, nullptr, translate_shift},
    {"Where", 9, 0, Gives::Second},
    {"Sum", 1, 0, kSame},
    {"Mean", 1, 0, kSame},
    {"Max", 1, 0, kSame},
    {"Min", 1, 0, kSame},
    {"Clip", 11, 0, kSame},
    {"Clip", 1, 10, kSame, "Clip_10"},
    {"CumSum", 11, 0, kSame},
    {"CumProd", 26, 0, kSame},
    {"Det", 11, 0, kSame},
    {"Einsum", 12, 0, kSame},
    {"MatMul", 1, 0, kSame},
    {"Gemm", 1, 0, kSame, nullptr, translate_gemm},
};
const Entries kRegistered("", kMath, std::size(kMath));

}  // namespace
}  // namespace tenon::onnx
