// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements by their positions.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

void index_select(Call& c) {
  if (c.rank("self") == 0) return c.give(c.in("self"));
  c.give(c.op("Gather", {c.in("self"), c.in("index")}, {{"axis", c.axis("dim", "self")}}));
}
void gather(Call& c) {
  c.give(c.op("GatherElements", {c.in("self"), c.in("index", kInt64)},
              {{"axis", c.axis("dim", "self")}}));
}
void take_along_dim(Call& c) {
  need(!c.none("dim"), "without dim is not supported");
  const int64_t dim = c.axis("dim", "self");
  for (int64_t d = 0; d < c.rank("self"); ++d)
    need(d == dim || c.size("self", d) == c.size("indices", d), "sizes that are broadcast");
  c.give(c.op("GatherElements", {c.in("self"), c.in("indices", kInt64)}, {{"axis", dim}}));
}
void scatter(Call& c) {
  const ScalarType d = c.dtype("self");
  std::string src;
  if (c.has("src"))
    src = c.in("src", d);
  else
    src = c.op("Expand", {c.in("value", d), c.op("Shape", {c.in("index")})});
  Attrs attrs{{"axis", c.axis("dim", "self")}};
  std::string reduction = c.name == "aten::scatter_add" ? "add" : "";
  if (c.has("reduce")) reduction = c.text("reduce") == "multiply" ? "mul" : "add";
  if (!reduction.empty()) {
    need(c.exporter.opset() >= 16, "a reduction needs opset 16");
    attrs.push_back({"reduction", reduction});
  }
  if (c.has("src") && c.example("src").sizes() != c.example("index").sizes()) {
    std::vector<int64_t> begin, end, axes;  // as many elements of src as there are positions
    for (int64_t i = 0; i < c.rank("index"); ++i) {
      begin.push_back(0);
      end.push_back(c.size("index", i));
      axes.push_back(i);
    }
    src = c.op("Slice", {src, c.int_list(begin), c.int_list(end), c.int_list(axes)});
  }
  c.give(c.op("ScatterElements", {c.in("self"), c.in("index", kInt64), src}, attrs));
}

struct Positions {
  std::vector<int64_t> dims;  // that have a tensor
  Names names;
  std::vector<Tensor> examples;
};
Positions positions(Call& c) {
  Item& list = c.get("indices");
  need(list.has_parts || list.constant, "a list that the program computes");
  std::vector<ItemPtr> parts = list.parts;
  if (!list.has_parts)
    for (const IValue& v : list.example.toListRef().items)
      parts.push_back(std::make_shared<Item>(Item{v, true}));
  Positions p;
  int64_t dim = 0;
  for (const ItemPtr& i : parts) {
    if (!i->example.isNone()) {
      const Tensor t = as_tensor(i->example);
      p.dims.push_back(dim);
      p.examples.push_back(t);
      p.names.push_back(c.cast(c.exporter.name_of(*i), t.scalar_type(),
                               t.scalar_type() == kBool ? kBool : kInt64));
    }
    dim += !i->example.isNone() && as_tensor(i->example).scalar_type() == kBool
               ? as_tensor(i->example).dim()
               : 1;
  }
  return p;
}

void index(Call& c) {
  const Positions p = positions(c);
  const std::string x = c.in("self");
  if (p.dims.empty()) return c.give(x);
  if (p.dims.size() == 1 && p.examples[0].scalar_type() == kBool) {
    need(p.dims[0] == 0, "a mask that is not the first");
    const std::string at = c.transpose(c.op("NonZero", {p.names[0]}), {1, 0});
    return c.give(c.op("GatherND", {x, at}));
  }
  for (const Tensor& t : p.examples) need(t.scalar_type() != kBool, "masks beside other positions");
  if (p.dims.size() == 1) return c.give(c.op("Gather", {x, p.names[0]}, {{"axis", p.dims[0]}}));
  // Neighbors from the first dimension on: GatherND of the positions side by side.
  const int64_t rank = c.rank("self");
  std::vector<int64_t> order = p.dims;
  bool neighbors = true;
  for (std::size_t i = 0; i < p.dims.size(); ++i)
    neighbors = neighbors && p.dims[i] == p.dims[0] + static_cast<int64_t>(i);
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(p.dims.begin(), p.dims.end(), d) == p.dims.end()) order.push_back(d);
  std::string shape;
  int64_t common = 0;
  for (const Tensor& t : p.examples) common = std::max(common, t.dim());
  Names same;
  std::string sum = p.names[0];
  for (std::size_t i = 1; i < p.names.size(); ++i) sum = c.op("Add", {sum, p.names[i]});
  shape = c.op("Shape", {sum});
  for (const std::string& n : p.names)
    same.push_back(c.unsqueeze(c.op("Expand", {n, shape}), {common}));
  const std::string at = c.op("Concat", same, {{"axis", common}});
  const std::string first = p.dims[0] == 0 && neighbors ? x : c.transpose(x, order);
  std::string y = c.op("GatherND", {first, at});
  if (neighbors && p.dims[0] > 0) {  // the result's dimensions go where the first one was
    std::vector<int64_t> back;
    for (int64_t i = 0; i < p.dims[0]; ++i) back.push_back(common + i);
    for (int64_t i = 0; i < common; ++i) back.push_back(i);
    for (int64_t i = common + p.dims[0]; i < c.result().dim(); ++i) back.push_back(i);
    y = c.transpose(y, back);
  }
  c.give(y);
}

void index_put(Call& c) {
  const Positions p = positions(c);
  const ScalarType d = c.dtype("self");
  const std::string x = c.in("self");
  if (p.dims.size() == 1 && p.examples[0].scalar_type() == kBool &&
      c.example("values").numel() == 1) {
    std::vector<int64_t> last;
    for (int64_t i = p.examples[0].dim(); i < c.rank("self"); ++i) last.push_back(i);
    const std::string mask = c.unsqueeze(p.names[0], last);
    return c.give(c.op("Where", {mask, c.in("values", d), x}));
  }
  if (p.dims.size() == 1 && p.dims[0] == 0 && p.examples[0].scalar_type() == kBool) {
    need(!c.flag("accumulate"), "accumulate with a mask");
    const std::string at = c.transpose(c.op("NonZero", {p.names[0]}), {1, 0});
    const std::string wanted =
        c.op("Concat",
             {c.slice(c.op("Shape", {at}), 0, 0, 1),
              c.slice(c.op("Shape", {x}), 0, p.examples[0].dim(), c.rank("self"))},
             {{"axis", int64_t{0}}});
    return c.give(c.op("ScatterND", {x, at, c.op("Expand", {c.in("values", d), wanted})}));
  }
  for (std::size_t i = 0; i < p.dims.size(); ++i) {
    need(p.examples[i].scalar_type() != kBool, "masks beside other positions");
    need(p.dims[i] == static_cast<int64_t>(i), "positions that are not of the first dimensions");
  }
  Attrs attrs;
  if (c.flag("accumulate")) {
    need(c.exporter.opset() >= 16, "accumulate needs opset 16");
    attrs.push_back({"reduction", std::string("add")});
  }
  std::string sum = p.names.at(0);
  int64_t common = 0;
  for (const Tensor& t : p.examples) common = std::max(common, t.dim());
  for (std::size_t i = 1; i < p.names.size(); ++i) sum = c.op("Add", {sum, p.names[i]});
  const std::string shape = c.op("Shape", {sum});
  Names same;
  for (const std::string& n : p.names)
    same.push_back(c.unsqueeze(c.op("Expand", {n, shape}), {common}));
  const auto taken = static_cast<int64_t>(p.dims.size());
  const std::string wanted =
      c.op("Concat", {shape, c.slice(c.op("Shape", {x}), 0, taken, c.rank("self"))},
           {{"axis", int64_t{0}}});
  c.give(c.op(
      "ScatterND",
      {x, c.op("Concat", same, {{"axis", common}}), c.op("Expand", {c.in("values", d), wanted})},
      attrs));
}

// A part of a tensor, written: ScatterND over the positions of the dimension.
void select_scatter(Call& c) {
  const int64_t dim = c.axis("dim", "self"), n = c.size("self", dim);
  int64_t at = c.integer("index");
  if (at < 0 && c.is_fixed("self", dim)) at += n;
  const std::string x = c.in("self"), src = c.unsqueeze(c.in("src", c.dtype("self")), {dim});
  Names parts{src};
  if (at != 0) parts.insert(parts.begin(), c.slice(x, dim, 0, at));
  if (at != -1 && at != n - 1) parts.push_back(c.slice(x, dim, at + 1, kEnd));
  c.give(c.op("Concat", parts, {{"axis", dim}}));
}
void slice_scatter(Call& c) {
  const int64_t dim = c.axis("dim", "self"), n = c.size("self", dim);
  if (c.integer("step", 1) != 1) return view_scatter(c, "slice");
  const bool fixed = c.is_fixed("self", dim);
  const auto bound = [&](const char* argument, int64_t otherwise) {
    const int64_t v = c.integer(argument, otherwise);
    return fixed ? std::clamp<int64_t>(v < 0 ? v + n : v, 0, n) : v;
  };
  const int64_t begin = bound("start", 0), end = bound("end", kEnd);
  const std::string x = c.in("self");
  Names parts{c.in("src", c.dtype("self"))};
  if (begin != 0) parts.insert(parts.begin(), c.slice(x, dim, 0, begin));
  if (end != kEnd && !(fixed && end == n)) parts.push_back(c.slice(x, dim, end, kEnd));
  c.give(parts.size() == 1 ? parts[0] : c.op("Concat", parts, {{"axis", dim}}));
}

std::string places(Call& c, const std::string& mask) {
  return c.transpose(c.op("NonZero", {mask}), {1, 0});
}
void nonzero(Call& c) {
  if (c.rank("self") > 0) return c.give(places(c, c.in("self")));
  const std::string x = c.op("Reshape", {c.in("self"), c.int_list({1})});
  c.give(c.slice(places(c, x), 1, 0, 0));  // as many rows, without positions
}
void masked_select(Call& c) {
  need(c.rank("self") > 0 && c.rank("mask") <= c.rank("self"), "a mask of more dimensions");
  const std::string mask = c.op("Expand", {c.in("mask"), c.op("Shape", {c.in("self")})});
  c.give(c.op("GatherND", {c.in("self"), places(c, mask)}));
}
// As many elements of the source as are written, in their order.
void masked_scatter(Call& c) {
  need(c.rank("self") > 0 && c.rank("mask") <= c.rank("self"), "a mask of more dimensions");
  const std::string x = c.in("self");
  const std::string at = places(c, c.op("Expand", {c.in("mask"), c.op("Shape", {x})}));
  const std::string n = c.slice(c.op("Shape", {at}), 0, 0, 1);
  const std::string all = c.op("Reshape", {c.in("source", c.dtype("self")), c.int_list({-1})});
  c.give(c.op("ScatterND", {x, at, c.op("Slice", {all, c.int_list({0}), n})}));
}
// Distinct elements, in order, for the operators that sort them.
void unique(Call& c) {
  const bool whole = c.none("dim");
  Attrs attrs{{"sorted", int64_t{1}}};
  if (!whole) attrs.push_back({"axis", c.axis("dim", "self")});
  const Names r = c.ops("Unique", {c.in("self")}, attrs, 4);
  c.give(r[0], 0);
  const std::string inverse = whole ? c.op("Reshape", {r[2], c.op("Shape", {c.in("self")})}) : r[2];
  if (c.results.at(1).toTensor().numel() > 0) c.give(inverse, 1);
  if (c.results.size() > 2 && c.results[2].toTensor().numel() > 0) c.give(r[3], 2);
}
// One more than the largest of integers that are not negative, and no less than `at_least`.
std::string count_of(Call& c, const std::string& values, int64_t at_least) {
  const std::string all =
      c.op("Concat", {c.op("Reshape", {values, c.int_list({-1})}), c.int_list({at_least - 1})},
           {{"axis", int64_t{0}}});
  return c.op("Add", {c.reduce("ReduceMax", all, {0}, true), c.int_list({1})});
}
void one_hot(Call& c) {
  const std::string values = c.constant(as_tensor(IValue(std::vector<int64_t>{0, 1})));
  const int64_t n = c.integer("num_classes", -1);
  const std::string x = c.in("self", kInt64);
  const std::string depth =
      n < 0 ? c.squeeze(count_of(c, x, 0), {0}) : c.constant(as_tensor(IValue(n)));
  c.give(c.op("OneHot", {x, depth, values}));
}
void bincount(Call& c) {
  need(c.exporter.opset() >= 16, "before version 16 of ONNX's operators, which cannot add up");
  const std::string x = c.in("self", kInt64);
  const ScalarType d = c.result().scalar_type();
  const std::string weights = c.none("weights")
                                  ? c.op("Expand", {c.constant(1, d), c.op("Shape", {x})})
                                  : c.in("weights", d);
  const std::string zeros =
      c.op("Expand", {c.constant(0, d), count_of(c, x, c.integer("minlength", 0))});
  c.give(
      c.op("ScatterElements", {zeros, x, weights}, {{"axis", int64_t{0}}, {"reduction", "add"}}));
}

const Rules::Entry list[] = {
    {"aten::index_select", index_select},
    {"aten::gather", gather},
    {"aten::take_along_dim", take_along_dim},
    {"aten::scatter", scatter},
    {"aten::scatter_add", scatter},
    {"aten::index", index},
    {"aten::_index", index},
    {"aten::index_put", index_put},
    {"aten::select_scatter", select_scatter},
    {"aten::slice_scatter", slice_scatter},
    {"aten::nonzero", nonzero},
    {"aten::nonzero_numpy", [](Call& c) { give_positions(c, "self"); }},
    {"aten::bincount", bincount},
    {"aten::masked_select", masked_select},
    {"aten::masked_scatter", masked_scatter},
    {"aten::_unique2", unique},
    {"aten::_unique", unique},
    {"aten::unique_dim", unique},
    {"aten::one_hot", one_hot},
};
TENON_EXPORT_RULES(list);

}  // namespace

void give_positions(Call& c, const char* argument) {
  const int64_t rank = c.rank(argument);
  std::string x = c.in(argument);
  if (rank == 0) x = c.op("Reshape", {x, c.int_list({1})});
  const std::string all = c.op("NonZero", {x});
  Names parts;
  for (int64_t k = 0; k < std::max<int64_t>(rank, 1); ++k)
    parts.push_back(
        c.op("Gather", {all, c.constant(as_tensor(IValue(k)))}, {{"axis", int64_t{0}}}));
  c.give_parts(parts);
}

}  // namespace tenon::onnx::exporting
