// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The text of a loop program, which parse.h reads: parse(print(p)) is p, and equal programs have
// equal texts, so that a cache may be keyed by it. For the sum of exponentials of each row:
//
//   loops 1
//   size N
//   size M
//   input x float32 [N, M]
//   output y float32 [N]
//   for i < N, j < M
//     %0 = read x [i, j]
//     %1 = exp %0
//     y [i] +=! %1
//     schedule order i j, vector j 1, tile i 4
#ifndef TENON_SDK_LOOP_PROGRAM_PRINT_H_
#define TENON_SDK_LOOP_PROGRAM_PRINT_H_

#include <charconv>
#include <cmath>

#include "tenon/sdk/loop_program/names.h"

namespace tenon::sdk::loop_program {

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string print() {
    text_ = "loops " + std::to_string(format_version) + "\n";
    for (const Size& size : program_.sizes) print_size(size);
    for (const Parameter& it : program_.parameters)
      text_ += "param " + it.name + " " + std::string(dtype_name(it.dtype)) + "\n";
    for (const Array& array : program_.arrays) {
      constexpr std::string_view roles[] = {"input ", "temp ", "output "};
      text_ += roles[static_cast<int>(array.role)];
      text_ += array.name + " " + std::string(dtype_name(array.dtype)) + " [";
      print_list(array.shape, [&](const Affine& it) { text_ += affine(it, nullptr); });
      text_ += "]\n";
    }
    for (const Nest& nest : program_.nests) print_nest(nest);
    return std::move(text_);
  }

  std::string affine(const Affine& value, const Nest* nest) const {
    std::string text;
    for (const auto& [loop, by] : value.loops) add(text, by, nest->loops.at(loop).name);
    for (const auto& [size, by] : value.sizes) add(text, by, program_.sizes.at(size).name);
    if (value.constant != 0 || text.empty()) add(text, value.constant, "");
    return text;
  }

  // What follows the word `schedule`.
  std::string schedule(const Nest& nest) const {
    const Schedule& it = nest.schedule;
    const auto loop = [&](int i) { return " " + nest.loops.at(i).name; };
    std::string text;
    const auto begin = [&](const char* word) {
      text += (text.empty() ? "" : ", ") + std::string(word);
    };
    if (!it.order.empty()) begin("order");
    for (const int i : it.order) text += loop(i);
    if (it.vector >= 0) {
      begin("vector");
      text += loop(it.vector) + " " + std::to_string(it.vectors);
    }
    for (const auto& [i, points] : it.tiles) {
      begin("tile");
      text += loop(i) + " " + std::to_string(points);
    }
    for (const int i : it.packed) {
      begin("pack");
      text += " " + program_.arrays.at(i).name;
    }
    if (it.grain > 0) {
      begin("grain");
      text += " " + std::to_string(it.grain);
    }
    return text;
  }

 private:
  static void add(std::string& text, int64_t by, const std::string& name) {
    const std::string number = std::to_string(by);
    const std::string size = by < 0 ? number.substr(1) : number;
    if (!text.empty()) text += by < 0 ? " - " : " + ";
    if (text.empty() && by < 0) text += "-";
    if (name.empty()) {
      text += size;
    } else {
      text += size == "1" ? name : size + "*" + name;
    }
  }

  template <typename List, typename Print>
  void print_list(const List& list, Print print_one) {
    bool first = true;
    for (const auto& it : list) {
      if (!first) text_ += ", ";
      first = false;
      print_one(it);
    }
  }

  void print_size(const Size& size) {
    text_ += "size " + size.name;
    if (size.defined)
      text_ += " = (" + affine(size.numerator, nullptr) + ") / " + std::to_string(size.divisor);
    text_ += "\n";
  }

  void print_nest(const Nest& nest) {
    text_ += nest.loops.empty() ? "for" : "for ";
    print_list(nest.loops,
               [&](const Loop& it) { text_ += it.name + " < " + affine(it.extent, nullptr); });
    text_ += "\n";
    for (size_t i = 0; i < nest.nodes.size(); ++i) {
      text_ += "  %" + std::to_string(i) + " = ";
      print_node(nest, nest.nodes[i]);
      text_ += "\n";
    }
    for (const Store& store : nest.stores) {
      text_ += "  " + program_.arrays.at(store.array).name + " [";
      print_list(store.indices, [&](const Affine& it) { text_ += affine(it, &nest); });
      text_ += "] " + std::string(update_names[static_cast<int>(store.update)]);
      if (store.from_neutral) text_ += "!";
      text_ += " %" + std::to_string(store.node) + "\n";
    }
    if (!nest.schedule.empty()) text_ += "  schedule " + schedule(nest) + "\n";
  }

  void print_node(const Nest& nest, const Node& node) {
    switch (node.kind) {
      case Kind::kConstant:
        text_ += "const " + std::string(dtype_name(node.dtype)) + " " + constant(node);
        return;
      case Kind::kParameter:
        text_ += "param " + program_.parameters.at(node.source).name;
        return;
      case Kind::kLoop:
        text_ += "loop " + nest.loops.at(node.source).name;
        return;
      case Kind::kSize:
        text_ += "size " + program_.sizes.at(node.source).name;
        return;
      case Kind::kRead:
        print_read(nest, node);
        return;
      case Kind::kCast:
        print_operands("cast " + std::string(dtype_name(node.dtype)), node, 1);
        return;
      case Kind::kUnary:
        print_operands(unary_name(node.code), node, 1);
        return;
      case Kind::kBinary:
        print_operands(binary_name(node.code), node, 2);
        return;
      case Kind::kSelect:
        print_operands("select", node, 3);
        return;
      case Kind::kPhilox:
        print_operands("philox", node, 3);
        return;
    }
  }

  void print_operands(std::string_view word, const Node& node, int n) {
    text_ += word;
    for (int i = 0; i < n; ++i) text_ += " %" + std::to_string(node.operands[i]);
  }

  void print_read(const Nest& nest, const Node& node) {
    text_ += "read " + program_.arrays.at(node.source).name + " [";
    print_list(node.indices, [&](const Index& it) {
      if (it.bound == Bound::kProven) {
        text_ += affine(it.affine, &nest);
      } else {
        text_ += it.bound == Bound::kClamped ? "clamp %" : "check %";
        text_ += std::to_string(it.node);
      }
    });
    text_ += "]";
  }

  static std::string constant(const Node& node) {
    if (!is_floating(node.dtype)) return std::to_string(node.integer);
    if (std::isnan(node.real)) return "nan";  // of any payload
    char buffer[40];  // the shortest text that reads as the same number, in any locale
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, node.real).ptr};
  }

  const Program& program_;
  std::string text_;
};

inline std::string print(const Program& program) { return Printer(program).print(); }

}  // namespace tenon::sdk::loop_program

#endif
