// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sequences of decreasing lengths whose elements lie time by time.
#include "onnx/export/packed.h"

namespace tenon::onnx::exporting {
namespace {

std::string number(Call& c, int64_t v) { return c.constant(as_tensor(IValue(v))); }
std::string range(Call& c, const std::string& n) {
  return c.op("Range", {number(c, 0), n, number(c, 1)});
}
// How often it is true along an axis.
std::string count(Call& c, const std::string& mask, int64_t axis) {
  return c.reduce("ReduceSum", c.cast(mask, kBool, kInt64), {axis}, false);
}
std::string padded(Call& c, const std::string& x, const std::string& more, int64_t rank,
                   const std::string& value) {
  const std::string none = c.int_list(std::vector<int64_t>(static_cast<std::size_t>(rank), 0)),
                    rest = c.int_list(std::vector<int64_t>(static_cast<std::size_t>(rank - 1), 0));
  return c.op("Pad", {x, c.op("Concat", {none, more, rest}, {{"axis", int64_t{0}}}), value});
}

void pack(Call& c) {
  const int64_t rank = c.rank("input");
  std::vector<int64_t> order{1, 0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  const bool batch_first = c.flag("batch_first");
  const Item &input = c.get("input"), &lengths = c.get("lengths");
  Packed p;
  p.padded = batch_first ? c.transpose(c.in("input"), order) : c.in("input");
  p.lengths = c.in("lengths", kInt64);
  p.batch = c.exporter.symbol_of(input, batch_first ? 0 : 1);
  const std::string steps = range(c, c.reduce("ReduceMax", p.lengths, {0}, false));
  p.mask = c.op("Less", {c.unsqueeze(steps, {1}), c.unsqueeze(p.lengths, {0})});
  c.give(packed_elements(c, p, rank - 2), 0);
  c.give(count(c, p.mask, 1), 1);
  if (lengths.constant) c.given[1] = std::make_shared<Item>(Item{c.results[1], true});
  p.batch_sizes = c.exporter.name_of(*c.given[1]);
  std::vector<int64_t> sizes{lengths.constant ? 0 : c.exporter.fresh_symbol()};
  for (int64_t d = 2; d < rank; ++d) sizes.push_back(c.exporter.symbol_of(input, d));
  c.given[0]->sizes = sizes;
  c.exporter.packed[c.given[0]->name] = p;
}

// Whether the length that is asked for is that of the longest sequence in every run.
bool asks_longest(const Item& total, const Item& batch_sizes) {
  if (total.constant && total.example.toInt() <= 0) return true;
  if (total.constant && batch_sizes.constant)
    return total.example.toInt() == batch_sizes.example.toTensor().numel();
  return total.symbol != 0 && batch_sizes.sizes && batch_sizes.sizes->at(0) == total.symbol;
}

void pad(Call& c) {
  const Packed p = packed_of(c, "data");
  Item& total = c.get("total_length");
  const int64_t rank = c.rank("data") + 1;
  const ScalarType dtype = c.dtype("data");
  const std::string value = c.constant(c.number("padding_value"), dtype);
  std::vector<int64_t> dims;
  for (int64_t d = 2; d < rank; ++d) dims.push_back(d);
  std::string x = c.choose(c.unsqueeze(p.mask, dims), longest_of(c, p), value, dtype);
  int64_t time = c.exporter.symbol_of(c.get("batch_sizes"), 0);
  if (!asks_longest(total, c.get("batch_sizes"))) {
    const std::string wanted = c.op("Reshape", {c.exporter.name_of(total), c.int_list({1})}),
                      more = c.op("Sub", {wanted, c.op("Shape", {p.batch_sizes})});
    x = padded(c, x, c.op("Max", {more, c.int_list({0})}), rank, value);
    time = total.constant ? 0 : total.symbol != 0 ? total.symbol : c.exporter.fresh_symbol();
  }
  std::vector<int64_t> sizes{time, p.batch}, order{1, 0};
  for (int64_t d = 2; d < rank; ++d) {
    sizes.push_back(c.exporter.symbol_of(c.get("data"), d - 1));
    order.push_back(d);
  }
  const bool batch_first = c.flag("batch_first");
  if (batch_first) std::swap(sizes[0], sizes[1]);
  c.give(batch_first ? c.transpose(x, order) : x, 0);
  c.give(p.lengths, 1);
  c.given[0]->sizes = sizes;
  c.given[1]->sizes = std::vector<int64_t>{p.batch};
}

const Rules::Entry list[] = {
    {"aten::_pack_padded_sequence", pack},
    {"aten::_pad_packed_sequence", pad},
};
TENON_EXPORT_RULES(list);

}  // namespace

// Of elements that the program packed otherwise, or changed.
Packed packed_of(Call& c, const char* argument) {
  const std::string data = c.in(argument), sizes = c.in("batch_sizes", kInt64);
  const auto known = c.exporter.packed.find(data);
  if (known != c.exporter.packed.end() && known->second.batch_sizes == sizes) return known->second;
  Packed p;
  p.batch_sizes = sizes;
  const Item& item = c.get("batch_sizes");
  for (const auto& [name, other] : c.exporter.packed)
    if (other.batch_sizes == sizes) p.batch = other.batch;
  if (p.batch == 0 && !item.constant) p.batch = c.exporter.fresh_symbol();
  const std::string batch = c.squeeze(c.slice(sizes, 0, 0, 1), {0}), columns = range(c, batch),
                    starts = c.op("CumSum", {sizes, number(c, 0)}, {{"exclusive", int64_t{1}}});
  p.mask = c.op("Less", {c.unsqueeze(columns, {0}), c.unsqueeze(sizes, {1})});
  const std::string places = c.op("Add", {c.unsqueeze(starts, {1}), columns}),
                    index = c.op("Where", {p.mask, places, number(c, 0)});
  p.padded = c.op("Gather", {data, index}, {{"axis", int64_t{0}}});
  p.lengths = count(c, p.mask, 0);
  p.is_longest = true;
  return p;  // not kept: this may be a graph inside of the one that has the elements
}

std::string longest_of(Call& c, const Packed& p) {
  if (p.is_longest) return p.padded;
  const std::string longest = c.slice(c.op("Shape", {p.mask}), 0, 0, 1);
  return c.op("Slice", {p.padded, c.int_list({0}), longest, c.int_list({0})});
}

std::string packed_elements(Call& c, const Packed& p, int64_t rank) {
  const std::string x = longest_of(c, p), shape = c.op("Shape", {x}),
                    rest = c.slice(shape, 0, 2, 2 + rank),
                    flat = c.op("Concat", {c.int_list({-1}), rest}, {{"axis", int64_t{0}}});
  return c.op("Compress", {c.op("Reshape", {x, flat}), c.op("Reshape", {p.mask, c.int_list({-1})})},
              {{"axis", int64_t{0}}});
}

}  // namespace tenon::onnx::exporting
