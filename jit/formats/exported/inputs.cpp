// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The arguments of a program's forward: how they are nested, and what was promised of their sizes
// and values when the program was exported.
#include <algorithm>
#include <charconv>

#include "jit/formats/exported/build.h"
#include "jit/formats/exported/guards.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

// An argument that was None when the program was exported may be left out; so may constants.
void ExportedBuilder::add_arguments() {
  const Json& calls = list_of(member(module_, "module_call_graph"), "module_call_graph");
  TENON_CHECK(!calls.empty(), ValueError, "the list module_call_graph is empty");
  const Json& signature = member(calls[0], "signature");
  const Tree tree = parse_tree(text_of(member(signature, "in_spec"), "in_spec"),
                               find_member(module_, "treespec_namedtuple_fields"));
  TENON_CHECK(tree.kind == Tree::Kind::Tuple && tree.children.size() == 2 &&
                  tree.children[0].kind == Tree::Kind::Tuple &&
                  tree.children[1].kind == Tree::Kind::Dict,
              ValueError, "in_spec must be a tuple of arguments and a dictionary of keywords");
  TENON_CHECK(tree.leaves() == inputs_.size(), ValueError, "the signature has ", inputs_.size(),
              " inputs of the user, but in_spec has ", tree.leaves());
  const Json* names = find_member(signature, "forward_arg_names");
  std::vector<TypePtr> types;
  for (const UserInput& in : inputs_) types.push_back(in.type);
  std::vector<const Tree*> trees;
  for (const Tree& t : tree.children[0].children) trees.push_back(&t);
  for (const Tree& t : tree.children[1].children) trees.push_back(&t);
  const std::size_t positional = tree.children[0].children.size();
  std::vector<Value*> values;
  for (std::size_t i = 0, leaf = 0; i < trees.size(); ++i) {
    Argument a;
    if (i >= positional)
      a.name = tree.children[1].keys[i - positional].toStringRef();
    else if (names && names->is_array() && i < names->size() && (*names)[i].is_string())
      a.name = (*names)[i].get<std::string>();
    else
      a.name = core::join("argument_", i);
    if (schema_.find_argument(a.name) >= 0) a.name += core::join("_", i);
    const std::size_t first = leaf;
    a.type = type_of_tree(*trees[i], types, leaf, unit_);
    if (trees[i]->kind == Tree::Kind::Leaf && inputs_[first].constant)
      a.default_value = inputs_[first].constant;
    values.push_back(graph_->add_input(a.name, a.type));
    schema_.arguments.push_back(std::move(a));
  }
  for (std::size_t i = 0, leaf = 0; i < trees.size(); ++i)
    flatten(*trees[i], values[i], schema_.arguments[i + 1].name, types, leaf);
}

void ExportedBuilder::flatten(const Tree& tree, Value* v, const std::string& path,
                              const std::vector<TypePtr>& types, std::size_t& leaf) {
  if (v->type()->is(TypeKind::Any)) {  // of a container of values of several types
    std::size_t at = leaf;
    const TypePtr type = type_of_tree(tree, types, at, unit_);
    if (!type->is(TypeKind::Any)) v = insert("prim::unchecked_cast", {v}, {type})->output();
  }
  if (tree.kind == Tree::Kind::Leaf) {
    UserInput& in = inputs_[leaf++];
    in.value = v;
    in.path = path;
    if (!in.name.empty()) top_.values[in.name] = v;
    return;
  }
  const std::size_t n = tree.children.size();
  const auto part_type = [&](std::size_t i) -> TypePtr {
    const bool tuple = tree.kind == Tree::Kind::Tuple || tree.kind == Tree::Kind::NamedTuple;
    return v->type()->contained().at(tuple ? i : tree.kind == Tree::Kind::Dict ? 1 : 0);
  };
  if (tree.kind == Tree::Kind::Dict) {
    apply("exported::check_length", {v, constant(static_cast<int64_t>(n)), constant(path)});
    for (std::size_t i = 0; i < n; ++i) {
      const IValue& key = tree.keys[i];
      const std::string part = key.isString() ? core::join(path, "['", key.toStringRef(), "']")
                                              : core::join(path, "[", key.toInt(), "]");
      Value* item = apply1("exported::item", {v, constant(key), constant(part)});
      flatten(tree.children[i], item->set_type(part_type(i)), part, types, leaf);
    }
    return;
  }
  std::vector<TypePtr> part_types;
  for (std::size_t i = 0; i < n; ++i) part_types.push_back(part_type(i));
  apply("exported::check_length", {v, constant(static_cast<int64_t>(n)), constant(path)});
  const char* kind = tree.kind == Tree::Kind::List ? "prim::ListUnpack" : "prim::TupleUnpack";
  const std::vector<Value*> parts = insert(kind, {v}, part_types)->outputs();
  for (std::size_t i = 0; i < n; ++i)
    flatten(tree.children[i], parts[i],
            tree.kind == Tree::Kind::NamedTuple ? path + "." + tree.fields[i]
                                                : core::join(path, "[", i, "]"),
            types, leaf);
}

// {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)"}} -> the text.
static const std::string& expression_text(const Json& size) {
  const Tagged t = tagged(size, "a size");
  return text_of(member(t.value, "expr_str"), "expr_str");
}

// "Symbol('s0', ...)" or, as older versions write it, "s0". Empty for any other expression.
static std::string symbol_name(std::string_view text) {
  constexpr std::string_view kBegin = "Symbol('";
  if (text.substr(0, kBegin.size()) == kBegin) {
    const std::size_t end = text.find('\'', kBegin.size());
    const std::size_t close = text.find(')');
    if (end == std::string_view::npos || close + 1 != text.size()) return "";
    return std::string(text.substr(kBegin.size(), end - kBegin.size()));
  }
  const bool plain = !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0]))) &&
                     std::all_of(text.begin(), text.end(),
                                 [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return plain ? std::string(text) : "";
}

// What is kept: the program may have been made for 2 and more, but runs for 0 and 1 as well, as in
// torch, which never takes these two apart by a range.
void ExportedBuilder::check_range(const std::string& symbol, Value* v, const std::string& what) {
  const Json* ranges = find_member(program_, "range_constraints");
  const Json* range = ranges ? find_member(*ranges, symbol.c_str()) : nullptr;
  if (!range) return;
  const Json *min = find_member(*range, "min_val"), *max = find_member(*range, "max_val");
  const int64_t low = min ? integer_of(*min, "min_val") : 0;
  const int64_t high = max ? integer_of(*max, "max_val") : INT64_MAX;
  apply("exported::check_range", {v, constant(low), constant(high), constant(what)});
}

void ExportedBuilder::check_expression(const Json& expression, Value* actual,
                                       const std::string& what) {
  const std::string& text = expression_text(expression);
  const std::string symbol = symbol_name(text);
  if (!symbol.empty()) {
    const auto [it, added] = symbols_.try_emplace(symbol, Symbol{actual, what});
    if (added)
      check_range(symbol, actual, what);
    else
      apply("exported::check_equal",
            {actual, it->second.value, constant(what), constant(it->second.from)});
    return;
  }
  expressions_.push_back({&text, actual, what});
}

// Once all symbols have values.
void ExportedBuilder::check_expressions() {
  for (const Expression& e : expressions_) {
    std::string_view rest = *e.text;
    Value* wanted = evaluate(rest, 0);
    if (!wanted || !rest.empty()) continue;
    apply("exported::check_equal",
          {e.actual, wanted, constant(e.what), constant("the expression of other sizes")});
  }
}

// Expressions of integers in the form Add(Mul(Integer(2), Symbol('s0')), Integer(-1)). Null
// for anything else: then there is nothing to compare with. `text` is advanced.
Value* ExportedBuilder::evaluate(std::string_view& text, int depth) {
  const std::size_t open = text.find('(');
  if (depth > 32 || open == std::string_view::npos) return nullptr;
  const std::string function(text.substr(0, open));
  if (function == "Symbol" || function == "Integer") {
    const std::size_t close = text.find(')');
    if (close == std::string_view::npos) return nullptr;
    const std::string_view whole = text.substr(0, close + 1);
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    if (function == "Symbol") {
      const auto it = symbols_.find(symbol_name(whole));
      return it == symbols_.end() ? nullptr : it->second.value;
    }
    int64_t n = 0;
    const auto [end, fault] = std::from_chars(inside.data(), inside.data() + inside.size(), n);
    return fault == std::errc() && end == inside.data() + inside.size() ? constant(n) : nullptr;
  }
  text.remove_prefix(open + 1);
  return evaluate_call(function, text, depth);
}

Value* ExportedBuilder::evaluate_call(const std::string& function, std::string_view& text,
                                      int depth) {
  static const std::map<std::string, const char*> kFunctions = {
      {"Add", "aten::add.int"},
      {"Mul", "aten::mul.int"},
      {"FloorDiv", "aten::floordiv.int"},
      {"Mod", "aten::remainder.int"},
      {"Max", "prim::max.int"},
      {"Min", "prim::min.int"},
      {"PythonMod", "aten::remainder.int"}};
  const auto it = kFunctions.find(function.substr(function.rfind('.') + 1));
  if (it == kFunctions.end()) return nullptr;
  Value* total = nullptr;
  for (;;) {
    Value* part = evaluate(text, depth + 1);
    if (!part) return nullptr;
    total = total ? apply1(it->second, {total, part}) : part;
    if (text.substr(0, 2) == ", ") {
      text.remove_prefix(2);
      continue;
    }
    if (text.substr(0, 1) != ")") return nullptr;
    text.remove_prefix(1);
    return total;
  }
}

void ExportedBuilder::check_tensor(const UserInput& in) {
  const Json& meta = member(member(graph_json_, "tensor_values"), in.name.c_str());
  const Json& sizes = list_of(member(meta, "sizes"), "sizes");
  std::vector<int64_t> known;
  for (const Json& s : sizes)
    known.push_back(tagged(s, "a size").tag == "as_int" ? plain_int(s, "a size") : -1);
  Value* all = apply1("exported::check_sizes", {in.value, constant(in.path), constant(known)});
  for (std::size_t d = 0; d < known.size(); ++d) {
    if (known[d] >= 0) continue;
    Value* actual = apply1("aten::__getitem__.t", {all, constant(static_cast<int64_t>(d))});
    actual->set_type(Type::integer());
    check_expression(sizes[d], actual, core::join("dimension ", d, " of '", in.path, "'"));
  }
}

void ExportedBuilder::check_number(const UserInput& in) {
  const Json* values = find_member(graph_json_, "sym_int_values");
  const Json* value = values ? find_member(*values, in.name.c_str()) : nullptr;
  if (value && tagged(*value, "a number").tag == "as_expr")
    check_expression(*value, in.value, "argument '" + in.path + "'");
}

void ExportedBuilder::check_inputs() {
  for (const UserInput& in : inputs_) {
    if (in.constant)
      apply("exported::check_constant", {in.value, constant(*in.constant), constant(in.path)});
    else if (in.type->is(TypeKind::Int))
      check_number(in);
    else if (in.type->is(TypeKind::Tensor))
      check_tensor(in);
  }
  check_expressions();
  check_guards();
}

namespace {

// "L['x'].size()[0] == 2" as it is told: "x.size()[0] == 2".
std::string shown_guard(std::string text) {
  for (std::size_t at; (at = text.find("L['")) != std::string::npos;) {
    const std::size_t end = text.find("']", at);
    if (end == std::string::npos) break;
    text.erase(end, 2).erase(at, 3);
  }
  return text;
}

}  // namespace

// Those of *args are args_0, args_1 and so on, those of **kwargs have their own names.
Value* ExportedBuilder::guarded_size(const std::string& name, const std::string& path,
                                     int64_t dim) {
  std::vector<std::string> wanted{name + path};
  const std::size_t close = path.find(']');
  if (close != std::string::npos && close > 1) {
    const std::string first = path.substr(1, close - 1), rest = path.substr(close + 1);
    wanted.push_back(core::join(name, "_", first, rest));
    if (first.size() > 2 && first.front() == '\'')
      wanted.push_back(first.substr(1, first.size() - 2) + rest);
  }
  for (const std::string& each : wanted)
    for (const UserInput& in : inputs_) {
      if (in.path != each || in.constant) continue;
      if (dim < 0) return in.type->is(TypeKind::Int) ? in.value : nullptr;
      return in.type->is(TypeKind::Tensor) ? apply1("aten::size.int", {in.value, constant(dim)})
                                           : nullptr;
    }
  return nullptr;
}

void ExportedBuilder::check_guards() {
  const Json* guards = find_member(program_, "guards_code");
  if (!guards || !guards->is_array()) return;
  for (const Json& each : *guards) {
    const std::string& text = text_of(each, "a guard");
    GuardReader reader(
        text, [this](const char* op, const std::vector<Value*>& in) { return apply1(op, in); },
        [this](int64_t n) { return constant(n); },
        [this](const std::string& name, const std::string& path, int64_t dim) {
          return guarded_size(name, path, dim);
        });
    if (Value* holds = reader.read())
      apply("exported::check_guard", {holds, constant(shown_guard(text))});
  }
}

}  // namespace tenon::jit::formats
