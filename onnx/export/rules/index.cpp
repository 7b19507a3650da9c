// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements by their positions.
#include <cmath>
#include <limits>
#include <map>

#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

void index_select(Call& c) {
  if (c.rank("self") == 0) return c.give(c.in("self"));
  std::string at = c.in("index");
  if (c.rank("index") == 0) at = c.unsqueeze(at, {0});
  c.give(c.op("Gather", {c.in("self"), at}, {{"axis", c.axis("dim", "self")}}));
}
void gather(Call& c) {
  if (c.rank("self") == 0)  // one element, whatever the positions
    return c.give(c.op("Expand", {c.in("self"), c.op("Shape", {c.in("index")})}));
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
// In every run.
bool same_sizes(const Call& c, const char* a, const char* b) {
  if (c.example(a).sizes() != c.example(b).sizes()) return false;
  return (c.is_fixed(a) && c.is_fixed(b)) || c.get(a).sizes == c.get(b).sizes;
}
// As many elements as positions.
std::string source(Call& c, ScalarType d) {
  const std::string src = c.in("src", d);
  if (same_sizes(c, "src", "index")) return src;
  const std::vector<int64_t> begin(static_cast<std::size_t>(c.rank("index")), 0);
  return c.op("Slice", {src, c.int_list(begin), c.op("Shape", {c.in("index")})});
}
void scatter(Call& c) {
  const ScalarType d = c.dtype("self");
  std::string src;
  if (c.has("src"))
    src = source(c, d);
  else
    src = c.op("Expand", {c.in("value", d), c.op("Shape", {c.in("index")})});
  Attrs attrs{{"axis", c.axis("dim", "self")}};
  std::string reduction = c.name == "aten::scatter_add" ? "add" : "";
  if (c.has("reduce")) reduction = c.text("reduce") == "multiply" ? "mul" : "add";
  if (!reduction.empty()) {
    need(c.exporter.opset() >= 16, "a reduction needs opset 16");
    attrs.push_back({"reduction", reduction});
  }
  if (c.rank("self") > 0)
    return c.give(c.op("ScatterElements", {c.in("self"), c.in("index", kInt64), src}, attrs));
  const auto listed = [&](const std::string& x) { return c.op("Reshape", {x, c.int_list({-1})}); };
  const std::string y = c.op(
      "ScatterElements", {listed(c.in("self")), listed(c.in("index", kInt64)), listed(src)}, attrs);
  c.give(c.squeeze(y, {0}));
}

// What is written, and where along the dimension: of the same sizes.
struct Scattered {
  std::string index, src;
};
// `x` at the positions is `v`.
std::string put_number(Call& c, const std::string& x, const std::string& index, double v,
                       ScalarType d) {
  const std::string all = c.op("Expand", {c.constant(v, d), c.op("Shape", {index})});
  return c.op("ScatterElements", {x, index, all}, {{"axis", c.axis("dim", "self")}});
}
// The sum over how many there are; what no position names stays.
void scatter_mean(Call& c, const Scattered& s) {
  const ScalarType d = c.dtype("self");
  need(isFloatingType(d), "means of integers");
  need(c.exporter.opset() >= 16, "it needs opset 16");
  const bool all = c.flag("include_self", true);
  const Attrs add{{"axis", c.axis("dim", "self")}, {"reduction", std::string("add")}};
  const std::string one = c.constant(1.0, d),
                    x = all ? c.in("self") : put_number(c, c.in("self"), s.index, 0, d),
                    sum = c.op("ScatterElements", {x, s.index, s.src}, add);
  const std::string there = c.op("Expand", {one, c.op("Shape", {x})});
  const std::string ones = c.op("Expand", {one, c.op("Shape", {s.index})});
  const std::string count = c.op(
      "ScatterElements", {all ? there : put_number(c, there, s.index, 0, d), s.index, ones}, add);
  c.give(c.op("Div", {sum, count}));
}

// Without the elements that are there, those that are joined begin as what changes nothing.
void scatter_joined(Call& c, const Scattered& s) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  static const std::map<std::string, std::pair<const char*, double>> kinds = {
      {"sum", {"add", 0}}, {"prod", {"mul", 1}}, {"amax", {"max", -inf}}, {"amin", {"min", inf}}};
  const auto at = kinds.find(c.text("reduce"));
  const ScalarType d = c.dtype("self");
  if (c.text("reduce") == "mean") return scatter_mean(c, s);
  need(at != kinds.end(), "by " + c.text("reduce"));
  const auto& [kind, nothing] = at->second;
  const bool all = c.flag("include_self", true);
  need(c.exporter.opset() >= (nothing == 0 || nothing == 1 ? 16 : 18), "it needs opset 18");
  need(all || isFloatingType(d) || std::isfinite(nothing), "of integers without self");
  std::string x = c.in("self");
  if (!all) x = put_number(c, x, s.index, nothing, d);
  c.give(c.op("ScatterElements", {x, s.index, s.src},
              {{"axis", c.axis("dim", "self")}, {"reduction", kind}}));
}
void scatter_reduce(Call& c) {
  need(c.rank("self") > 0, "by " + c.text("reduce"));
  scatter_joined(c, {c.in("index", kInt64), source(c, c.dtype("self"))});
}
// Whole slices of the source: each position for all elements of one.
void index_reduce(Call& c) {
  need(c.rank("self") > 0, "by " + c.text("reduce"));
  std::vector<int64_t> wide(static_cast<std::size_t>(c.rank("self")), 1);
  wide[static_cast<std::size_t>(c.axis("dim", "self"))] = -1;
  const std::string src = c.in("source", c.dtype("self")),
                    index = c.op("Reshape", {c.in("index", kInt64), c.int_list(wide)});
  scatter_joined(c, {c.op("Expand", {index, c.op("Shape", {src})}), src});
}

struct Positions {
  std::vector<int64_t> dims;  // that have a tensor
  Names names;
  std::vector<Tensor> examples;
  bool one_mask() const { return dims.size() == 1 && examples[0].scalar_type() == kBool; }
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
    const bool mask = is_mask(i->example);
    if (!i->example.isNone()) {
      const Tensor t = as_tensor(i->example);
      const ScalarType d = mask ? kBool : kInt64;
      p.dims.push_back(dim);
      p.examples.push_back(t.to(d));
      p.names.push_back(c.cast(c.exporter.name_of(*i), t.scalar_type(), d));
    }
    dim += mask ? as_tensor(i->example).dim() : 1;
  }
  return p;
}
// Each mask as the positions of what is true: one list per dimension of it.
Positions without_masks(Call& c, const Positions& p) {
  Positions out;
  const auto add = [&](int64_t dim, const std::string& name, const Tensor& example) {
    out.dims.push_back(dim);
    out.names.push_back(name);
    out.examples.push_back(example);
  };
  for (std::size_t i = 0; i < p.dims.size(); ++i) {
    const Tensor& t = p.examples[i];
    if (t.scalar_type() != kBool) {
      add(p.dims[i], p.names[i], t);
      continue;
    }
    need(t.dim() > 0, "a mask of no dimensions");
    const std::string all = c.op("NonZero", {p.names[i]});
    const Tensor places = tenon::nonzero(t);
    for (int64_t k = 0; k < t.dim(); ++k)
      add(p.dims[i] + k,
          c.op("Gather", {all, c.constant(as_tensor(IValue(k)))}, {{"axis", int64_t{0}}}),
          places.select(1, k));
  }
  return out;
}

// Positions side by side, for GatherND and ScatterND of a tensor that has their dimensions first.
struct SideBySide {
  std::string at, shape;       // of all positions, and of each
  std::vector<int64_t> order;  // their dimensions, then the others
  int64_t common = 0;          // how many dimensions `shape` has
  int64_t place = 0;           // where indexing puts these
};
SideBySide side_by_side(Call& c, const Positions& p) {
  SideBySide s;
  bool neighbors = true;
  for (std::size_t i = 0; i < p.dims.size(); ++i)
    neighbors = neighbors && p.dims[i] == p.dims[0] + static_cast<int64_t>(i);
  s.place = neighbors ? p.dims[0] : 0;
  s.order = p.dims;
  for (int64_t d = 0; d < c.rank("self"); ++d)
    if (std::find(p.dims.begin(), p.dims.end(), d) == p.dims.end()) s.order.push_back(d);
  for (const Tensor& t : p.examples) s.common = std::max(s.common, t.dim());
  std::string sum = p.names.at(0);
  for (std::size_t i = 1; i < p.names.size(); ++i) sum = c.op("Add", {sum, p.names[i]});
  s.shape = c.op("Shape", {sum});
  Names same;
  for (const std::string& n : p.names)
    same.push_back(c.unsqueeze(c.op("Expand", {n, s.shape}), {s.common}));
  s.at = c.op("Concat", same, {{"axis", s.common}});
  return s;
}
std::string ordered(Call& c, const std::string& x, const std::vector<int64_t>& order) {
  return std::is_sorted(order.begin(), order.end()) ? x : c.transpose(x, order);
}
// `n` dimensions go from `from` to `to`.
std::vector<int64_t> moved(int64_t rank, int64_t n, int64_t from, int64_t to) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d < from || d >= from + n) order.push_back(d);
  for (int64_t k = 0; k < n; ++k) order.insert(order.begin() + to + k, from + k);
  return order;
}

void index(Call& c) {
  Positions p = positions(c);
  const std::string x = c.in("self");
  if (p.dims.empty()) return c.give(x);
  if (p.one_mask() && p.dims[0] == 0) {
    const std::string at = c.transpose(c.op("NonZero", {p.names[0]}), {1, 0});
    return c.give(c.op("GatherND", {x, at}));
  }
  p = without_masks(c, p);
  if (p.dims.size() == 1) return c.give(c.op("Gather", {x, p.names[0]}, {{"axis", p.dims[0]}}));
  const SideBySide s = side_by_side(c, p);
  const std::string y = c.op("GatherND", {ordered(c, x, s.order), s.at});
  c.give(ordered(c, y, moved(c.result().dim(), s.common, 0, s.place)));
}

void index_put(Call& c) {
  Positions p = positions(c);
  const ScalarType d = c.dtype("self");
  const std::string x = c.in("self");
  const bool accumulate = c.flag("accumulate");
  if (p.one_mask() && c.example("values").numel() == 1 && c.is_fixed("values")) {
    std::vector<int64_t> last;
    for (int64_t i = p.dims[0] + p.examples[0].dim(); i < c.rank("self"); ++i) last.push_back(i);
    for (int64_t& i : last) i -= p.dims[0];
    const std::string mask = c.unsqueeze(p.names[0], last), v = c.in("values", d);
    const std::string put = accumulate ? c.op(d == kBool ? "Or" : "Add", {x, v}) : v;
    return c.give(c.choose(mask, put, x, d));
  }
  Attrs attrs;
  if (accumulate) {
    need(c.exporter.opset() >= 16, "accumulate needs opset 16");
    attrs.push_back({"reduction", std::string("add")});
  }
  need(!p.dims.empty(), "without positions");
  p = without_masks(c, p);
  const SideBySide s = side_by_side(c, p);
  const auto taken = static_cast<int64_t>(p.dims.size()), rank = c.rank("self"),
             all = s.common + rank - taken;
  const std::string first = ordered(c, x, s.order), sizes = c.op("Shape", {first});
  Names wanted{s.shape};  // as indexing gives them
  if (s.place > 0) wanted.insert(wanted.begin(), c.slice(sizes, 0, taken, taken + s.place));
  wanted.push_back(c.slice(sizes, 0, taken + s.place, rank));
  std::string values =
      c.op("Expand", {c.in("values", d), c.op("Concat", wanted, {{"axis", int64_t{0}}})});
  values = ordered(c, values, moved(all, s.common, s.place, 0));
  std::vector<int64_t> back(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < back.size(); ++i)
    back[static_cast<std::size_t>(s.order[i])] = static_cast<int64_t>(i);
  c.give(ordered(c, c.op("ScatterND", {first, s.at, values}, attrs), back));
}

// By comparing each position with those given.
void index_fill(Call& c) {
  const ScalarType d = c.dtype("self");
  const std::string x = c.in("self");
  if (c.rank("self") == 0) return c.give(c.in("value", d));
  const int64_t dim = c.axis("dim", "self"), rank = c.rank("self");
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const std::string n = c.op("Gather", {c.op("Shape", {x}), number(dim)}),
                    places = c.op("Range", {number(0), n, number(1)}),
                    flat = c.op("Reshape", {c.in("index", kInt64), c.int_list({1, -1})}),
                    at = c.op("Where",
                              {c.op("Less", {flat, number(0)}), c.op("Add", {flat, n}), flat});
  const std::string same = c.op("Equal", {c.unsqueeze(places, {1}), at}),
                    hits = c.reduce("ReduceSum", c.cast(same, kBool, kInt64), {1}, false);
  std::vector<int64_t> last;
  for (int64_t i = 1; i < rank - dim; ++i) last.push_back(i);
  c.give(c.choose(c.unsqueeze(c.cast(hits, kInt64, kBool), last), c.in("value", d), x, d));
}

// A part of a tensor, written: what is before it and behind it stays.
void select_scatter_at(Call& c, int64_t dim) {
  const std::string x = c.in("self"), src = c.unsqueeze(c.in("src", c.dtype("self")), {dim}),
                    given = c.op("Reshape", {c.in("index", kInt64), c.int_list({1})}),
                    n = c.slice(c.op("Shape", {x}), 0, dim, dim + 1), axis = c.int_list({dim}),
                    zero = c.int_list({0});
  const std::string at =
      c.op("Where", {c.op("Less", {given, zero}), c.op("Add", {given, n}), given});
  const std::string next = c.op("Add", {at, c.int_list({1})});
  c.give(c.op("Concat",
              {c.op("Slice", {x, zero, at, axis}), src, c.op("Slice", {x, next, n, axis})},
              {{"axis", dim}}));
}
void select_scatter(Call& c) {
  const int64_t dim = c.axis("dim", "self"), n = c.size("self", dim);
  if (!c.is_constant("index")) return select_scatter_at(c, dim);
  int64_t at = c.integer("index");
  if (at < 0 && c.is_fixed("self", dim)) at += n;
  const std::string x = c.in("self"), src = c.unsqueeze(c.in("src", c.dtype("self")), {dim});
  Names parts{src};
  if (at != 0) parts.insert(parts.begin(), c.slice(x, dim, 0, at));
  if (at != -1 && at != n - 1) parts.push_back(c.slice(x, dim, at + 1, kEnd));
  c.give(c.op("Concat", parts, {{"axis", dim}}));
}
// Rows of `src` at these places of one dimension.
std::string put_rows(Call& c, int64_t dim, const std::string& x, const std::string& places,
                     const std::string& src, const Attrs& attrs = {}) {
  std::vector<int64_t> order{dim}, back;
  for (int64_t d = 0; d < c.rank("self"); ++d) {
    if (d != dim) order.push_back(d);
    back.push_back(d < dim ? d + 1 : d == dim ? 0 : d);
  }
  const auto turned = [&](const std::string& t, const std::vector<int64_t>& by) {
    return dim == 0 ? t : c.transpose(t, by);
  };
  const Names inputs{turned(x, order), c.unsqueeze(places, {1}), turned(src, order)};
  return turned(c.op("ScatterND", inputs, attrs), back);
}
void index_copy(Call& c) {
  need(c.rank("self") > 0, "of a scalar");
  const std::string at = c.op("Reshape", {c.in("index", kInt64), c.int_list({-1})});
  c.give(put_rows(c, c.axis("dim", "self"), c.in("self"), at, c.in("source", c.dtype("self"))));
}
void index_add(Call& c) {
  need(c.rank("self") > 0, "to a scalar");
  need(c.exporter.opset() >= 16, "it needs opset 16");
  const ScalarType d = c.dtype("self");
  need(d != kBool, "of bools");
  std::string src = c.in("source", d);
  if (!c.is_constant("alpha") || c.number("alpha", 1) != 1)
    src = c.op("Mul", {src, c.in("alpha", d)});
  const std::string at = c.op("Reshape", {c.in("index", kInt64), c.int_list({-1})});
  c.give(put_rows(c, c.axis("dim", "self"), c.in("self"), at, src,
                  {{"reduction", std::string("add")}}));
}

// At the places that the slice shows, whichever these are in a run.
void slice_scatter_at(Call& c, int64_t dim) {
  const std::string x = c.in("self"), src = c.in("src", c.dtype("self"));
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const auto one = [&](const char* argument, int64_t otherwise) {
    if (c.none(argument)) return c.int_list({otherwise});
    return c.op("Reshape", {c.in(argument, kInt64), c.int_list({1})});
  };
  const std::string n = c.op("Gather", {c.op("Shape", {x}), number(dim)}),
                    places = c.op("Range", {number(0), n, number(1)}),
                    shown = c.op("Slice", {places, one("start", 0), one("end", kEnd),
                                           c.int_list({0}), one("step", 1)});
  c.give(put_rows(c, dim, x, shown, src));
}
void slice_scatter(Call& c) {
  const int64_t dim = c.axis("dim", "self"), n = c.size("self", dim);
  const bool fixed = c.is_fixed("self", dim),
             known = c.is_constant("start") && c.is_constant("end");
  // One counted from each end: the slice may be empty.
  if (!known || (!fixed && (c.integer("start") < 0) != (c.integer("end", kEnd) < 0)))
    return slice_scatter_at(c, dim);
  if (c.integer("step", 1) != 1)
    return c.is_fixed("self") ? view_scatter(c, "slice") : slice_scatter_at(c, dim);
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
  const std::string both = c.int_list({1}), one = c.op("Expand", {c.in("self"), both}),
                    mask = c.op("Expand", {c.in("mask", kBool), c.op("Shape", {one})});
  c.give(c.op("GatherND", {c.op("Expand", {one, c.op("Shape", {mask})}), places(c, mask)}));
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
  const bool lone = c.rank("self") == 0;
  const std::string x = lone ? c.unsqueeze(c.in("self", kInt64), {0}) : c.in("self", kInt64);
  const std::string depth =
      n < 0 ? c.squeeze(count_of(c, x, 0), {0}) : c.constant(as_tensor(IValue(n)));
  const std::string y = c.op("OneHot", {x, depth, values});
  c.give(lone ? c.squeeze(y, {0}) : y);
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
// The first and last value that bins take: those of the tensor where both are given as one.
std::pair<std::string, std::string> range_of_bins(Call& c, const std::string& x) {
  const double low = c.number("min"), high = c.number("max");
  const auto number = [&](double v) { return c.constant(v, kFloat64); };
  if (low != high) return {number(low), number(high)};
  const auto end = [&](const char* type) { return c.reduce(type, x, {0}, false); };
  const std::string least = end("ReduceMin"), most = end("ReduceMax"),
                    widen = c.cast(c.op("Equal", {least, most}), kBool, kFloat64);
  return {c.op("Sub", {least, widen}), c.op("Add", {most, widen})};
}
// What is outside is counted in one bin more.
void histc(Call& c) {
  need(c.exporter.opset() >= 16, "before version 16 of ONNX's operators, which cannot add up");
  const int64_t bins = c.integer("bins", 100);
  const std::string x = c.op("Reshape", {c.in("self", kFloat64), c.int_list({-1})});
  const auto [low, high] = range_of_bins(c, x);
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const std::string inside = c.op(
                        "And", {c.op("GreaterOrEqual", {x, low}), c.op("LessOrEqual", {x, high})}),
                    scaled = c.op("Mul", {c.op("Sub", {x, low}),
                                          c.constant(static_cast<double>(bins), kFloat64)}),
                    place = c.op("Div", {scaled, c.op("Sub", {high, low})});
  const std::string held = c.op("Where", {inside, place, c.constant(0, kFloat64)}),
                    bin = c.op("Min", {c.cast(held, kFloat64, kInt64), number(bins - 1)}),
                    at = c.op("Where", {inside, bin, number(bins)});
  const ScalarType d = c.result().scalar_type();
  const std::string ones = c.op("Expand", {c.constant(1, kFloat32), c.op("Shape", {at})}),
                    none = c.constant(tenon::zeros({bins + 1}, TensorOptions(kFloat32)));
  const std::string all = c.op("ScatterElements", {none, at, ones},
                               {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  c.give(c.cast(c.slice(all, 0, 0, bins), kFloat32, d));
}

// Rows that are named, with a norm of at most the largest one.
void embedding_renorm(Call& c) {
  const double p = c.number("norm_type", 2);
  need(p == 1 || p == 2, "of this norm");
  const ScalarType d = c.dtype("self");
  const std::string x = c.in("self"), most = c.in("max_norm", d),
                    at = c.op("Reshape", {c.in("indices", kInt64), c.int_list({-1})}),
                    rows = c.op("Gather", {x, at}, {{"axis", int64_t{0}}}),
                    norm = c.reduce(p == 1 ? "ReduceL1" : "ReduceL2", rows, {1}, true),
                    scale = c.op("Div", {most, c.op("Add", {norm, c.constant(1e-7, d)})});
  const std::string held =
      c.op("Where", {c.op("Greater", {norm, most}), c.op("Mul", {rows, scale}), rows});
  c.give(c.op("ScatterND", {x, c.unsqueeze(at, {1}), held}));
}

const Rules::Entry list[] = {
    {"aten::index_select", index_select},
    {"aten::gather", gather},
    {"aten::take_along_dim", take_along_dim},
    {"aten::scatter", scatter},
    {"aten::scatter_add", scatter},
    {"aten::scatter_reduce", scatter_reduce},
    {"aten::index", index},
    {"aten::_index", index},
    {"aten::index_put", index_put},
    {"aten::index_fill", index_fill},
    {"aten::index_copy", index_copy},
    {"aten::index_add", index_add},
    {"aten::index_reduce", index_reduce},
    {"aten::select_scatter", select_scatter},
    {"aten::slice_scatter", slice_scatter},
    {"aten::nonzero", nonzero},
    {"aten::nonzero_numpy", [](Call& c) { give_positions(c, "self"); }},
    {"aten::bincount", bincount},
    {"aten::histc", histc},
    {"aten::embedding_renorm", embedding_renorm},
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
