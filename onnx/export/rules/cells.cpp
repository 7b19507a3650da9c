// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent cells: one step, as loops that decode take it.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

std::string product(Call& c, const std::string& x, const char* weight, const char* bias) {
  const std::string y = c.op("MatMul", {x, c.transpose(c.in(weight), {1, 0})});
  return c.none(bias) ? y : c.op("Add", {y, c.in(bias)});
}
// Both products of a step, [.., gates * hidden].
struct Gates {
  std::string of_input, of_hidden;
};
Gates gates_of(Call& c, const std::string& h) {
  return {product(c, c.in("input"), "w_ih", "b_ih"), product(c, h, "w_hh", "b_hh")};
}
Names split(Call& c, const std::string& gates, int64_t n) {
  const std::vector<int64_t> sizes(static_cast<std::size_t>(n), c.size("w_hh", 0) / n);
  return c.ops("Split", {gates, c.int_list(sizes)}, {{"axis", int64_t{-1}}},
               static_cast<std::size_t>(n));
}
std::string add(Call& c, const std::string& a, const std::string& b) { return c.op("Add", {a, b}); }
std::string mul(Call& c, const std::string& a, const std::string& b) { return c.op("Mul", {a, b}); }

template <bool relu>
void rnn_cell(Call& c) {
  const Gates g = gates_of(c, c.in("hx"));
  c.give(c.op(relu ? "Relu" : "Tanh", {add(c, g.of_input, g.of_hidden)}));
}
void gru_cell(Call& c) {
  const std::string h = c.in("hx");
  const Gates g = gates_of(c, h);
  const Names x = split(c, g.of_input, 3), r = split(c, g.of_hidden, 3);
  const auto sigmoid = [&](std::size_t k) { return c.op("Sigmoid", {add(c, x[k], r[k])}); };
  const std::string made = c.op("Tanh", {add(c, x[2], mul(c, sigmoid(0), r[2]))});
  c.give(add(c, made, mul(c, sigmoid(1), c.op("Sub", {h, made}))));
}
void lstm_cell(Call& c) {
  Item& states = c.get("hx");
  need(states.has_parts && states.parts.size() == 2, "of states that are not known one by one");
  const std::string h = c.exporter.name_of(*states.parts[0]),
                    state = c.exporter.name_of(*states.parts[1]);
  const Gates g = gates_of(c, h);
  const Names y = split(c, add(c, g.of_input, g.of_hidden), 4);
  const auto sigmoid = [&](std::size_t k) { return c.op("Sigmoid", {y[k]}); };
  const std::string next =
      add(c, mul(c, sigmoid(1), state), mul(c, sigmoid(0), c.op("Tanh", {y[2]})));
  c.give(mul(c, sigmoid(3), c.op("Tanh", {next})), 0);
  c.give(next, 1);
}

const Rules::Entry list[] = {
    {"aten::rnn_tanh_cell", rnn_cell<false>},
    {"aten::rnn_relu_cell", rnn_cell<true>},
    {"aten::gru_cell", gru_cell},
    {"aten::lstm_cell", lstm_cell},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
