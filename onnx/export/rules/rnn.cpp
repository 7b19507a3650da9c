// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: one node per layer, for both directions.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

struct Kind {
  const char* type;
  std::vector<int64_t> order;  // our gates in ONNX's order
  const char* activation;      // of a cell without gates
};

struct Weights {
  Tensor input, hidden, bias;  // a direction
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

void layers(Call& c, const Kind& kind) {
  const bool lstm = std::string_view(kind.type) == "LSTM", biased = c.flag("has_biases"),
             both = c.flag("bidirectional"), batch_first = c.flag("batch_first");
  need(c.has("input") && c.has("batch_first"), "packed sequences are not supported");
  need(c.rank("input") == 3, "an input without a batch");
  const int64_t count = c.integer("num_layers"), directions = both ? 2 : 1;
  const std::vector<Tensor> params = parameters(c);
  const std::size_t each = biased ? 4 : 2;
  need(params.size() == each * static_cast<std::size_t>(count * directions),
       "projections are not supported");
  std::string x = c.in("input");
  if (batch_first) x = c.transpose(x, {1, 0, 2});
  Item& states = c.get("hx");
  std::string h0, c0;
  if (lstm && states.has_parts) {
    h0 = c.exporter.name_of(*states.parts.at(0));
    c0 = c.exporter.name_of(*states.parts.at(1));
  } else if (lstm) {
    need(states.constant, "states that are a list of the program");
    h0 = c.constant(states.example.toListRef().items.at(0).toTensor());
    c0 = c.constant(states.example.toListRef().items.at(1).toTensor());
  } else {
    h0 = c.exporter.name_of(states);
  }
  const int64_t hidden = params.at(1).size(1);
  Names last_h, last_c;
  for (int64_t layer = 0; layer < count; ++layer) {
    std::vector<Tensor> w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      const std::size_t at = each * static_cast<std::size_t>(layer * directions + d);
      w.push_back(gates(params[at], kind.order));
      r.push_back(gates(params[at + 1], kind.order));
      if (biased)
        b.push_back(
            tenon::cat({gates(params[at + 2], kind.order), gates(params[at + 3], kind.order)}, 0));
    }
    const int64_t from = layer * directions, to = from + directions;
    Names inputs{x,
                 c.constant(tenon::stack(w, 0)),
                 c.constant(tenon::stack(r, 0)),
                 biased ? c.constant(tenon::stack(b, 0)) : "",
                 "",
                 c.slice(h0, 0, from, to)};
    if (lstm) inputs.push_back(c.slice(c0, 0, from, to));
    Attrs attrs{{"hidden_size", hidden},
                {"direction", std::string(both ? "bidirectional" : "forward")}};
    if (kind.activation) {
      std::vector<IValue> names(static_cast<std::size_t>(directions), std::string(kind.activation));
      attrs.push_back({"activations", IValue(core::Ref<ivalue::List>::adopt(new ivalue::List(
                                          jit::Type::string(), std::move(names))))});
    }
    if (std::string_view(kind.type) == "GRU") attrs.push_back({"linear_before_reset", int64_t{1}});
    const Names y = c.ops(kind.type, inputs, attrs, lstm ? 3 : 2);
    // [time, direction, batch, hidden] to [time, batch, direction * hidden]
    x = c.op("Reshape", {c.transpose(y[0], {0, 2, 1, 3}), c.int_list({0, 0, -1})});
    last_h.push_back(y[1]);
    if (lstm) last_c.push_back(y[2]);
  }
  const auto joined = [&](const Names& parts) {
    return parts.size() == 1 ? parts[0] : c.op("Concat", parts, {{"axis", int64_t{0}}});
  };
  c.give(batch_first ? c.transpose(x, {1, 0, 2}) : x, 0);
  c.give(joined(last_h), 1);
  if (lstm) c.give(joined(last_c), 2);
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
