// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/call.h"

#include "onnx/export/form.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"

namespace tenon::onnx::exporting {
namespace {

using Table = std::map<std::string, std::function<void(Call&)>>;
Table& table() {
  static auto& t = *new Table;
  return t;
}
Table& complex_table() {
  static auto& t = *new Table;
  return t;
}
const std::function<void(Call&)>* find_in(const Table& t, const std::string& op) {
  const auto at = t.find(op);
  return at == t.end() ? nullptr : &at->second;
}

std::string quoted(const char* argument) { return "argument '" + std::string(argument) + "'"; }

}  // namespace

Rules::Rules(const Entry* list, std::size_t n, bool complex) {
  for (std::size_t i = 0; i < n; ++i)
    (complex ? complex_table() : table())[list[i].op] = list[i].rule;
}
const std::function<void(Call&)>* find_rule(const std::string& op) { return find_in(table(), op); }
const std::function<void(Call&)>* find_complex_rule(const std::string& op) {
  return find_in(complex_table(), op);
}

namespace {
bool is_in_place(const std::string& op) {
  return op.size() > 1 && op.back() == '_' && op[op.size() - 2] != '_';
}
}  // namespace

bool is_nothing(const Item& part, const Tensor& joined) {
  return part.example.isTensor() && joined.dim() != 1 && part.example.toTensor().dim() == 1 &&
         part.example.toTensor().numel() == 0;
}

Call::Call(Exporter& e, const jit::Node& n)
    : exporter(e),
      node(n),
      name(is_in_place(n.kind()) ? n.kind().substr(0, n.kind().size() - 1) : n.kind()) {}

Item* Call::find(const char* argument) const {
  const int k = node.op->schema.find_argument(argument);
  if (k < 0 || static_cast<std::size_t>(k) >= node.inputs().size()) return nullptr;
  return exporter.item(node.input(static_cast<std::size_t>(k))).get();
}
Item& Call::get(const char* argument) const {
  Item* i = find(argument);
  need(i != nullptr, "it has no " + quoted(argument));
  return *i;
}
bool Call::has(const char* argument) const { return find(argument) != nullptr; }
bool Call::none(const char* argument) const {
  const Item* i = find(argument);
  return !i || i->example.isNone();
}
bool Call::is_constant(const char* argument) const {
  const Item* i = find(argument);
  return !i || i->constant;
}

namespace {
const Item* constant_of(const Call& c, const char* argument) {
  const Item* i = c.find(argument);
  if (!i || i->example.isNone()) return nullptr;
  need(i->constant, quoted(argument) + " is computed by the program");
  return i;
}
}  // namespace

int64_t Call::integer(const char* argument, int64_t otherwise) const {
  const Item* i = constant_of(*this, argument);
  if (!i) return otherwise;
  if (i->example.isBool()) return i->example.toBool();
  return i->example.isDouble() ? static_cast<int64_t>(i->example.toDouble()) : i->example.toInt();
}
double Call::number(const char* argument, double otherwise) const {
  const Item* i = constant_of(*this, argument);
  if (!i) return otherwise;
  if (i->example.isTensor()) return i->example.toTensor().item<double>();
  if (i->example.isBool()) return i->example.toBool() ? 1 : 0;
  return i->example.isInt() ? static_cast<double>(i->example.toInt()) : i->example.toDouble();
}
bool Call::flag(const char* argument, bool otherwise) const {
  const Item* i = constant_of(*this, argument);
  return !i ? otherwise : i->example.isBool() ? i->example.toBool() : i->example.toInt() != 0;
}
std::string Call::text(const char* argument, const std::string& otherwise) const {
  const Item* i = constant_of(*this, argument);
  return i ? std::string(i->example.toStringView()) : otherwise;
}
std::vector<int64_t> Call::ints(const char* argument, std::size_t n) const {
  const Item* i = constant_of(*this, argument);
  std::vector<int64_t> out;
  if (!i) return out;
  if (i->example.isInt()) {
    out.assign(std::max<std::size_t>(n, 1), i->example.toInt());
    return out;
  }
  for (const IValue& v : i->example.toListRef().items) out.push_back(v.toInt());
  if (out.size() == 1 && n > 1) out.assign(n, out[0]);
  return out;
}
std::vector<double> Call::numbers(const char* argument) const {
  const Item* i = constant_of(*this, argument);
  std::vector<double> out;
  if (!i) return out;
  for (const IValue& v : i->example.toListRef().items)
    out.push_back(v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble());
  return out;
}

Tensor Call::example(const char* argument) const { return as_tensor(get(argument).example); }
int64_t Call::axis(const char* argument, const char* of) const {
  const int64_t a = integer(argument);
  return a < 0 ? a + std::max<int64_t>(rank(of), 1) : a;
}
int64_t Call::size(const char* argument, int64_t dim) const {
  const Tensor t = example(argument);
  return t.size(dim < 0 ? dim + t.dim() : dim);
}

bool Call::is_fixed(const char* argument) const { return exporter.is_fixed(get(argument)); }
bool Call::is_fixed(const char* argument, int64_t dim) const {
  return exporter.is_fixed(get(argument), dim);
}

std::string Call::in(const char* argument) const { return exporter.name_of(get(argument)); }
std::string Call::in(const char* argument, ScalarType to) const {
  Item& i = get(argument);
  // A double has not all of the integers.
  if (i.constant && i.example.isInt() && isIntegralType(to, false))
    return exporter.initializer(as_tensor(i.example).to(to));
  if (i.constant && !i.example.isTensor() && !i.example.isList())
    return constant(number(argument), to);
  return cast(exporter.name_of(i), as_tensor(i.example).scalar_type(), to);
}
std::string Call::in_or(const char* argument) const {
  return none(argument) ? std::string() : in(argument);
}
std::string Call::cast(const std::string& value, ScalarType from, ScalarType to) const {
  if (from == to) return value;
  return op("Cast", {value}, {{"to", int64_t{onnx_type(to)}}});
}
std::string Call::constant(double v, ScalarType dtype) const {
  return exporter.initializer(full({}, v, TensorOptions(dtype)));
}
std::string Call::int_list(const std::vector<int64_t>& v) const {
  return exporter.initializer(as_tensor(IValue(v)));
}

std::string Call::squeeze(const std::string& x, const std::vector<int64_t>& axes) const {
  return axes.empty() ? x : op("Squeeze", {x, int_list(axes)});
}
std::string Call::unsqueeze(const std::string& x, const std::vector<int64_t>& axes) const {
  return axes.empty() ? x : op("Unsqueeze", {x, int_list(axes)});
}
std::string Call::transpose(const std::string& x, const std::vector<int64_t>& order) const {
  return op("Transpose", {x}, {{"perm", IValue(order)}});
}
std::string Call::reduce(const std::string& type, const std::string& x,
                         const std::vector<int64_t>& axes, bool keep) const {
  const bool as_input = type == "ReduceSum" || exporter.opset() >= 18;
  Attrs attrs{{"keepdims", int64_t{keep}}};
  Names inputs{x};
  if (!axes.empty()) {
    if (as_input)
      inputs.push_back(int_list(axes));
    else
      attrs.push_back({"axes", IValue(axes)});
  }
  return op(type, inputs, attrs);
}
std::string Call::slice(const std::string& x, int64_t axis, int64_t begin, int64_t end,
                        int64_t step) const {
  return op("Slice", {x, int_list({begin}), int_list({end}), int_list({axis}), int_list({step})});
}

std::string Call::choose(const std::string& mask, const std::string& yes, const std::string& no,
                         ScalarType dtype) const {
  if (dtype == kBool) return op("Or", {op("And", {mask, yes}), op("And", {op("Not", {mask}), no})});
  if (dtype != kInt8 && dtype != kInt16) return op("Where", {mask, yes, no});
  const std::string wide = op("Where", {mask, cast(yes, dtype, kInt32), cast(no, dtype, kInt32)});
  return cast(wide, kInt32, dtype);
}

// Of a quantized tensor the model has the real numbers, rounded to its steps.
static std::string rounded(const Call& c, const std::string& value, const IValue& result) {
  if (!result.isTensor() || !is_quantized(result.toTensor())) return value;
  const Tensor q = result.toTensor();
  need(quantized_dtype(q) != kQInt32, "a quantized tensor of dtype qint32");
  const ScalarType d = int_repr(q).scalar_type();
  const bool channels = is_quantized_per_channel(q);
  need(!channels || c.exporter.opset() >= 13, "a scale for each channel needs opset 13");
  const Tensor scale = channels ? q_per_channel_scales(q).to(kFloat32)
                                : full({}, q_scale(q), TensorOptions(kFloat32)),
               zero = channels ? q_per_channel_zero_points(q).to(d)
                               : full({}, q_zero_point(q), TensorOptions(d));
  const Attrs attrs = channels ? Attrs{{"axis", q_per_channel_axis(q)}} : Attrs{};
  const Names by{c.constant(scale), c.constant(zero)};
  const std::string steps = c.op("QuantizeLinear", {value, by[0], by[1]}, attrs);
  return c.op("DequantizeLinear", {steps, by[0], by[1]}, attrs);
}

void Call::give(const std::string& value, std::size_t k) {
  need(by_pairs || !is_complex(results.at(k)), "a complex result, which ONNX has no operators on");
  auto i = std::make_shared<Item>();
  i->example = results.at(k);
  i->name = rounded(*this, value, results.at(k));
  given.at(k) = std::move(i);
}
void Call::give_cast(const std::string& value, ScalarType from) {
  give(cast(value, from, as_tensor(results.at(0)).scalar_type()));
}
void Call::give_parts(const Names& values) {
  auto list = std::make_shared<Item>();
  list->example = results.at(0);
  list->has_parts = true;
  const auto& items = results.at(0).toListRef().items;
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto part = std::make_shared<Item>();
    part->example = items.at(k);
    part->name = values[k];
    list->parts.push_back(std::move(part));
  }
  given.at(0) = std::move(list);
}

}  // namespace tenon::onnx::exporting

namespace tenon::onnx {

using exporting::Call;

class ExportAccess {
 public:
  static ExportCall make(Call& c) { return ExportCall(&c); }
  static Call& of(const ExportCall& c) { return *static_cast<Call*>(c.call_); }
};

std::string ExportCall::input(const std::string& argument) {
  return ExportAccess::of(*this).in(argument.c_str());
}
IValue ExportCall::example(const std::string& argument) const {
  const exporting::Item* i = ExportAccess::of(*this).find(argument.c_str());
  return i ? i->example : IValue();
}
void ExportCall::output(const std::string& value) {
  Call& c = ExportAccess::of(*this);
  c.by_pairs = true;  // what a complex result is in the model, the rule has decided
  c.give(value);
}
std::string ExportCall::node(const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<Attribute>& attributes, const std::string& domain) {
  exporting::Attrs attrs;
  for (const Attribute& a : attributes) attrs.push_back({a.name, a.value});
  return ExportAccess::of(*this).exporter.node(type, inputs, attrs, 1, domain).front();
}
void ExportCall::refuse(const std::string& reason) const { exporting::refuse(reason); }

void register_symbolic(const std::string& op, ExportRule rule) {
  exporting::complex_table().erase(op);
  exporting::table()[op] = [rule = std::move(rule)](Call& c) {
    ExportCall call = ExportAccess::make(c);
    rule(call);
  };
}
std::vector<std::string> exported_operators() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : exporting::table()) names.push_back(name);
  for (const auto& [name, rule] : exporting::complex_table())
    if (!exporting::find_rule(name)) names.push_back(name);
  for (const auto& [name, form] : exporting::plugin_forms())
    if (!exporting::find_rule(name)) names.push_back(name);
  return names;
}

}  // namespace tenon::onnx
