// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From text (print.h) to a loop program. Throws Error with line and column. Spaces at the start of
// a line, empty lines and # comments are free. What is parsed has dtypes, but is not checked
// (check.h).
#ifndef TENON_SDK_LOOP_PROGRAM_PARSE_H_
#define TENON_SDK_LOOP_PROGRAM_PARSE_H_

#include "tenon/sdk/loop_program/names.h"
#include "tenon/sdk/loop_program/scan.h"

namespace tenon::sdk::loop_program {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Program parse() {
    if (text_.size() > max_text) throw Error("loop program: the text is longer than 4 MiB");
    bool has_version = false;
    for (int number = 1; !text_.empty(); ++number) {
      const size_t end = text_.find('\n');
      Scanner line(text_.substr(0, end), number);
      text_ = end == text_.npos ? std::string_view() : text_.substr(end + 1);
      if (line.at_end()) continue;
      if (has_version) {
        parse_line(line);
      } else {
        parse_version(line);
      }
      has_version = true;
      line.expect_end();
    }
    if (!has_version) throw Error("loop program: the text is empty");
    return std::move(program_);
  }

 private:
  static constexpr size_t max_text = size_t{4} << 20;

  static void parse_version(Scanner& line) {
    if (!line.at_letter() || line.word() != "loops") line.fail("expected 'loops 1'");
    const int64_t version = line.integer();
    if (version != format_version)
      line.fail("version " + std::to_string(version) + " of the format; this reader knows " +
                std::to_string(format_version));
  }

  void parse_line(Scanner& line) {
    if (line.accept("%")) return parse_node(line);
    const std::string_view word = line.word();
    if (word == "size") return parse_size(line);
    if (word == "param") {
      std::string name = new_name(line);
      const Dtype dtype = parse_dtype(line);
      program_.parameters.push_back({std::move(name), dtype});
      return;
    }
    if (word == "input") return parse_array(line, Role::kInput);
    if (word == "temp") return parse_array(line, Role::kTemporary);
    if (word == "output") return parse_array(line, Role::kOutput);
    if (word == "for") return parse_nest(line);
    if (word == "schedule") return parse_schedule(line);
    parse_store(line, word);
  }

  std::string new_name(Scanner& line) const {
    std::string name(line.word());
    if (!is_name(name)) line.fail("'" + name + "' cannot be a name");
    return name;
  }

  template <typename List>
  static int find(const List& list, std::string_view name) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name) return static_cast<int>(i);
    return -1;
  }

  template <typename List>
  static int find_or_fail(Scanner& line, const List& list, std::string_view name,
                          const char* what) {
    const int at = find(list, name);
    if (at < 0) line.fail(std::string("no ") + what + " has the name '" + std::string(name) + "'");
    return at;
  }

  static Dtype parse_dtype(Scanner& line) {
    const std::string_view name = line.word();
    const int at = find_name(dtype_names, name);
    if (at < 0) line.fail("no dtype has the name '" + std::string(name) + "'");
    return static_cast<Dtype>(at);
  }

  // A sum of NUMBER, NAME and NUMBER*NAME with signs.
  Affine parse_affine(Scanner& line, const Nest* nest) const {
    Affine sum;
    bool negative = line.accept("-");
    do {
      parse_term(line, nest, negative, sum);
      negative = line.accept("-");
    } while (negative || line.accept("+"));
    return sum;
  }

  void parse_term(Scanner& line, const Nest* nest, bool negative, Affine& sum) const {
    int64_t by = negative ? -1 : 1;
    bool has_name = line.at_letter();
    if (!has_name) {
      const int64_t number = line.integer();
      if (number < 0) line.fail("two signs");
      by *= number;
      has_name = line.accept("*");
    }
    if (!has_name) {
      if (__builtin_add_overflow(sum.constant, by, &sum.constant)) line.fail("out of range");
      return;
    }
    const std::string_view name = line.word();
    const int loop = nest ? find(nest->loops, name) : -1;
    if (loop >= 0) return add_term(sum.loops, loop, by);
    add_term(sum.sizes, find_or_fail(line, program_.sizes, name, nest ? "loop or size" : "size"),
             by);
  }

  void parse_size(Scanner& line) {
    Size size;
    size.name = new_name(line);
    if (line.accept("=")) {
      size.defined = true;
      line.expect("(");
      size.numerator = parse_affine(line, nullptr);
      line.expect(")");
      line.expect("/");
      size.divisor = line.integer();
    }
    program_.sizes.push_back(std::move(size));
  }

  void parse_array(Scanner& line, Role role) {
    Array array;
    array.name = new_name(line);
    array.role = role;
    array.dtype = parse_dtype(line);
    parse_list(line, [&] { array.shape.push_back(parse_affine(line, nullptr)); });
    program_.arrays.push_back(std::move(array));
  }

  template <typename Parse>
  static void parse_list(Scanner& line, Parse parse_one) {
    line.expect("[");
    if (line.accept("]")) return;
    do parse_one();
    while (line.accept(","));
    line.expect("]");
  }

  void parse_nest(Scanner& line) {
    Nest nest;
    if (!line.at_end()) {
      do {
        Loop loop;
        loop.name = new_name(line);
        line.expect("<");
        loop.extent = parse_affine(line, nullptr);
        nest.loops.push_back(std::move(loop));
      } while (line.accept(","));
    }
    program_.nests.push_back(std::move(nest));
  }

  Nest& nest(Scanner& line) {
    if (program_.nests.empty()) line.fail("expected 'for' before the first statement");
    return program_.nests.back();
  }

  void parse_store(Scanner& line, std::string_view name) {
    Nest& nest = this->nest(line);
    Store store;
    store.array = find_or_fail(line, program_.arrays, name, "array");
    parse_list(line, [&] { store.indices.push_back(parse_affine(line, &nest)); });
    std::string_view word = line.token();
    if (word.size() > 1 && word.back() == '!') {
      store.from_neutral = true;
      word.remove_suffix(1);
    }
    const int update = find_name(update_names, word);
    if (update < 0) line.fail("no update has the name '" + std::string(word) + "'");
    store.update = static_cast<Update>(update);
    store.node = line.node();
    nest.stores.push_back(std::move(store));
  }

  void parse_schedule(Scanner& line) {
    Nest& nest = this->nest(line);
    if (!nest.schedule.empty()) line.fail("a second schedule of one nest");
    do parse_directive(line, nest);
    while (line.accept(","));
  }

  void parse_directive(Scanner& line, Nest& nest) const {
    Schedule& schedule = nest.schedule;
    const auto loop = [&] { return find_or_fail(line, nest.loops, line.word(), "loop"); };
    const std::string_view word = line.word();
    if (word == "order") {
      while (line.at_letter()) schedule.order.push_back(loop());
    } else if (word == "vector") {
      if (schedule.vector >= 0) line.fail("a second loop along vectors");
      schedule.vector = loop();
      schedule.vectors = line.integer();
    } else if (word == "tile") {
      const int i = loop();
      schedule.tiles.emplace_back(i, line.integer());
    } else if (word == "pack") {
      schedule.packed.push_back(find_or_fail(line, program_.arrays, line.word(), "array"));
    } else if (word == "grain") {
      schedule.grain = line.integer();
    } else {
      line.fail("no part of a schedule has the name '" + std::string(word) + "'");
    }
  }

  void parse_node(Scanner& line) {
    Nest& nest = this->nest(line);
    if (!nest.stores.empty()) line.fail("a node after the stores of its nest");
    if (line.integer() != static_cast<int64_t>(nest.nodes.size()))
      line.fail("the next node is %" + std::to_string(nest.nodes.size()));
    line.expect("=");
    Node node;
    const std::string_view word = line.word();
    if (word == "const")
      parse_constant(line, node);
    else if (word == "param")
      parse_source(line, program_.parameters, Kind::kParameter, node);
    else if (word == "loop")
      parse_source(line, nest.loops, Kind::kLoop, node);
    else if (word == "size")
      parse_source(line, program_.sizes, Kind::kSize, node);
    else if (word == "read")
      parse_read(line, nest, node);
    else
      parse_operation(line, word, nest, node);
    nest.nodes.push_back(std::move(node));
  }

  static void parse_constant(Scanner& line, Node& node) {
    node.dtype = parse_dtype(line);
    if (is_floating(node.dtype))
      node.real = line.real();
    else
      node.integer = line.integer();
  }

  template <typename List>
  static void parse_source(Scanner& line, const List& list, Kind kind, Node& node) {
    node.kind = kind;
    node.source = find_or_fail(line, list, line.word(),
                               kind == Kind::kLoop   ? "loop"
                               : kind == Kind::kSize ? "size"
                                                     : "parameter");
    node.dtype = Dtype::kInt64;
    if constexpr (std::is_same_v<List, std::vector<Parameter>>)
      node.dtype = list[node.source].dtype;
  }

  void parse_read(Scanner& line, const Nest& nest, Node& node) const {
    node.kind = Kind::kRead;
    node.source = find_or_fail(line, program_.arrays, line.word(), "array");
    node.dtype = program_.arrays[node.source].dtype;
    parse_list(line, [&] { node.indices.push_back(parse_index(line, nest)); });
  }

  Index parse_index(Scanner& line, const Nest& nest) const {
    Index index;
    if (line.accept("clamp %"))
      index.bound = Bound::kClamped;
    else if (line.accept("check %"))
      index.bound = Bound::kChecked;
    if (index.bound == Bound::kProven) {
      index.affine = parse_affine(line, &nest);
    } else {
      index.node = static_cast<int>(line.integer());
    }
    return index;
  }

  static Dtype dtype_of(Scanner& line, const Nest& nest, int node) {
    if (node >= static_cast<int>(nest.nodes.size()))
      line.fail("%" + std::to_string(node) + " is not a node before this one");
    return nest.nodes[node].dtype;
  }

  static void parse_operation(Scanner& line, std::string_view word, const Nest& nest, Node& node) {
    int n = 3;
    if (word == "cast") {
      node.kind = Kind::kCast;
      node.dtype = parse_dtype(line);
      n = 1;
    } else if (word == "select") {
      node.kind = Kind::kSelect;
    } else if (word == "philox") {
      node.kind = Kind::kPhilox;
    } else if (const int unary = find_unary(word); unary >= 0) {
      node.kind = Kind::kUnary;
      node.code = unary;
      n = 1;
    } else {
      node.kind = Kind::kBinary;
      node.code = find_binary(word);
      n = 2;
      if (node.code < 0) line.fail("no operation has the name '" + std::string(word) + "'");
    }
    Dtype last{};
    for (int i = 0; i < n; ++i) last = dtype_of(line, nest, node.operands[i] = line.node());
    if (node.kind == Kind::kPhilox)
      node.dtype = Dtype::kInt32;
    else if (node.kind != Kind::kCast)
      node.dtype = node.code >= first_test ? Dtype::kBool : last;
  }

  std::string_view text_;
  Program program_;
};

inline Program parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace tenon::sdk::loop_program

#endif
