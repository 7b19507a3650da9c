// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers that depend on sizes which vary. The written program asks sizes and computes with them,
// and it checks the conditions on sizes that decided which way the program went.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/values.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

bool is_number(const IValue& v) { return v.isInt() || v.isDouble() || v.isBool(); }
bool is_number_in_tensor(const IValue& v) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().dim() == 0;
}
// Of a number, or of a tensor that holds one.
IValue number_in(const IValue& v) {
  if (!v.isTensor()) return v;
  const Tensor t = v.toTensor();
  if (t.scalar_type() == kBool) return t.item<bool>();
  return t.is_floating_point() ? IValue(t.item<double>()) : IValue(t.item<int64_t>());
}
double real_in(const IValue& v) {
  const IValue n = number_in(v);
  return n.isDouble() ? n.toDouble() : n.isBool() ? n.toBool() : static_cast<double>(n.toInt());
}

bool are_same(const IValue& a, const IValue& b) {
  if (is_number_in_tensor(a) && is_number_in_tensor(b)) return real_in(a) == real_in(b);
  if (is_number(a) && is_number(b)) return real_in(a) == real_in(b);
  if (a.isList() && b.isList()) {
    const auto &x = a.toListRef().items, &y = b.toListRef().items;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), are_same);
  }
  return !a.isTensor() && a == b;
}

constexpr int kPositional = 1, kKeyword = 2;
Json input(const std::string& name, Json argument, int kind = kPositional) {
  return {{"name", name}, {"arg", std::move(argument)}, {"kind", kind}};
}

// Symbols, and what is computed from them, as torch's files have it.
std::string applied(const std::string& function, const std::vector<std::string>& of) {
  std::string text = function + "(";
  for (const std::string& a : of) text += (text.back() == '(' ? "" : ", ") + a;
  return text + ")";
}

struct Rule {
  const char* target;
  const char* integers;  // functions of sympy, of integers
  const char* reals;     // and with a real number; null: there is none
};
const Rule* rule_of(std::string_view kind) {
  static const std::map<std::string_view, Rule> kRules = {
      {"aten::add", {"_operator.add", "Add", "Add"}},
      {"aten::sub", {"_operator.sub", "Add", "Add"}},
      {"aten::rsub", {"_operator.sub", "Add", "Add"}},
      {"aten::mul", {"_operator.mul", "Mul", "Mul"}},
      {"aten::div", {"_operator.truediv", "IntTrueDiv", "FloatTrueDiv"}},
      {"aten::true_divide", {"_operator.truediv", "IntTrueDiv", "FloatTrueDiv"}},
      {"aten::reciprocal", {"_operator.truediv", "IntTrueDiv", "FloatTrueDiv"}},
      {"aten::floordiv", {"_operator.floordiv", "FloorDiv", nullptr}},
      {"aten::floor_divide", {"_operator.floordiv", "FloorDiv", nullptr}},
      {"aten::remainder", {"_operator.mod", "PythonMod", nullptr}},
      {"aten::pow", {"_operator.pow", "PowByNatural", "FloatPow"}},
      {"aten::neg", {"_operator.neg", "Mul", "Mul"}},
      {"prim::max", {"torch.sym_max", "Max", "Max"}},
      {"prim::min", {"torch.sym_min", "Min", "Min"}},
      {"aten::maximum", {"torch.sym_max", "Max", "Max"}},
      {"aten::minimum", {"torch.sym_min", "Min", "Min"}},
      {"aten::sqrt", {"torch._sym_sqrt", "OpaqueUnaryFn_sqrt", "OpaqueUnaryFn_sqrt"}},
      {"aten::floor", {"math.floor", nullptr, "FloorToInt"}},
      {"aten::ceil", {"math.ceil", nullptr, "CeilToInt"}},
      {"aten::eq", {"_operator.eq", "Equality", "Equality"}},
      {"aten::ne", {"_operator.ne", "Unequality", "Unequality"}},
      {"aten::lt", {"_operator.lt", "StrictLessThan", "StrictLessThan"}},
      {"aten::le", {"_operator.le", "LessThan", "LessThan"}},
      {"aten::gt", {"_operator.gt", "StrictGreaterThan", "StrictGreaterThan"}},
      {"aten::ge", {"_operator.ge", "GreaterThan", "GreaterThan"}},
      {"aten::__not__", {"torch.sym_not", "Not", nullptr}},
      {"aten::__and__", {"_operator.and_", "And", nullptr}},
      {"aten::__or__", {"_operator.or_", "Or", nullptr}}};
  const auto it = kRules.find(kind);
  return it == kRules.end() ? nullptr : &it->second;
}

// Equal results in the runs do not say that they are equal for all sizes.
bool levels(const Node& n) {
  return n.is("prim::max") || n.is("prim::min") || n.is("aten::maximum") || n.is("aten::minimum") ||
         n.is("aten::floordiv") || n.is("aten::floor_divide") || n.is("aten::clamp") ||
         n.output()->type()->is(TypeKind::Bool);
}

// Of numbers in tensors: what a node in place computes.
std::string functional(const Node& n) {
  const std::string& kind = n.kind();
  const bool in_place = n.op && n.op->form == Operator::Form::Inplace;
  return in_place ? kind.substr(0, kind.size() - 1) : kind;
}

// Of a list of numbers, one number: min, max and sum.
bool folds_list(const Node& n) {
  return n.inputs().size() == 1 && n.outputs().size() == 1 &&
         n.input(0)->type()->is(TypeKind::List) && !asks_sizes(n) &&
         !n.output()->type()->is(TypeKind::Bool);
}

// A list that has an element for each one of an argument, whatever their sizes are.
bool has_as_many_as_given(const Node& n) {
  static const std::set<std::string, std::less<>> kKinds = {
      "aten::split_with_sizes", "aten::unsafe_split_with_sizes", "aten::split", "aten::meshgrid"};
  return kKinds.count(n.kind()) != 0 &&
         (n.is("aten::meshgrid") || n.input(1)->type()->is(TypeKind::List));
}

}  // namespace

bool ProgramWriter::is_known(const Item& item) const {
  if (item.constant || !item.number.empty()) return true;
  return item.has_parts && std::all_of(item.parts.begin(), item.parts.end(),
                                       [&](const Item* p) { return is_known(*p); });
}

// Whether what is made with it may have other sizes in another run of the same inputs' sizes.
bool ProgramWriter::has_sizes_by_data(const Item& argument) const {
  if (argument.sizes_by_data) return true;
  if (!argument.number.empty()) return depends_on_data(expression_of(argument));
  return std::any_of(argument.parts.begin(), argument.parts.end(),
                     [this](const Item* p) { return has_sizes_by_data(*p); });
}

// As above, or because the operator itself asks values. What a library has may do so as well.
bool ProgramWriter::gives_sizes_by_data(const Node& n) const {
  const auto is_mask = [this](const Value* v) {
    const Item& item = at(v);
    const auto selects = [](const Item& i) {
      return !i.constant && i.example.isTensor() && i.example.toTensor().defined() &&
             i.example.toTensor().scalar_type() == kBool;
    };
    return item.has_parts && std::any_of(item.parts.begin(), item.parts.end(),
                                         [&](const Item* p) { return selects(*p); });
  };
  const bool steps = n.kind().rfind("quantized_decomposed::", 0) == 0;
  if ((!n.op->op && !steps) || may_give_sizes_by_data(n)) return true;
  if (n.is("aten::index") && is_mask(n.input(1))) return true;
  return std::any_of(n.inputs().begin(), n.inputs().end(),
                     [this](const Value* v) { return has_sizes_by_data(at(v)); });
}

ProgramWriter::Item* ProgramWriter::result_of_run(const std::vector<Stack>& runs, std::size_t k) {
  Item* made = make(runs[0].at(k));
  for (std::size_t r = 1; r < runs.size(); ++r) made->others.push_back(runs[r].at(k));
  return made;
}

SizeExpressions::Values ProgramWriter::sizes_in_runs(const Item& tensor, std::size_t dim) const {
  SizeExpressions::Values values;
  for (std::size_t r = 0; r < tensor.runs(); ++r)
    values.push_back(tensor.in_run(r).toTensor().sizes()[dim]);
  return values;
}

// Whether the number is the same in all runs, though it may differ in others.
bool ProgramWriter::is_level(const Item& number) {
  for (std::size_t r = 1; r < number.runs(); ++r)
    if (!are_same(number.example, number.in_run(r))) return false;
  return true;
}

// Of a result whose sizes depend on data.
void ProgramWriter::note_unknown_sizes(const Item& tensor) {
  if (!tensor.example.isTensor()) return;
  for (std::size_t d = 0; d < tensor.example.toTensor().sizes().size(); ++d) {
    const SizeExpressions::Values values = sizes_in_runs(tensor, d);
    if (!all_equal(values)) (void)sizes_.text_of_unknown(values);
  }
}

// Whether equal results in the runs may be others with other data or sizes.
bool ProgramWriter::may_differ(const Node& n) const {
  if (asks_sizes(n))
    return at(n.input(0)).sizes_by_data && !has_as_many_as_given(*n.input(0)->node());
  const auto varies = [&](const Item* i) {
    return !i->number.empty() && (levels(n) || is_level(*i));
  };
  if (folds_list(n)) {
    const std::vector<const Item*>& parts = at(n.input(0)).parts;
    return std::any_of(parts.begin(), parts.end(), varies);
  }
  return std::any_of(n.inputs().begin(), n.inputs().end(),
                     [&](const Value* v) { return varies(&at(v)); });
}

void ProgramWriter::visit_number(const Node& n, const std::vector<Stack>& runs) {
  bool same = true;
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    for (std::size_t r = 1; r < runs.size(); ++r)
      same = same && are_same(runs[0].at(k), runs[r].at(k));
  if (same && !may_differ(n)) {
    for (std::size_t k = 0; k < n.outputs().size(); ++k)
      items_[n.output(k)] = make(runs[0].at(k), true);
    return;
  }
  if (visit_strides(n, runs) || visit_sizes(n, runs) || visit_list_in_tensor(n, runs)) return;
  if (folds_list(n) && visit_fold(n)) return;
  if (n.outputs().size() != 1) refuse(n, "its results depend on sizes that vary");
  Item* made = result_of_run(runs, 0);
  items_[n.output()] = made;
  if (visit_conversion(n, *made) || visit_range(n)) return;
  visit_arithmetic(n, *made);
}

// A function of two integers, which is an operator of that kind.
const ProgramWriter::Item* ProgramWriter::of_two(const char* kind, const Item& a, const Item& b,
                                                 int64_t (*f)(int64_t, int64_t)) {
  const auto in_run = [&](std::size_t r) { return f(a.in_run(r).toInt(), b.in_run(r).toInt()); };
  Item* made = make(in_run(0), a.constant && b.constant);
  if (made->constant) return made;
  for (std::size_t r = 1; r < std::max(a.runs(), b.runs()); ++r) made->others.push_back(in_run(r));
  const Rule* rule = rule_of(kind);
  std::vector<std::string> texts = {expression_of(a), expression_of(b)};
  if (std::string_view(kind) == "aten::sub") texts[1] = applied("Mul", {"Integer(-1)", texts[1]});
  compute(*made, rule->target, {&a, &b}, applied(rule->integers, texts));
  return made;
}

// min, max or sum of the numbers of a list, one after the other.
bool ProgramWriter::visit_fold(const Node& n) {
  const char* kind = n.is("aten::sum") ? "aten::add" : n.kind().c_str();
  const Rule* rule = rule_of(kind);
  const Item& list = at(n.input(0));
  if (!rule || !rule->integers || list.parts.empty()) return false;
  for (const Item* p : list.parts)
    if (!is_known(*p) || !p->example.isInt()) return false;
  const auto both = n.is("aten::sum")   ? +[](int64_t x, int64_t y) { return x + y; }
                    : n.is("prim::min") ? +[](int64_t x, int64_t y) { return std::min(x, y); }
                                        : +[](int64_t x, int64_t y) { return std::max(x, y); };
  const Item* all = list.parts[0];
  for (std::size_t k = 1; k < list.parts.size(); ++k)
    all = of_two(kind, *all, *list.parts[k], both);
  items_[n.output()] = all;
  return true;
}

// How many numbers range(low, high, step) has, and the i-th of them.
bool ProgramWriter::visit_range(const Node& n) {
  const bool length = n.is("aten::__range_length");
  if (!length && !n.is("aten::__derive_index")) return false;
  const auto add = +[](int64_t x, int64_t y) { return x + y; };
  const Item &first = at(n.input(0)), &second = at(n.input(1)), &step = at(n.input(2));
  if (!length) {
    const Item* far = of_two("aten::mul", first, step, [](int64_t x, int64_t y) { return x * y; });
    items_[n.output()] = of_two("aten::add", *far, second, add);
    return true;
  }
  if (!step.constant) return false;
  const bool up = step.example.toInt() > 0;
  const int64_t by = std::abs(step.example.toInt());
  const Item* far = of_two("aten::sub", up ? second : first, up ? first : second,
                           [](int64_t x, int64_t y) { return x - y; });
  if (by > 1) {
    far = of_two("aten::add", *far, *make(by - 1, true), add);
    far = of_two("aten::floordiv", *far, *make(by, true),
                 [](int64_t x, int64_t y) { return x >= 0 ? x / y : -((y - 1 - x) / y); });
  }
  items_[n.output()] = of_two("prim::max", *far, *make(int64_t{0}, true),
                              [](int64_t x, int64_t y) { return std::max(x, y); });
  return true;
}

// Strides, which the written program asks where they vary with the sizes.
bool ProgramWriter::visit_strides(const Node& n, const std::vector<Stack>& runs) {
  if (!n.is("aten::stride")) return false;
  const Item& of = at(n.input(0));
  const auto stride_in = [&](std::size_t r, std::size_t d) {
    return runs[r][0].isList() ? runs[r][0].toListRef().items[d].toInt() : runs[r][0].toInt();
  };
  const auto stride_of = [&](std::size_t d, int64_t dim) -> const Item* {
    SizeExpressions::Values values;
    for (std::size_t r = 0; r < runs.size(); ++r) values.push_back(stride_in(r, d));
    if (all_equal(values)) return make(values[0], true);
    if (of.sizes_by_data) refuse(n, "the sizes of its tensor depend on data");
    Item* made = make(values[0]);
    made->others.assign(values.begin() + 1, values.end());
    add_number(*made, "sym_stride_int", sizes_.text_of(values));
    add_node("torch.ops.aten.sym_stride.int",
             Json::array({input("self", tensor_argument(of)), input("dim", plain_argument(dim))}),
             Json::array({number_argument(*made)}), made->number);
    return made;
  };
  if (!runs[0][0].isList()) {
    const int64_t dim = at(n.input(1)).example.toInt();
    items_[n.output()] = stride_of(0, dim < 0 ? dim + of.example.toTensor().dim() : dim);
    return true;
  }
  std::vector<const Item*> parts;
  for (std::size_t d = 0; d < runs[0][0].toListRef().items.size(); ++d)
    parts.push_back(stride_of(d, static_cast<int64_t>(d)));
  items_[n.output()] = construct(parts, *n.output()->type());
  return true;
}

// Of all dimensions, of one, or the number of elements.
bool ProgramWriter::visit_sizes(const Node& n, const std::vector<Stack>& runs) {
  if (!asks_sizes(n)) return false;
  const Item& of = at(n.input(0));
  if (!of.example.isTensor()) refuse(n, "the length of a list depends on a size that varies");
  if (runs[0][0].isList()) {
    std::vector<const Item*> parts;
    for (int64_t d = 0; d < of.example.toTensor().dim(); ++d) parts.push_back(size_of(of, d));
    items_[n.output()] = construct(parts, *n.output()->type());
  } else if (n.is("aten::numel") || n.is("aten::sym_numel")) {
    Item* made = result_of_run(runs, 0);
    SizeExpressions::Values values;
    for (const Stack& run : runs) values.push_back(run[0].toInt());
    add_number(*made, "sym_numel",
               of.sizes_by_data ? sizes_.text_of_unknown(values) : sizes_.text_of(values));
    add_node("torch.ops.aten.sym_numel.default", Json::array({input("self", tensor_argument(of))}),
             Json::array({number_argument(*made)}), made->number);
    items_[n.output()] = made;
  } else {
    const int64_t rank = of.example.toTensor().dim();
    int64_t dim = n.inputs().size() > 1 ? at(n.input(1)).example.toInt() : 0;
    items_[n.output()] = size_of(of, dim < 0 ? dim + rank : dim);
  }
  return true;
}

const ProgramWriter::Item* ProgramWriter::size_of(const Item& tensor, int64_t dim) {
  const SizeExpressions::Values values = sizes_in_runs(tensor, static_cast<std::size_t>(dim));
  if (all_equal(values) && !tensor.sizes_by_data) return make(values[0], true);
  const Item*& known = sizes_of_[{name_of(tensor), dim}];
  if (known) return known;
  Item* made = make(values[0]);
  made->others.assign(values.begin() + 1, values.end());
  add_number(*made, "sym_size_int",
             tensor.sizes_by_data ? sizes_.text_of_unknown(values) : sizes_.text_of(values));
  add_node("torch.ops.aten.sym_size.int",
           Json::array({input("self", tensor_argument(tensor)), input("dim", plain_argument(dim))}),
           Json::array({number_argument(*made)}), made->number);
  return known = made;
}

// A number as another kind of number, or in a tensor.
bool ProgramWriter::visit_conversion(const Node& n, Item& result) {
  static const std::set<std::string, std::less<>> kConversions = {
      "aten::Int",    "aten::Float",         "prim::NumToTensor",   "aten::ScalarImplicit",
      "aten::item",   "aten::IntImplicit",   "aten::FloatImplicit", "aten::tensor",
      "aten::to",     "aten::scalar_tensor", "aten::detach",        "aten::clone",
      "aten::_to",    "aten::contiguous",    "aten::as_tensor",     "aten::type_as",
      "aten::Scalar", "aten::view",          "aten::reshape",       "aten::alias"};
  if (!kConversions.count(n.kind()) || n.inputs().empty()) return false;
  const Item& of = at(n.input(0));
  if (of.number.empty() || !(is_number(result.example) || is_number_in_tensor(result.example)))
    return false;
  convert(result, of);
  return true;
}

// torch.tensor([x.size(0), 1]): the numbers in tensors, which are stacked.
bool ProgramWriter::visit_list_in_tensor(const Node& n, const std::vector<Stack>& runs) {
  if (!(n.is("aten::tensor") || n.is("aten::as_tensor")) || !at(n.input(0)).has_parts) return false;
  if (runs[0][0].toTensor().dim() != 1) return false;
  const auto element = [&](std::size_t r, std::size_t k) {
    return IValue(runs[r][0].toTensor().select(0, static_cast<int64_t>(k)).clone());
  };
  std::vector<const Item*> parts;
  for (std::size_t k = 0; k < at(n.input(0)).parts.size(); ++k) {
    const Item& of = *at(n.input(0)).parts[k];
    Item* part = make(element(0, k), of.number.empty());
    if (!part->constant) {
      for (std::size_t r = 1; r < runs.size(); ++r) part->others.push_back(element(r, k));
      convert(*part, of);
    }
    parts.push_back(part);
  }
  items_[n.output()] =
      emit("aten::stack", {construct(parts, *Type::list(Type::tensor())), make(int64_t{0}, true)});
  return true;
}

// An integer to a real number, or back.
void ProgramWriter::convert(Item& result, const Item& of) {
  const bool from_real = number_in(of.example).isDouble(),
             to_real = number_in(result.example).isDouble();
  if (from_real == to_real)
    result.number = of.number;
  else if (to_real)
    compute(result, "torch.sym_float", {&of}, applied("ToFloat", {expression_of(of)}));
  else
    compute(result, "torch.sym_int", {&of}, applied("TruncToInt", {expression_of(of)}));
}

bool ProgramWriter::is_arithmetic_of_two(const Node& n) {
  const std::string kind = functional(n);
  return rule_of(kind) && n.inputs().size() >= 2 && kind.rfind("aten::", 0) == 0;
}

void ProgramWriter::visit_arithmetic(const Node& n, Item& result) {
  const std::string kind = functional(n);
  const Rule* rule = rule_of(kind);
  std::vector<const Item*> of;
  for (const Value* v : n.inputs()) of.push_back(&at(v));
  const bool rounded = kind == "aten::div" && of.size() == 3;
  if (rounded && !of[2]->example.isNone()) rule = rule_of("aten::floordiv");
  const bool scaled = of.size() == 3 && !rounded;  // add and sub have a factor
  if (scaled && !(is_number(of[2]->example) && real_in(of[2]->example) == 1)) rule = nullptr;
  if (of.size() == 3) of.pop_back();
  if (n.is("aten::rsub")) std::swap(of.front(), of.back());
  if (n.is("aten::reciprocal")) of.insert(of.begin(), make(int64_t{1}, true));
  std::vector<std::string> texts;
  bool real = false;
  for (const Item* i : of) {
    const bool fits = is_number(i->example) || is_number_in_tensor(i->example);
    if (!fits) rule = nullptr;
    real = real || (fits && number_in(i->example).isDouble());
    if (fits) texts.push_back(expression_of(*i));
  }
  const char* function = !rule ? nullptr : real ? rule->reals : rule->integers;
  // Of tensors that hold numbers any operator is one.
  if (!function && n.op->op && result.example.isTensor()) return visit_operator(n);
  if (!function) refuse(n, "its result depends on a size that varies");
  const std::string minus = "Integer(-1)";
  if (kind == "aten::sub" || kind == "aten::rsub") texts[1] = applied("Mul", {minus, texts[1]});
  if (n.is("aten::neg")) texts.push_back(minus);
  if (texts.size() == 2 && texts[0] == texts[1] && number_in(result.example).isBool()) {
    result.constant = true;  // a size, and the same one
    return;
  }
  compute(result, rule->target, of, applied(function, texts));
}

// A node of Python's arithmetic.
void ProgramWriter::compute(Item& result, const std::string& target,
                            const std::vector<const Item*>& of, const std::string& expression) {
  Json inputs = Json::array();
  for (std::size_t k = 0; k < of.size(); ++k)
    inputs.push_back(input(std::string(1, static_cast<char>('a' + k)), number_argument(*of[k])));
  add_number(result, target.substr(target.rfind('.') + 1), expression);
  add_node(target, std::move(inputs), Json::array({number_argument(result)}), result.number);
}

void ProgramWriter::add_number(Item& result, const std::string& base,
                               const std::string& expression) {
  result.number = fresh(base);
  expressions_[result.number] = expression;
  const IValue v = number_in(result.example);
  if (v.isBool()) {
    graph_.booleans[result.number] = {{"as_expr", {{"expr_str", expression}}}};
  } else if (v.isDouble()) {
    graph_.reals[result.number] = expression_argument(expression, {{"as_float", v.toDouble()}});
  } else {
    graph_.integers[result.number] = expression_argument(expression, {{"as_int", v.toInt()}});
    SizeExpressions::Values values;
    for (std::size_t r = 0; r < result.runs(); ++r)
      values.push_back(number_in(result.in_run(r)).toInt());
    sizes_.add(values, expression);
  }
}

std::string ProgramWriter::expression_of(const Item& number) const {
  if (!number.number.empty()) return expressions_.at(number.number);
  const IValue v = number_in(number.example);
  if (v.isBool()) return v.toBool() ? "true" : "false";
  if (v.isInt()) return core::join("Integer(", v.toInt(), ")");
  return core::join("Float('", Json(v.toDouble()).dump(), "', precision=53)");
}

Json ProgramWriter::number_argument(const Item& number) const {
  const IValue v = number_in(number.example);
  if (number.number.empty()) return plain_argument(v);
  const char* tag = v.isBool() ? "as_sym_bool" : v.isDouble() ? "as_sym_float" : "as_sym_int";
  return {{tag, {{"as_name", number.number}}}};
}

// For operators that take a tensor.
const std::string& ProgramWriter::make_tensor_of(Item& number) {
  const auto dtype = number_of_dtype(number.example.toTensor().scalar_type());
  Json inputs =
      Json::array({{{"name", "s"}, {"arg", number_argument(number)}, {"kind", 1}},
                   {{"name", "dtype"}, {"arg", {{"as_scalar_type", dtype}}}, {"kind", 2}}});
  add_tensor("scalar_tensor", number);
  tensors_of_numbers_.push_back(&number);
  add_node("torch.ops.aten.scalar_tensor.default", std::move(inputs),
           Json::array({tensor_argument(number)}), number.name);
  return number.name;
}

// Which way the program goes. Where that follows from sizes which vary or from data, the written
// program goes the same way for all, and checks that it may.
bool ProgramWriter::decide(const Node& n, const Item& condition) {
  if (condition.constant) return condition.example.toBool();
  const bool yes = condition.example.toBool();
  for (std::size_t r = 1; r < condition.runs(); ++r)
    if (condition.in_run(r).toBool() != yes)
      refuse(n, core::join("a branch by sizes that vary: it goes another way where ",
                           sizes_.describe(r)));
  if (turns_ > 0 && is_by_data(condition))
    refuse(n,
           "a branch by data in a loop by data, whose sides give tensors of other sizes or "
           "dtypes, or cannot be written or run in the first turn");
  if (condition.truth || (!condition.number.empty() && depends_on_real(expression_of(condition)))) {
    const Item* truth = carried_as_tensor(n, condition);  // torch checks no symbols that are reals
    const Item* holds = yes ? truth : emit("aten::logical_not", {truth});
    add_check("_assert_async.msg", tensor_argument(*holds),
              "the program was exported for data that decide as the example's do");
    return yes;
  }
  if (condition.number.empty()) refuse(n, "a branch by data");
  const Item* holds = &condition;
  if (!yes) {
    Item* opposite = make(true);
    compute(*opposite, "torch.sym_not", {&condition}, applied("Not", {expression_of(condition)}));
    holds = opposite;
  }
  add_check("_assert_scalar.default", number_argument(*holds),
            "the program was exported for sizes where " + sizes_.readable(expression_of(*holds)) +
                " holds");
  return yes;
}

void ProgramWriter::add_check(const std::string& name, Json holds, const std::string& message) {
  add_node(
      "torch.ops.aten." + name,
      Json::array({input("self", std::move(holds)), input("assert_msg", plain_argument(message))}),
      Json::array(), fresh(name.substr(0, name.find('.'))));
}

}  // namespace tenon::jit::formats
