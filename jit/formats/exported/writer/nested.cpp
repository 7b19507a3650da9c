// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fast path of nn.TransformerEncoder: sequences without their padding, in a nested tensor,
// which files cannot hold. What is written is a tensor with its padding, and the layers take a mask
// of it. torch leaves the fast path where padding is not at the end of its sequence; the results
// differ in that the fast path's padding becomes zeros, so the file decides by its data what is set
// to zero.
#include "jit/formats/exported/writer/program_writer.h"

namespace tenon::jit::formats {

// Of every sequence, whether no padding comes before an element: a bool in a tensor.
const ProgramWriter::Item* ProgramWriter::is_left_aligned(const Item& kept) {
  const Item *one = make(int64_t{1}, true), *zero = make(int64_t{0}, true);
  const Item* numbers = emit("aten::to.dtype", {&kept, make(IValue(kLong), true)});
  return emit("aten::all",
              {emit("aten::le.Scalar", {emit("aten::diff", {numbers, one, one}), zero})});
}

// `padding` of a nested tensor's elements, over their features, becomes `value`.
const ProgramWriter::Item* ProgramWriter::fill_padding(const Item& tensor, const Item& padding,
                                                       const Item& value) {
  const Item* mask = emit("aten::unsqueeze", {&padding, make(int64_t{-1}, true)});
  return emit("aten::masked_fill.Scalar", {&tensor, mask, &value});
}

bool ProgramWriter::visit_nested(const Node& n) {
  if (n.is("aten::_nested_tensor_from_mask_left_aligned")) {
    items_[n.output()] = make(true, true);
    return true;
  }
  if (n.is("aten::_nested_tensor_from_mask")) {
    const Item* kept = &at(n.input(1));
    const Item* padding = emit("aten::logical_not", {kept});
    const Item* zeros = emit("aten::logical_and", {padding, is_left_aligned(*kept)});
    const Item* made = fill_padding(at(n.input(0)), *zeros, *make(0.0, true));
    nested_[made] = {padding, zeros};
    items_[n.output()] = made;
    return true;
  }
  const auto it = n.inputs().empty() ? nested_.end() : nested_.find(&at(n.input(0)));
  if (it == nested_.end()) return false;
  const Nested nested = it->second;
  if (n.is("aten::to_padded_tensor")) {
    items_[n.output()] = fill_padding(at(n.input(0)), *nested.zeros, at(n.input(1)));
    return true;
  }
  if (!n.is("aten::_transformer_encoder_layer_fwd")) return false;
  std::vector<const Item*> arguments;
  for (const Value* v : n.inputs()) arguments.push_back(&at(v));
  constexpr std::size_t kMask = 18, kMaskType = 19;
  arguments[kMask] = nested.padding;
  arguments[kMaskType] = make(int64_t{1}, true);  // of keys
  const Item* made = emit("aten::_transformer_encoder_layer_fwd", arguments);
  nested_[made] = nested;
  items_[n.output()] = made;
  return true;
}

}  // namespace tenon::jit::formats
