// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, and that ONNX has no operator for: the operator itself says
// where each element goes, when it is given the positions 0, 1, 2, ... in place of the elements.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// Of the elements that `op` gives in those of the first argument, flattened. `from`: the first
// argument of the call after its tensors.
Tensor positions(Call& c, const jit::Operator& op, std::size_t from) {
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const Tensor x = c.example(c.first_argument());
  jit::Stack stack{tenon::arange(x.numel(), TensorOptions(kInt64)).reshape(x.sizes())};
  for (std::size_t i = from; i < c.node.inputs().size(); ++i) {
    const ItemPtr argument = c.exporter.item(c.node.input(i));
    need(argument->constant, "it depends on a value that the program computes");
    stack.push_back(argument->example);
  }
  const std::size_t n = stack.size();
  op.call(stack, n);
  return stack.back().toTensor();
}

std::string flat(const Call& c, const std::string& x) {
  return c.op("Reshape", {x, c.int_list({-1})});
}

void rearrange(Call& c) {
  c.give(c.op(
      "Gather",
      {flat(c, c.in(c.first_argument())), c.constant(positions(c, *c.node.op, 1).contiguous())},
      {{"axis", int64_t{0}}}));
}
void as_strided(Call& c) {
  const Tensor x = c.example("self");
  need(x.is_contiguous() && x.storage_offset() == 0, "of a view");
  rearrange(c);
}

void diagonal_scatter(Call& c) { view_scatter(c, "diagonal"); }
void as_strided_scatter(Call& c) {
  const Tensor x = c.example("self");
  need(x.is_contiguous() && x.storage_offset() == 0, "of a view");
  view_scatter(c, "as_strided");
}

void diag_embed(Call& c) {
  const Tensor out = c.result();
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const Tensor at =
      tenon::arange(out.numel(), TensorOptions(kInt64))
          .reshape(out.sizes())
          .diagonal(c.integer("offset"), c.integer("dim1", -2), c.integer("dim2", -1));
  const Tensor zeros = tenon::zeros({out.numel()}, TensorOptions(out.scalar_type()));
  const std::string y =
      c.op("ScatterElements",
           {c.constant(zeros), c.constant(at.reshape({-1}).contiguous()), flat(c, c.in("self"))});
  c.give(c.op("Reshape", {y, c.int_list(out.sizes().vec())}));
}

void col2im(Call& c) {
  need(c.exporter.opset() >= 18, "needs opset 18");
  const bool batch = c.rank("self") == 3;
  const std::string x = batch ? c.in("self") : c.unsqueeze(c.in("self"), {0});
  std::vector<int64_t> pads = c.ints("padding", 2);
  pads.insert(pads.end(), pads.begin(), pads.begin() + 2);
  const std::string y = c.op(
      "Col2Im", {x, c.int_list(c.ints("output_size", 2)), c.int_list(c.ints("kernel_size", 2))},
      {{"dilations", IValue(c.ints("dilation", 2))},
       {"pads", IValue(pads)},
       {"strides", IValue(c.ints("stride", 2))}});
  c.give(batch ? y : c.squeeze(y, {0}));
}

// Of a max pool's result, put back to where it was found.
void max_unpool(Call& c) {
  const Tensor out = c.result();
  need(c.exporter.is_static(), "it needs sizes that are known: leave dynamic_axes out");
  const int64_t spatial = c.name == "aten::max_unpool3d" ? 3 : 2;
  std::vector<int64_t> planes(out.sizes().begin(), out.sizes().end() - spatial), each = planes;
  int64_t n = 1;
  for (int64_t d = out.dim() - spatial; d < out.dim(); ++d) n *= out.size(d);
  each.push_back(-1);
  planes.push_back(n);
  const std::string zeros = c.op("Expand", {c.constant(0, out.scalar_type()), c.int_list(planes)});
  const std::string y = c.op("ScatterElements",
                             {zeros, c.op("Reshape", {c.in("indices", kInt64), c.int_list(each)}),
                              c.op("Reshape", {c.in("self"), c.int_list(each)})},
                             {{"axis", int64_t{-1}}});
  c.give(c.op("Reshape", {y, c.int_list(out.sizes().vec())}));
}

const Rules::Entry list[] = {{"aten::unfold", rearrange},
                             {"aten::diagonal", rearrange},
                             {"aten::as_strided", as_strided},
                             {"aten::diagonal_scatter", diagonal_scatter},
                             {"aten::as_strided_scatter", as_strided_scatter},
                             {"aten::diag_embed", diag_embed},
                             {"aten::col2im", col2im},
                             {"aten::max_unpool2d", max_unpool},
                             {"aten::max_unpool3d", max_unpool}};
TENON_EXPORT_RULES(list);

}  // namespace

void view_scatter(Call& c, const char* view) {
  const jit::Operator* op = nullptr;
  for (const jit::Operator* o : jit::operators_named(std::string("aten::") + view))
    if (o->schema.arguments.size() + 1 == c.node.inputs().size()) op = o;
  need(op != nullptr, "there is no such view");
  const Tensor at = positions(c, *op, 2);
  const std::string src =
      c.op("Expand", {c.in("src", c.dtype("self")), c.int_list(at.sizes().vec())});
  const std::string y =
      c.op("ScatterElements",
           {flat(c, c.in("self")), c.constant(at.reshape({-1}).contiguous()), flat(c, src)});
  c.give(c.op("Reshape", {y, c.int_list(c.example("self").sizes().vec())}));
}

}  // namespace tenon::onnx::exporting
