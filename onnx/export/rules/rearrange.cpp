// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, and that ONNX has no operator for: the operator itself says
// where each element goes, when it is given the positions 0, 1, 2, ... in place of the elements.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// Of the operator's elements in those of its first argument, flattened.
Tensor positions(Call& c) {
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const Tensor x = c.example(c.first_argument());
  const Tensor all = tenon::arange(x.numel(), TensorOptions(kInt64)).reshape(x.sizes());
  jit::Stack stack{all};
  for (std::size_t i = 1; i < c.node.inputs().size(); ++i) {
    const ItemPtr argument = c.exporter.item(c.node.input(i));
    need(argument->constant, "it depends on a value that the program computes");
    stack.push_back(argument->example);
  }
  c.node.op->call(stack, c.node.inputs().size());
  return stack.back().toTensor();
}

std::string flat(const Call& c, const std::string& x) {
  return c.op("Reshape", {x, c.int_list({-1})});
}

void rearrange(Call& c) {
  c.give(c.op("Gather", {flat(c, c.in(c.first_argument())), c.constant(positions(c).contiguous())},
              {{"axis", int64_t{0}}}));
}
void as_strided(Call& c) {
  const Tensor x = c.example("self");
  need(x.is_contiguous() && x.storage_offset() == 0, "of a view");
  rearrange(c);
}

// The part of a tensor that a view shows, exchanged.
void diagonal_scatter(Call& c) {
  const Tensor x = c.example("self");
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const Tensor at = tenon::arange(x.numel(), TensorOptions(kInt64))
                        .reshape(x.sizes())
                        .diagonal(c.integer("offset"), c.integer("dim1", 0), c.integer("dim2", 1));
  const std::string y = c.op(
      "ScatterElements", {flat(c, c.in("self")), c.constant(at.reshape({-1}).contiguous()),
                          flat(c, c.in("src", c.dtype("self")))});
  c.give(c.op("Reshape", {y, c.int_list(x.sizes().vec())}));
}

void diag_embed(Call& c) {
  const Tensor out = c.result();
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const Tensor at = tenon::arange(out.numel(), TensorOptions(kInt64))
                        .reshape(out.sizes())
                        .diagonal(c.integer("offset"), c.integer("dim1", -2), c.integer("dim2", -1));
  const Tensor zeros = tenon::zeros({out.numel()}, TensorOptions(out.scalar_type()));
  const std::string y =
      c.op("ScatterElements", {c.constant(zeros), c.constant(at.reshape({-1}).contiguous()),
                               flat(c, c.in("self"))});
  c.give(c.op("Reshape", {y, c.int_list(out.sizes().vec())}));
}

void col2im(Call& c) {
  need(c.exporter.opset() >= 18, "needs opset 18");
  const bool batch = c.rank("self") == 3;
  const std::string x = batch ? c.in("self") : c.unsqueeze(c.in("self"), {0});
  std::vector<int64_t> pads = c.ints("padding", 2);
  pads.insert(pads.end(), pads.begin(), pads.begin() + 2);
  const std::string y =
      c.op("Col2Im",
           {x, c.int_list(c.ints("output_size", 2)), c.int_list(c.ints("kernel_size", 2))},
           {{"dilations", IValue(c.ints("dilation", 2))},
            {"pads", IValue(pads)},
            {"strides", IValue(c.ints("stride", 2))}});
  c.give(batch ? y : c.squeeze(y, {0}));
}

const Rules::Entry list[] = {{"aten::unfold", rearrange},     {"aten::diagonal", rearrange},
                             {"aten::as_strided", as_strided}, {"aten::diagonal_scatter",
                                                                diagonal_scatter},
                             {"aten::diag_embed", diag_embed}, {"aten::col2im", col2im}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
