// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: one node per layer, for both directions. Of packed sequences the nodes take the
// padded ones and their lengths.
#include "onnx/export/call.h"
#include "onnx/export/packed.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

struct Kind {
  const char* type;
  std::vector<int64_t> order;  // our gates in ONNX's order
  const char* activation;      // of a cell without gates
};

// What the rule of a call needs of it.
struct Layers {
  Call& c;
  const Kind& kind;
  std::vector<Tensor> params;
  int64_t count = 1, directions = 1;
  std::size_t each = 4;  // parameters of a direction
  bool lstm = false, biased = false, projected = false;
  std::string h0, c0;
  std::string lengths, mask;  // of packed sequences; else empty

  const Tensor& param(int64_t layer, int64_t direction, std::size_t k) const {
    return params[each * static_cast<std::size_t>(layer * directions + direction) + k];
  }
};
struct Outputs {
  std::string all, h, c;  // [time, batch, features] and the last states
};

Tensor gates(const Tensor& t, const std::vector<int64_t>& order) {
  const auto parts = t.chunk(static_cast<int64_t>(order.size()), 0);
  std::vector<Tensor> sorted;
  sorted.reserve(order.size());
  for (const int64_t k : order) sorted.push_back(parts[static_cast<std::size_t>(k)]);
  return tenon::cat(sorted, 0);
}

std::vector<Tensor> parameters(Call& c) {
  Item& list = c.get("params");
  std::vector<Tensor> all;
  for (const IValue& v : list.example.toListRef().items) all.push_back(v.toTensor().detach());
  need(list.constant, "weights that the program computes");
  return all;
}

void take_states(Layers& l) {
  Call& c = l.c;
  Item& states = c.get("hx");
  if (l.lstm && states.has_parts) {
    l.h0 = c.exporter.name_of(*states.parts.at(0));
    l.c0 = c.exporter.name_of(*states.parts.at(1));
  } else if (l.lstm) {
    need(states.constant, "states that are a list of the program");
    l.h0 = c.constant(states.example.toListRef().items.at(0).toTensor());
    l.c0 = c.constant(states.example.toListRef().items.at(1).toTensor());
  } else {
    l.h0 = c.exporter.name_of(states);
  }
}

Layers layers_of(Call& c, const Kind& kind) {
  Layers l{c, kind, parameters(c)};
  l.lstm = std::string_view(kind.type) == "LSTM";
  l.biased = c.flag("has_biases");
  l.count = c.integer("num_layers");
  l.directions = c.flag("bidirectional") ? 2 : 1;
  const auto cells = static_cast<std::size_t>(l.count * l.directions);
  l.each = l.params.size() / cells;
  l.projected = l.lstm && l.each == (l.biased ? 5U : 3U);
  need(l.params.size() == l.each * cells && (l.projected || l.each == (l.biased ? 4U : 2U)),
       "weights of " + std::to_string(l.params.size()) + " tensors for " + std::to_string(cells) +
           " cells");
  take_states(l);
  return l;
}

Outputs run_layer(const Layers& l, int64_t layer, const std::string& x) {
  Call& c = l.c;
  std::vector<Tensor> w, r, b;
  for (int64_t d = 0; d < l.directions; ++d) {
    const auto part = [&](std::size_t k) { return gates(l.param(layer, d, k), l.kind.order); };
    w.push_back(part(0));
    r.push_back(part(1));
    if (l.biased) b.push_back(tenon::cat({part(2), part(3)}, 0));
  }
  const int64_t from = layer * l.directions, to = from + l.directions;
  Names inputs{x,
               c.constant(tenon::stack(w, 0)),
               c.constant(tenon::stack(r, 0)),
               l.biased ? c.constant(tenon::stack(b, 0)) : "",
               l.lengths.empty() ? "" : c.cast(l.lengths, kInt64, kInt32),
               c.slice(l.h0, 0, from, to)};
  if (l.lstm) inputs.push_back(c.slice(l.c0, 0, from, to));
  Attrs attrs{{"hidden_size", l.param(layer, 0, 1).size(1)},
              {"direction", std::string(l.directions == 2 ? "bidirectional" : "forward")}};
  if (l.kind.activation) {
    std::vector<IValue> names(static_cast<std::size_t>(l.directions),
                              std::string(l.kind.activation));
    attrs.push_back({"activations", IValue(core::Ref<ivalue::List>::adopt(
                                        new ivalue::List(jit::Type::string(), std::move(names))))});
  }
  if (std::string_view(l.kind.type) == "GRU") attrs.push_back({"linear_before_reset", int64_t{1}});
  const Names y = c.ops(l.kind.type, inputs, attrs, l.lstm ? 3 : 2);
  // [time, direction, batch, hidden] to [time, batch, direction * hidden]
  return {c.op("Reshape", {c.transpose(y[0], {0, 2, 1, 3}), c.int_list({0, 0, -1})}), y[1],
          l.lstm ? y[2] : ""};
}

// An LSTM whose hidden state is projected, which ONNX's has not: step by step.
Outputs scan_direction(const Layers& l, int64_t layer, int64_t direction, const std::string& x) {
  Call& c = l.c;
  const auto param = [&](std::size_t k) { return l.param(layer, direction, k); };
  const auto transposed = [&](std::size_t k) { return c.constant(param(k).t().contiguous()); };
  const ScalarType dtype = param(0).scalar_type();
  const int64_t cell = layer * l.directions + direction, hidden = param(0).size(0) / 4;
  std::string inputs = c.op("MatMul", {x, transposed(0)});
  if (l.biased) inputs = c.op("Add", {inputs, c.constant(param(2) + param(3))});
  const std::string r = transposed(1), projection = transposed(l.each - 1),
                    parts = c.int_list({hidden, hidden, hidden, hidden});
  const auto step = [&](const Names& given) {
    const std::string &h = given[0], &state = given[1];
    const Names g = c.ops("Split", {c.op("Add", {given[2], c.op("MatMul", {h, r})}), parts},
                          {{"axis", int64_t{-1}}}, 4);
    const auto sigmoid = [&](std::size_t k) { return c.op("Sigmoid", {g[k]}); };
    std::string next = c.op(
        "Add", {c.op("Mul", {sigmoid(1), state}), c.op("Mul", {sigmoid(0), c.op("Tanh", {g[2]})})});
    std::string out = c.op("MatMul", {c.op("Mul", {sigmoid(3), c.op("Tanh", {next})}), projection});
    if (!l.mask.empty()) {
      out = c.op("Where", {given[3], out, h});
      next = c.op("Where", {given[3], next, state});
    }
    return Names{out, next, out};
  };
  std::vector<Exporter::Scanned> sequences{{inputs, dtype, 2}};
  if (!l.mask.empty()) sequences.push_back({c.unsqueeze(l.mask, {2}), kBool, 2});
  const auto first = [&](const std::string& states) {
    return c.squeeze(c.slice(states, 0, cell, cell + 1), {0});
  };
  const Names made = c.exporter.scan({{first(l.h0), dtype, 2}, {first(l.c0), dtype, 2}}, sequences,
                                     direction == 1, step);
  return {made[2], c.unsqueeze(made[0], {0}), c.unsqueeze(made[1], {0})};
}

std::string joined(const Call& c, const Names& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : c.op("Concat", parts, {{"axis", axis}});
}

Outputs scan_layer(const Layers& l, int64_t layer, const std::string& x) {
  Names all, h, states;
  for (int64_t d = 0; d < l.directions; ++d) {
    const Outputs one = scan_direction(l, layer, d, x);
    all.push_back(one.all);
    h.push_back(one.h);
    states.push_back(one.c);
  }
  return {joined(l.c, all, 2), joined(l.c, h, 0), joined(l.c, states, 0)};
}

Outputs run_layers(const Layers& l, const std::string& input) {
  Outputs out{input, "", ""};
  Names h, states;
  for (int64_t layer = 0; layer < l.count; ++layer) {
    out = l.projected ? scan_layer(l, layer, out.all) : run_layer(l, layer, out.all);
    h.push_back(out.h);
    states.push_back(out.c);
  }
  return {out.all, joined(l.c, h, 0), l.lstm ? joined(l.c, states, 0) : ""};
}

void give_sizes(Call& c, std::size_t k, const std::vector<int64_t>& sizes) {
  c.given.at(k)->sizes = sizes;
}

void give_states(const Layers& l, const Outputs& out, int64_t batch) {
  Call& c = l.c;
  c.give(out.h, 1);
  if (l.lstm) c.give(out.c, 2);
  for (std::size_t k = 1; k < c.given.size(); ++k) give_sizes(c, k, {0, batch, 0});
}

void packed_layers(Call& c, const Kind& kind) {
  const Packed in = packed_of(c, "data");
  Layers l = layers_of(c, kind);
  const std::string x = l.projected ? longest_of(c, in) : in.padded;
  l.lengths = in.lengths;
  l.mask = in.mask;
  const Outputs out = run_layers(l, x);
  Packed made = in;
  made.padded = out.all;
  made.is_longest = in.is_longest || l.projected;
  c.give(packed_elements(c, made, 1), 0);
  give_sizes(c, 0, {c.exporter.symbol_of(c.get("data"), 0), 0});
  c.exporter.packed[c.given[0]->name] = made;
  give_states(l, out, in.batch);
}

void layers(Call& c, const Kind& kind) {
  if (c.has("batch_sizes")) return packed_layers(c, kind);
  need(c.rank("input") == 3, "an input without a batch");
  const bool batch_first = c.flag("batch_first");
  const Layers l = layers_of(c, kind);
  const std::string x = c.in("input");
  const Outputs out = run_layers(l, batch_first ? c.transpose(x, {1, 0, 2}) : x);
  c.give(batch_first ? c.transpose(out.all, {1, 0, 2}) : out.all, 0);
  const auto symbol = [&](int64_t dim) { return c.exporter.symbol_of(c.get("input"), dim); };
  give_sizes(c, 0, {symbol(0), symbol(1), 0});
  give_states(l, out, symbol(batch_first ? 0 : 1));
}

void lstm(Call& c) { layers(c, {"LSTM", {0, 3, 1, 2}, nullptr}); }
void gru(Call& c) { layers(c, {"GRU", {1, 0, 2}, nullptr}); }
void rnn_tanh(Call& c) { layers(c, {"RNN", {0}, "Tanh"}); }
void rnn_relu(Call& c) { layers(c, {"RNN", {0}, "Relu"}); }

const Rules::Entry list[] = {
    {"aten::lstm", lstm},
    {"aten::gru", gru},
    {"aten::rnn_tanh", rnn_tanh},
    {"aten::rnn_relu", rnn_relu},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
