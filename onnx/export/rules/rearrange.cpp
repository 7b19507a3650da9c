// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, and that ONNX has no operator for: the operator itself says
// where each element goes, when it is given the positions 0, 1, 2, ... in place of the elements.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

constexpr const char* kNeedsSizes = "it needs sizes that are known: leave dynamic_axes out";

// Of the elements that `op` gives in those of the first argument, flattened. `from`: the first
// argument of the call after its tensors.
Tensor positions(Call& c, const jit::Operator& op, std::size_t from) {
  need(c.is_fixed(c.first_argument()), kNeedsSizes);
  const Tensor x = c.example(c.first_argument());
  Tensor at = tenon::arange(x.numel(), TensorOptions(kInt64)).reshape(x.sizes());
  if (c.name == "aten::as_strided") {  // places in memory
    const Tensor as_they_lie = tenon::empty_strided(x.sizes(), x.strides(), TensorOptions(kInt64));
    as_they_lie.copy_(at);
    at = as_they_lie;
  }
  jit::Stack stack{at};
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
// Of dimensions that vary: the places of the diagonal, in two dimensions.
void diagonal(Call& c) {
  if (c.is_fixed("self")) return rearrange(c);
  const int64_t rank = c.rank("self"), offset = c.integer("offset");
  const auto wrap = [rank](int64_t d) { return d < 0 ? d + rank : d; };
  const int64_t rows = wrap(c.integer("dim1", 0)), columns = wrap(c.integer("dim2", 1));
  std::vector<int64_t> order{rows, columns}, back;
  for (int64_t d = 0; d < rank; ++d)
    if (d != rows && d != columns) order.push_back(d);
  for (int64_t d = 1; d < rank - 1; ++d) back.push_back(d);
  back.push_back(0);
  const auto number = [&c](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const std::string x = c.transpose(c.in("self"), order), shape = c.op("Shape", {x}),
                    down = number(std::max<int64_t>(-offset, 0)),
                    right = number(std::max<int64_t>(offset, 0));
  const auto left = [&](int64_t d, const std::string& skipped) {
    return c.op("Sub", {c.squeeze(c.slice(shape, 0, d, d + 1), {0}), skipped});
  };
  const std::string n = c.op("Max", {c.op("Min", {left(0, down), left(1, right)}), number(0)}),
                    along = c.unsqueeze(c.op("Range", {number(0), n, number(1)}), {1}),
                    at = c.op("Concat", {c.op("Add", {along, down}), c.op("Add", {along, right})},
                              {{"axis", int64_t{1}}});
  c.give(c.transpose(c.op("GatherND", {x, at}), back));
}

// Each place in its memory has one element, in some order of dimensions.
bool covers_memory(const Tensor& x) {
  std::map<int64_t, int64_t> sizes;  // by stride
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) != 1 && !sizes.emplace(x.stride(d), x.size(d)).second) return false;
  int64_t n = 1;
  for (const auto& [stride, size] : sizes) {
    if (stride != n) return false;
    n *= size;
  }
  return x.storage_offset() == 0;
}
// Of sizes that vary: a tensor that lies in order whatever these are.
void as_strided_of_any_size(Call& c) {
  const Tensor x = c.example("self");
  const bool ordered =
      std::all_of(x.sizes().begin(), x.sizes().end(), [](int64_t n) { return n > 1; });
  need(x.is_contiguous() && x.storage_offset() == 0 && ordered, kNeedsSizes);
  const auto numbers = [&c](const char* argument) {
    Item& list = c.get(argument);
    Names all;
    if (list.constant)
      for (const int64_t v : c.ints(argument)) all.push_back(c.constant(as_tensor(IValue(v))));
    need(list.constant || list.has_parts, "a list that the program computes");
    if (!list.constant)
      for (const ItemPtr& p : list.parts) all.push_back(c.exporter.name_of(*p));
    return all;
  };
  const auto number = [&c](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const Names sizes = numbers("size"), strides = numbers("stride");
  std::string at = c.none("storage_offset") ? number(0) : c.in("storage_offset");
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::vector<int64_t> after;
    for (std::size_t i = k + 1; i < sizes.size(); ++i) after.push_back(static_cast<int64_t>(i - k));
    const std::string along = c.op("Range", {number(0), sizes[k], number(1)});
    at = c.op("Add", {at, c.unsqueeze(c.op("Mul", {along, strides.at(k)}), after)});
  }
  c.give(c.op("Gather", {flat(c, c.in("self")), at}, {{"axis", int64_t{0}}}));
}
void as_strided(Call& c) {
  if (!c.is_fixed("self") || !c.is_constant("size") || !c.is_constant("stride"))
    return as_strided_of_any_size(c);
  need(covers_memory(c.example("self")), "of a view of a part");
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
  need(c.is_fixed("self"), kNeedsSizes);
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
  need(c.is_fixed("self") && c.is_constant("output_size"), kNeedsSizes);
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

// Where windows along one axis have their elements: one window per row, or one column per window.
struct Windows {
  int64_t size, step, dilation;
  bool rows;
};
std::string places(Call& c, const std::string& x, int64_t axis, int64_t n, bool fixed,
                   const Windows& w) {
  const int64_t reach = (w.size - 1) * w.dilation;
  const Tensor in_window =
      tenon::arange(w.size, TensorOptions(kInt64)).mul(w.dilation).unsqueeze(w.rows ? 0 : 1);
  if (fixed) {
    const Tensor begin = tenon::arange(0, n - reach, w.step, TensorOptions(kInt64));
    return c.constant((begin.unsqueeze(w.rows ? 1 : 0) + in_window).contiguous());
  }
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const std::string size =
      c.op("Gather", {c.op("Shape", {x}), number(axis)}, {{"axis", int64_t{0}}});
  const std::string begin =
      c.op("Range", {number(0), c.op("Sub", {size, number(reach)}), number(w.step)});
  return c.op("Add", {c.unsqueeze(begin, {w.rows ? 1 : 0}), c.constant(in_window)});
}

void unfold(Call& c) {
  const int64_t rank = c.rank("self");
  if (rank == 0) return rearrange(c);
  const int64_t dim = c.axis("dimension", "self");
  const std::string x = c.in("self");
  const std::string at = places(c, x, dim, c.size("self", dim), c.is_fixed("self", dim),
                                {c.integer("size"), c.integer("step"), 1, true});
  std::vector<int64_t> order;
  for (int64_t d = 0; d <= rank; ++d)
    if (d != dim + 1) order.push_back(d);
  order.push_back(dim + 1);
  c.give(c.transpose(c.op("Gather", {x, at}, {{"axis", dim}}), order));
}

// Windows along both axes: (.., height of one, rows of them, width, columns), then side by side.
void im2col(Call& c) {
  const bool batch = c.rank("self") == 4;
  need(c.is_fixed("self", -3), kNeedsSizes);
  const std::vector<int64_t> kernel = c.ints("kernel_size", 2), step = c.ints("stride", 2),
                             dilation = c.ints("dilation", 2), pad = c.ints("padding", 2);
  std::string x = batch ? c.in("self") : c.unsqueeze(c.in("self"), {0});
  if (pad[0] > 0 || pad[1] > 0)
    x = c.op("Pad", {x, c.int_list({0, 0, pad[0], pad[1], 0, 0, pad[0], pad[1]}),
                     c.constant(0, c.dtype("self"))});
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {  // the first axis stays in place
    const auto axis = static_cast<int64_t>(i) + 2, from_end = axis - 4;
    const std::string at =
        places(c, x, axis, c.size("self", from_end) + 2 * pad[i], c.is_fixed("self", from_end),
               {kernel[i], step[i], dilation[i], false});
    x = c.op("Gather", {x, at}, {{"axis", axis}});
  }
  x = c.transpose(x, {0, 1, 2, 4, 3, 5});
  const int64_t rows = c.size("self", -3) * kernel[0] * kernel[1];
  x = c.op("Reshape", {x, c.int_list({0, rows, -1})});
  c.give(batch ? x : c.squeeze(x, {0}));
}

const Rules::Entry list[] = {{"aten::unfold", unfold},
                             {"aten::im2col", im2col},
                             {"aten::diagonal", diagonal},
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
