// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sequences are lists of tensors; optionals are values or None.
#include "onnx/import/builder.h"
#include "onnx/ops/cast.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using jit::Type;
using jit::TypeKind;

const Texts kTexts(R"py(
def SequenceConstruct(inputs: List[Tensor]) -> List[Tensor]:
  return inputs
def SequenceAt(s: List[Tensor], at: int) -> Tensor:
  return s[at]
def SequenceLength(s: List[Tensor]) -> int:
  return len(s)
def SequenceInsert(s: List[Tensor], x: Tensor, at: Optional[int]) -> List[Tensor]:
  out = s.copy()
  if at is None:
    out.append(x)
  else:
    out.insert(at, x)
  return out
def SequenceErase(s: List[Tensor], at: Optional[int]) -> List[Tensor]:
  out = s.copy()
  k = -1 if at is None else at
  n = k + len(s) if k < 0 else k
  assert n >= 0 and n < len(s), "position {} of a sequence of {}".format(k, len(s))
  out.pop(n)
  return out
def SequenceEmpty(*, dtype: int = 6) -> List[Tensor]:
  out: List[Tensor] = []
  return out
def _concat_sequence(s: List[Tensor], axis: int, new_axis: int) -> Tensor:
  return torch.stack(s, axis) if new_axis == 1 else torch.cat(s, axis)
def _split_by_tensor(x: Tensor, sizes: Tensor, axis: int) -> List[Tensor]:
  s: List[int] = sizes.reshape([-1]).to(torch.int64).tolist()
  return torch.split(x, s[0], axis) if sizes.dim() == 0 else torch.split(x, s, axis)
def _split_to_sequence(x: Tensor, sizes: List[int], whole: bool, axis: int, keepdims: int) -> List[Tensor]:
  size = 1
  if len(sizes) > 0:
    if not whole:
      return torch.split(x, sizes, axis)
    size = sizes[0]
  parts = torch.split(x, size, axis)
  if keepdims == 1 or size != 1:
    return parts
  return [p.squeeze(axis) for p in parts]
)py");

std::vector<ItemPtr> translate_concat(Builder& b, Call& c) {
  Value* y =
      b.call_text("_concat_sequence", {b.sequence(c.input(0)), b.constant(c.integer("axis", 0)),
                                       b.constant(c.integer("new_axis", 0))})
          .at(0);
  return {Builder::item(y, c.input(0)->dtype)};
}

std::vector<ItemPtr> translate_split(Builder& b, Call& c) {
  const ItemPtr split = c.optional_input(1);
  bool whole = false;
  if (split && !b.constant_ints(split) && !split->ints) {
    Value* y = b.call_text("_split_by_tensor", {b.tensor(c.input(0)), b.tensor(split),
                                                b.constant(c.integer("axis", 0))})
                   .at(0);
    ItemPtr out = Builder::item(y);
    out->dtype = c.input(0)->dtype;
    return {out};
  }
  if (split) {
    const auto known = b.constant_ints(split);
    whole = split->is_int() || (known && split->constant.dim() == 0);
  }
  Value* sizes = split ? b.int_list(split) : b.constant(std::vector<int64_t>());
  Value* y = b.call_text("_split_to_sequence",
                         {b.tensor(c.input(0)), sizes, b.constant(whole),
                          b.constant(c.integer("axis", 0)), b.constant(c.integer("keepdims", 1))})
                 .at(0);
  ItemPtr out = Builder::item(y);
  out->dtype = c.input(0)->dtype;
  return {out};
}

jit::TypePtr type_of_proto(const pb::TypeProto& t) {
  if (t.has_sequence_type()) return Type::list(Type::tensor());
  return Type::tensor();
}

std::vector<ItemPtr> translate_optional(Builder& b, Call& c) {
  if (const ItemPtr in = c.optional_input(0)) return {in};
  const auto* a = c.find("type");
  TENON_CHECK(a && a->has_tp(), ValueError, "an optional without a value needs a type");
  Value* none = b.graph().insert_constant(IValue(), {}, Type::optional(type_of_proto(a->tp())));
  return {Builder::item(none)};
}

std::vector<ItemPtr> translate_get_element(Builder& b, Call& c) {
  const ItemPtr& in = c.input(0);
  if (!in->other || !in->other->type()->is(TypeKind::Optional)) return {in};
  const jit::TypePtr& of = in->other->type()->element();
  return {Builder::item(b.insert1("prim::unchecked_cast", {in->other}, of), in->dtype)};
}

std::vector<ItemPtr> translate_has_element(Builder& b, Call& c) {
  const ItemPtr in = c.optional_input(0);
  const bool optional = in && in->other && in->other->type()->is(TypeKind::Optional);
  if (!optional) return {Builder::constant_item(scalar_tensor(in != nullptr, kBool))};
  Value* has = b.emit1("aten::__isnot__", {in->other, b.constant(IValue())});
  return {Builder::item(has, kBool)};
}

std::vector<ItemPtr> translate_construct(Builder& b, Call& c) {
  std::vector<ItemPtr> out = b.call_function(c, "SequenceConstruct", Gives::Same);
  out[0]->dtype = c.inputs.empty() ? std::nullopt : c.input(0)->dtype;
  return out;
}

const Entry kSequences[] = {
    {"SequenceConstruct", 11, 0, Gives::Same, nullptr, translate_construct},
    {"SequenceAt", 11, 0, Gives::Same},
    {"SequenceLength", 11, 0, Gives::Long},
    {"SequenceInsert", 11, 0, Gives::Same},
    {"SequenceErase", 11, 0, Gives::Same},
    {"SequenceEmpty", 11, 0},
    {"ConcatFromSequence", 11, 0, Gives::Same, nullptr, translate_concat},
    {"SplitToSequence", 11, 0, Gives::Same, nullptr, translate_split},
    {"Optional", 15, 0, Gives::Same, nullptr, translate_optional},
    {"OptionalGetElement", 15, 0, Gives::Same, nullptr, translate_get_element},
    {"OptionalHasElement", 15, 0, Gives::Bool, nullptr, translate_has_element},
};
const Entries kRegistered("", kSequences, std::size(kSequences));

}  // namespace
}  // namespace tenon::onnx
