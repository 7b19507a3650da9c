// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes, views, joining and taking apart.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

std::vector<int64_t> identity(int64_t n) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) order.push_back(i);
  return order;
}
int64_t wrap(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

void reshape(Call& c) {
  need(!c.has("dtype"), "bits as another dtype are not a value of ONNX");
  const char* shape = c.has("size") ? "size" : "shape";
  if (c.is_constant(shape)) {
    std::vector<int64_t> sizes = c.ints(shape);
    // A zero would mean the input's size.
    const bool zero = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    return c.give(
        c.op("Reshape", {c.in("self"), c.int_list(sizes)},
             {{"allowzero", zero && c.exporter.opset() >= 14 ? IValue(int64_t{1}) : IValue()}}));
  }
  c.give(c.op("Reshape", {c.in("self"), c.in(shape)}));
}
void flatten(Call& c) {
  const int64_t rank = c.rank("self"),
                begin = wrap(c.integer("start_dim"), std::max<int64_t>(rank, 1)),
                end = wrap(c.integer("end_dim", -1), std::max<int64_t>(rank, 1));
  const std::string x = c.in("self");
  if (rank == 0) return c.give(c.op("Reshape", {x, c.int_list({1})}));
  if (begin == end) return c.give(x);
  if (begin <= 1 && end == rank - 1 && (begin == 1 || rank == 0))
    return c.give(c.op("Flatten", {x}, {{"axis", begin}}));
  if (end == rank - 1) {  // the sizes before stay
    std::vector<int64_t> sizes(static_cast<std::size_t>(begin), 0);
    sizes.push_back(-1);
    return c.give(c.op("Reshape", {x, c.int_list(sizes)}));
  }
  const std::string shape = c.op("Shape", {x});
  c.give(c.op("Reshape", {x, c.op("Concat",
                                  {c.slice(shape, 0, 0, begin), c.int_list({-1}),
                                   c.slice(shape, 0, end + 1, rank)},
                                  {{"axis", int64_t{0}}})}));
}
void unflatten(Call& c) {
  const int64_t rank = c.rank("self"), dim = c.axis("dim", "self");
  const std::string x = c.in("self"), shape = c.op("Shape", {x});
  c.give(c.op("Reshape",
              {x, c.op("Concat",
                       {c.slice(shape, 0, 0, dim), c.in("sizes"), c.slice(shape, 0, dim + 1, rank)},
                       {{"axis", int64_t{0}}})}));
}
// Those that are fixed are constants, so that what is computed from them is, too.
void sizes_one_by_one(Call& c, const std::string& shape) {
  const Item& self = c.get("self");
  auto list = std::make_shared<Item>();
  list->example = c.results.at(0);
  list->has_parts = true;
  for (int64_t d = 0; d < c.rank("self"); ++d) {
    auto part = std::make_shared<Item>(Item{IValue(c.size("self", d)), c.is_fixed("self", d)});
    if (!part->constant) {
      part->name =
          c.op("Gather", {shape, c.constant(as_tensor(IValue(d)))}, {{"axis", int64_t{0}}});
      if (self.sizes) part->symbol = self.sizes->at(static_cast<std::size_t>(d));
    }
    list->parts.push_back(std::move(part));
  }
  c.given.at(0) = std::move(list);
}
void size(Call& c) {
  const std::string shape = c.op("Shape", {c.in("self")});
  if (c.none("dim")) {
    bool any = false;
    for (int64_t d = 0; d < c.rank("self"); ++d) any = any || c.is_fixed("self", d);
    return any ? sizes_one_by_one(c, shape) : c.give(shape);
  }
  const int64_t dim = c.axis("dim", "self");
  c.give(c.op("Gather", {shape, c.constant(as_tensor(IValue(dim)))}, {{"axis", int64_t{0}}}));
}
void numel(Call& c) { c.give(c.op("Size", {c.in(c.has("self") ? "self" : "a")})); }
void len(Call& c) {
  need(c.get("t").example.isTensor() || c.has("t"), "of this value");
  const std::string shape = c.op("Shape", {c.in("t")});
  c.give(
      c.op("Gather", {shape, c.constant(as_tensor(IValue(int64_t{0})))}, {{"axis", int64_t{0}}}));
}

void transpose(Call& c) {
  const int64_t rank = c.rank("self");
  if (rank < 2) return c.give(c.in("self"));
  std::vector<int64_t> order = identity(rank);
  const bool t = c.name == "aten::t" || c.name == "aten::numpy_T" || c.name == "aten::mT";
  const int64_t a = t ? rank - 2 : c.axis(c.has("dim0") ? "dim0" : "axis0", "self"),
                b = t ? rank - 1 : c.axis(c.has("dim1") ? "dim1" : "axis1", "self");
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  c.give(c.transpose(c.in("self"), order));
}
void permute(Call& c) {
  std::vector<int64_t> order = c.ints("dims");
  for (int64_t& d : order) d = wrap(d, static_cast<int64_t>(order.size()));
  c.give(c.transpose(c.in("self"), order));
}
void movedim(Call& c) {
  const int64_t rank = c.rank("self");
  std::vector<int64_t> from = c.ints("source"), to = c.ints("destination"),
                       order(static_cast<std::size_t>(rank), -1);
  std::set<int64_t> moved;
  for (std::size_t i = 0; i < from.size(); ++i) {
    order[static_cast<std::size_t>(wrap(to[i], rank))] = wrap(from[i], rank);
    moved.insert(wrap(from[i], rank));
  }
  int64_t next = 0;
  for (int64_t& o : order) {
    if (o >= 0) continue;
    while (moved.count(next)) ++next;
    o = next++;
  }
  c.give(c.transpose(c.in("self"), order));
}
void squeeze(Call& c) {
  const int64_t rank = c.rank("self");
  std::vector<int64_t> axes;
  if (c.none("dim")) {
    for (int64_t d = 0; d < rank; ++d)
      if (c.size("self", d) == 1) axes.push_back(d);
  } else {
    for (const int64_t d : c.ints("dim"))
      if (rank > 0 && c.size("self", d) == 1) axes.push_back(wrap(d, rank));
  }
  for (const int64_t d : axes)
    need(!c.exporter.is_dynamic_axis(c.get("self"), d),
         "dimension " + std::to_string(d) +
             " is dynamic, and has size 1 in the example: take one with another size");
  c.give(c.squeeze(c.in("self"), axes));
}
void unsqueeze(Call& c) {
  c.give(c.unsqueeze(c.in("self"), {wrap(c.integer("dim"), c.rank("self") + 1)}));
}

void expand(Call& c) {
  const char* shape = "size";
  if (c.is_constant(shape)) {
    std::vector<int64_t> sizes = c.ints(shape);
    for (int64_t& s : sizes) s = s == -1 ? 1 : s;  // keeps the size that is there
    return c.give(c.op("Expand", {c.in("self"), c.int_list(sizes)}));
  }
  // -1 is 1: the larger of both sizes counts.
  const std::string s = c.in(shape), one = c.int_list({1});
  c.give(c.op("Expand",
              {c.in("self"), c.op("Where", {c.op("Equal", {s, c.int_list({-1})}), one, s})}));
}
void expand_as(Call& c) { c.give(c.op("Expand", {c.in("self"), c.op("Shape", {c.in("other")})})); }
void view_as(Call& c) { c.give(c.op("Reshape", {c.in("self"), c.op("Shape", {c.in("other")})})); }
void repeat(Call& c) {
  const char* times = c.has("repeats") ? "repeats" : "dims";
  const auto n = static_cast<int64_t>(c.get(times).example.toListRef().items.size());
  std::string x = c.in("self"), repeats = c.in(times);
  std::vector<int64_t> lead;
  for (int64_t i = c.rank("self"); i < n; ++i) lead.push_back(i - c.rank("self"));
  if (const int64_t missing = c.rank("self") - n; missing > 0) {  // tile: ones are put before
    const std::string ones = c.int_list(std::vector<int64_t>(static_cast<std::size_t>(missing), 1));
    repeats = c.op("Concat", {ones, repeats}, {{"axis", int64_t{0}}});
  }
  c.give(c.op("Tile", {c.unsqueeze(x, lead), repeats}));
}

void slice(Call& c) {
  const std::string axis = c.int_list({c.axis("dim", "self")});
  const auto one = [&](const char* argument, int64_t otherwise) {
    if (c.none(argument)) return c.int_list({otherwise});
    if (c.is_constant(argument)) return c.int_list({c.integer(argument)});
    return c.unsqueeze(c.in(argument), {0});
  };
  c.give(c.op("Slice", {c.in("self"), one("start", 0), one("end", kEnd), axis, one("step", 1)}));
}
// A start may be counted from the end. The end of the part may not: -1 and a length of 1 make 0.
void narrow(Call& c) {
  const int64_t dim = c.axis("dim", "self");
  const std::string axis = c.int_list({dim});
  std::string begin = c.unsqueeze(c.in("start", kInt64), {0});
  const std::string n = c.unsqueeze(c.in("length", kInt64), {0});
  const bool known = c.is_constant("start") && c.get("start").example.isInt();
  if (known ? c.integer("start") < 0 : c.get("start").symbol == 0) {
    const std::string size = c.slice(c.op("Shape", {c.in("self")}), 0, dim, dim + 1),
                      counted = c.op("Add", {begin, size});
    begin =
        known ? counted : c.op("Where", {c.op("Less", {begin, c.int_list({0})}), counted, begin});
  }
  c.give(c.op("Slice", {c.in("self"), begin, c.op("Add", {begin, n}), axis}));
}
void select(Call& c) {
  const std::string at =
      c.is_constant("index") ? c.constant(as_tensor(IValue(c.integer("index")))) : c.in("index");
  c.give(c.op("Gather", {c.in("self"), at}, {{"axis", c.axis("dim", "self")}}));
}

Names tensors_of(Call& c, const char* argument, bool joined = false) {
  Item& list = c.get(argument);
  need(list.has_parts, "a list that the program computes");
  const ScalarType d = c.result().scalar_type();
  Names names;
  for (const ItemPtr& p : list.parts)
    if (!joined || !is_nothing(*p, c.result()))
      names.push_back(c.cast(c.exporter.name_of(*p), as_tensor(p->example).scalar_type(), d));
  return names;
}
// A list that grew in a loop is joined by one node.
bool join_sequence(Call& c, int64_t dim, bool stack) {
  Item& list = c.get("tensors");
  if (!c.exporter.is_sequence(list)) return false;
  need(as_tensor(list.example.toListRef().items.at(0)).scalar_type() == c.result().scalar_type(),
       "of several dtypes");
  c.exporter.join_sequence();
  c.give(
      c.op("ConcatFromSequence", {c.in("tensors")}, {{"axis", dim}, {"new_axis", int64_t{stack}}}));
  return true;
}
void cat(Call& c) {
  const int64_t dim = c.integer("dim"), rank = c.result().dim();
  if (join_sequence(c, wrap(dim, rank), false)) return;
  c.give(c.op("Concat", tensors_of(c, "tensors", true), {{"axis", wrap(dim, rank)}}));
}
void stack(Call& c) {
  const int64_t dim = wrap(c.integer("dim"), c.result().dim());
  if (join_sequence(c, dim, true)) return;
  Names parts;
  for (const auto& x : tensors_of(c, "tensors")) parts.push_back(c.unsqueeze(x, {dim}));
  c.give(c.op("Concat", parts, {{"axis", dim}}));
}

// The program takes as many parts as the examples have, or fails.
bool is_only_unpacked(const jit::Value& list) {
  return std::all_of(list.uses().begin(), list.uses().end(),
                     [](const jit::Use& u) { return u.user->is("prim::ListUnpack"); });
}
// All parts are of one size but the last, which is what remains. Where that is more, the sizes do
// not add up, and the model fails as the program does.
std::string sizes_of_equal(Call& c, const std::string& whole, const std::string& each, int64_t n) {
  const std::string before = c.op("Mul", {each, c.int_list({n - 1})});
  Names sizes(static_cast<std::size_t>(n - 1), each);
  sizes.push_back(c.op("Min", {each, c.op("Sub", {whole, before})}));
  return c.op("Concat", sizes, {{"axis", int64_t{0}}});
}
// The first parts take one more each, of what does not divide.
std::string sizes_of_sections(Call& c, const std::string& whole, int64_t n) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n; ++i) positions.push_back(i);
  const std::string each = c.op("Div", {whole, c.int_list({n})});
  const std::string rest = c.op("Sub", {whole, c.op("Mul", {each, c.int_list({n})})});
  const std::string more = c.op("Less", {c.int_list(positions), rest});
  return c.op("Add", {each, c.cast(more, kBool, kInt64)});
}
void split_at(Call& c, int64_t dim) {
  std::vector<int64_t> at = c.ints("indices");
  at.insert(at.begin(), 0);
  at.push_back(kEnd);
  const std::string x = c.in("self");
  Names parts;
  for (std::size_t i = 0; i + 1 < at.size(); ++i)
    parts.push_back(c.slice(x, dim, at[i], at[i + 1]));
  c.give_parts(parts);
}
// Of a dimension whose size is known when the model runs.
void split_varying(Call& c, int64_t dim) {
  const auto n = static_cast<int64_t>(c.results.at(0).toListRef().items.size());
  if (c.has("indices")) return split_at(c, dim);
  const std::string x = c.in("self"), whole = c.slice(c.op("Shape", {x}), 0, dim, dim + 1);
  const Attrs axis{{"axis", dim}};
  const auto give_split = [&](const std::string& sizes) {
    c.give_parts(c.ops("Split", {x, sizes}, axis, static_cast<std::size_t>(n)));
  };
  if (c.has("sections")) return give_split(sizes_of_sections(c, whole, c.integer("sections")));
  const char* size = c.has("split_sizes") ? "split_sizes" : "split_size";
  if (c.has(size) && c.get(size).example.isList()) {
    if (!c.get(size).grows || is_only_unpacked(*c.node.output())) return give_split(c.in(size));
    return c.give(c.op("SplitToSequence", {x, c.in(size)}, axis));  // as many as there will be
  }
  need(c.has(size) || c.has("chunks"), "of a dimension whose size varies");
  const std::string one = c.int_list({1});
  const std::string given = c.op("Reshape", {c.in(c.has(size) ? size : "chunks"), one});
  const std::string each =
      c.has(size) ? given : c.op("Div", {c.op("Sub", {c.op("Add", {whole, given}), one}), given});
  if (is_only_unpacked(*c.node.output())) return give_split(sizes_of_equal(c, whole, each, n));
  c.give(c.op("SplitToSequence", {x, c.squeeze(each, {0})}, axis));
}
void split(Call& c) {
  const int64_t dim = c.axis("dim", "self");
  bool constant = true;
  for (const char* sizes :
       {"split_size", "split_sizes", "chunks", "sections", "indices", "tensor_indices_or_sections"})
    constant = constant && c.is_constant(sizes);
  if (!constant || !c.is_fixed("self", dim)) return split_varying(c, dim);
  std::vector<int64_t> sizes;
  for (const IValue& v : c.results.at(0).toListRef().items) sizes.push_back(v.toTensor().size(dim));
  c.give_parts(c.ops("Split", {c.in("self"), c.int_list(sizes)}, {{"axis", dim}}, sizes.size()));
}
void unbind(Call& c) {
  const int64_t dim = c.axis("dim", "self");
  Names parts;
  const auto n = static_cast<int64_t>(c.results.at(0).toListRef().items.size());
  if (!c.is_fixed("self", dim)) {
    const std::string x = c.in("self");
    if (!is_only_unpacked(*c.node.output()))
      return c.give(c.op("SplitToSequence", {x}, {{"axis", dim}, {"keepdims", int64_t{0}}}));
    const std::string sizes = c.int_list(std::vector<int64_t>(static_cast<std::size_t>(n), 1));
    for (const std::string& part :
         c.ops("Split", {x, sizes}, {{"axis", dim}}, static_cast<std::size_t>(n)))
      parts.push_back(c.squeeze(part, {dim}));
    return c.give_parts(parts);
  }
  for (int64_t i = 0; i < n; ++i)
    parts.push_back(
        c.op("Gather", {c.in("self"), c.constant(as_tensor(IValue(i)))}, {{"axis", dim}}));
  c.give_parts(parts);
}

// Pairs from the last dimension on become all that is added in front and all that is added behind.
std::string pads_of(Call& c, const char* argument) {
  const auto rank = static_cast<std::size_t>(c.rank("self"));
  const auto place = [&](std::size_t i) { return (i % 2 ? 2 : 1) * rank - 1 - i / 2; };
  const Item& list = c.get(argument);
  if (list.constant || !list.has_parts) {
    const std::vector<int64_t> pads = c.ints(argument);
    std::vector<int64_t> both(2 * rank, 0);
    for (std::size_t i = 0; i < pads.size(); ++i) both.at(place(i)) = pads[i];
    return c.int_list(both);
  }
  Names both(2 * rank, c.int_list({0}));
  for (std::size_t i = 0; i < list.parts.size(); ++i)
    both.at(place(i)) = c.unsqueeze(c.exporter.name_of(*list.parts[i]), {0});
  return c.op("Concat", both, {{"axis", int64_t{0}}});
}
void pad(Call& c) {
  const std::string name = c.name;
  std::string mode = c.has("mode") ? c.text("mode", "constant") : "constant";
  if (name.find("reflection") != std::string::npos) mode = "reflect";
  if (name.find("replication") != std::string::npos) mode = "replicate";
  if (mode == "replicate") mode = "edge";
  need(mode != "circular" || c.exporter.opset() >= 19, "mode circular is not supported");
  const ScalarType d = c.dtype("self");
  Names inputs{c.in("self"), pads_of(c, c.has("pad") ? "pad" : "padding")};
  if (mode == "constant") {
    const bool known = c.none("value") || c.is_constant("value");
    inputs.push_back(known ? c.constant(c.number("value", 0), d) : c.in("value", d));
  }
  c.give(c.op("Pad", inputs, {{"mode", mode}}));
}
void flip(Call& c) {
  std::string x = c.in("self");
  for (const int64_t d : c.ints("dims")) x = c.slice(x, wrap(d, c.rank("self")), -1, -kEnd, -1);
  c.give(x);
}
void roll(Call& c) {
  std::string x = c.in("self");
  const std::vector<int64_t> shifts = c.ints("shifts"), dims = c.ints("dims");
  need(!dims.empty(), "without dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap(dims[i], c.rank("self")), n = c.size("self", d);
    int64_t k = shifts[i];  // where a size varies, at most that
    if (c.is_fixed("self", d)) k = n ? ((k % n) + n) % n : 0;
    if (k == 0) continue;
    x = c.op("Concat", {c.slice(x, d, -k, kEnd), c.slice(x, d, 0, -k)}, {{"axis", d}});
  }
  c.give(x);
}
void pixel_shuffle(Call& c) {
  c.give(c.op("DepthToSpace", {c.in("self")},
              {{"blocksize", c.integer("upscale_factor")}, {"mode", std::string("CRD")}}));
}
// ONNX has the elements of a block before the channels, torch behind them.
void pixel_unshuffle(Call& c) {
  need(c.rank("self") == 4 && c.is_fixed("self", 1),
       "of other than images, or of varying channels");
  const int64_t r = c.integer("downscale_factor"), channels = c.size("self", 1);
  const std::string y = c.op("SpaceToDepth", {c.in("self")}, {{"blocksize", r}});
  const Tensor order =
      arange(r * r * channels, TensorOptions(kInt64)).reshape({r * r, channels}).t().reshape({-1});
  c.give(channels == 1 ? y : c.op("Gather", {y, c.constant(order)}, {{"axis", int64_t{1}}}));
}
void triangle(Call& c) {
  need(c.exporter.opset() >= 14, "needs opset 14");
  const std::string k = c.constant(as_tensor(IValue(c.integer("diagonal"))));
  const bool bools = c.dtype("self") == kBool;
  const std::string x = bools ? c.in("self", kInt32) : c.in("self");
  const std::string r = c.op("Trilu", {x, k}, {{"upper", int64_t{c.name == "aten::triu"}}});
  c.give(bools ? c.cast(r, kInt32, kBool) : r);
}

const Rules::Entry list[] = {
    {"aten::view", reshape},
    {"aten::reshape", reshape},
    {"aten::_unsafe_view", reshape},
    {"aten::flatten", flatten},
    {"aten::unflatten", unflatten},
    {"aten::size", size},
    {"aten::sym_size", size},
    {"aten::numel", numel},
    {"aten::len", len},
    {"aten::t", transpose},
    {"aten::mT", transpose},
    {"aten::numpy_T", transpose},
    {"aten::transpose", transpose},
    {"aten::swapaxes", transpose},
    {"aten::permute", permute},
    {"aten::movedim", movedim},
    {"aten::squeeze", squeeze},
    {"aten::unsqueeze", unsqueeze},
    {"aten::expand", expand},
    {"aten::broadcast_to", expand},
    {"aten::expand_as", expand_as},
    {"aten::view_as", view_as},
    {"aten::reshape_as", view_as},
    {"aten::repeat", repeat},
    {"aten::tile", repeat},
    {"aten::slice", slice},
    {"aten::narrow", narrow},
    {"aten::select", select},
    {"aten::cat", cat},
    {"aten::concat", cat},
    {"aten::stack", stack},
    {"aten::split", split},
    {"aten::split_with_sizes", split},
    {"aten::unsafe_split", split},
    {"aten::unsafe_split_with_sizes", split},
    {"aten::chunk", split},
    {"aten::unsafe_chunk", split},
    {"aten::tensor_split", split},
    {"aten::unbind", unbind},
    {"aten::pad", pad},
    {"aten::constant_pad_nd", pad},
    {"aten::reflection_pad1d", pad},
    {"aten::reflection_pad2d", pad},
    {"aten::reflection_pad3d", pad},
    {"aten::replication_pad1d", pad},
    {"aten::replication_pad2d", pad},
    {"aten::replication_pad3d", pad},
    {"aten::flip", flip},
    {"aten::roll", roll},
    {"aten::pixel_shuffle", pixel_shuffle},
    {"aten::pixel_unshuffle", pixel_unshuffle},
    {"aten::tril", triangle},
    {"aten::triu", triangle},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
