// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From a node to a call of a function in the language of programs: inputs and attributes become
// its arguments by their types.
#include "onnx/import/builder.h"
#include "tenon/creation.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using jit::Type;
using jit::TypeKind;

constexpr int64_t kMaxIntegers = 4096;  // of a constant that is taken as a list

bool is_integral(ScalarType t) { return t == kLong || t == kInt; }

// Attributes that name a type of ONNX.
bool names_type(std::string_view name) {
  return name == "to" || name == "dtype" || name == "output_dtype" || name == "stash_type" ||
         name == "softmax_precision" || name == "output_datatype";
}

void check_type(const pb::AttributeProto& a, pb::AttributeProto::AttributeType wanted) {
  // Files of the first versions do not say the type.
  TENON_CHECK(a.type() == wanted || a.type() == pb::AttributeProto::UNDEFINED, ValueError,
              "attribute '", a.name(), "' is of kind ", static_cast<int>(a.type()), ", expected ",
              static_cast<int>(wanted), " (AttributeProto.AttributeType)");
}

}  // namespace

const pb::AttributeProto* Call::find(std::string_view name) const {
  const auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : it->second;
}
int64_t Call::integer(std::string_view name, int64_t or_else) const {
  const auto* a = find(name);
  if (!a) return or_else;
  check_type(*a, pb::AttributeProto::INT);
  return a->i();
}
double Call::real(std::string_view name, double or_else) const {
  const auto* a = find(name);
  if (!a) return or_else;
  if (a->type() == pb::AttributeProto::INT) return static_cast<double>(a->i());
  check_type(*a, pb::AttributeProto::FLOAT);
  return a->f();
}
std::string Call::text(std::string_view name, const std::string& or_else) const {
  const auto* a = find(name);
  if (!a) return or_else;
  check_type(*a, pb::AttributeProto::STRING);
  return a->s();
}
std::vector<int64_t> Call::integers(std::string_view name) const {
  const auto* a = find(name);
  if (!a) return {};
  check_type(*a, pb::AttributeProto::INTS);
  return {a->ints().begin(), a->ints().end()};
}
const pb::GraphProto& Call::graph(std::string_view name) const {
  const auto* a = find(name);
  TENON_CHECK(a && a->has_g(), ValueError, "attribute '", name, "' with a graph is missing");
  return a->g();
}
const ItemPtr& Call::input(std::size_t i) const {
  TENON_CHECK(i < inputs.size() && inputs[i], ValueError, "input ", i, " is missing");
  return inputs[i];
}

std::optional<std::vector<int64_t>> Builder::constant_ints(const ItemPtr& i) const {
  if (!i) return std::nullopt;
  const Tensor& t = i->constant;
  if (!t.defined() || !is_integral(t.scalar_type()) || t.dim() > 1 || t.numel() > kMaxIntegers)
    return std::nullopt;
  const Tensor flat = t.to(kLong).reshape({-1});
  const int64_t* p = flat.data_ptr<int64_t>();
  return std::vector<int64_t>(p, p + flat.numel());
}

Value* Builder::as(const ItemPtr& i, const jit::TypePtr& type, const std::string& argument) {
  switch (type->kind()) {
    case TypeKind::Optional:
      return i ? as(i, type->element(), argument) : constant(IValue());
    case TypeKind::Tensor:
      return tensor(i);
    case TypeKind::Int:
      return integer(i);
    case TypeKind::Float:
      return emit1("aten::Float.Tensor", {tensor(i)});
    case TypeKind::Bool:
      return emit1("aten::Bool.Tensor", {tensor(i)});
    case TypeKind::Number:
      return emit1("aten::item.Tensor", {tensor(i)});
    case TypeKind::List:
      if (type->element()->is(TypeKind::Int)) return int_list(i);
      if (type->element()->is(TypeKind::Float)) return call_text("_to_floats", {tensor(i)}).at(0);
      if (type->element()->is(TypeKind::Tensor)) return sequence(i);
      break;
    default:
      break;
  }
  throw Error("argument '" + argument + "' cannot be of type " + type->str());
}

Value* Builder::attribute_argument(Call& c, const jit::Argument& arg) {
  if (arg.name == "n_outputs") return constant(static_cast<int64_t>(c.n_outputs()));
  if (arg.name == "opset") return constant(c.version);
  const pb::AttributeProto* a = c.find(arg.name);
  if (!a) {
    if (arg.default_value) return graph_->insert_constant(*arg.default_value, range_, arg.type);
    throw ValueError("attribute '" + arg.name + "' is missing");
  }
  const bool optional = arg.type->is(TypeKind::Optional);
  const jit::TypePtr& type = optional ? arg.type->element() : arg.type;
  if (type->is(TypeKind::Int)) {
    const int64_t i = c.integer(arg.name, 0);
    if (!names_type(arg.name)) return constant(i);
    if (i == 0) return constant(optional ? IValue() : IValue(kFloat));
    const auto dtype = dtype_of(static_cast<int32_t>(i));
    TENON_CHECK(dtype, NotImplementedError, "attribute '", arg.name, "' asks for type ",
                name_of_type(static_cast<int32_t>(i)));
    return constant(*dtype);
  }
  if (type->is(TypeKind::Bool)) return constant(c.integer(arg.name, 0) != 0);
  if (type->is(TypeKind::Float)) return constant(c.real(arg.name, 0));
  if (type->is(TypeKind::String)) return constant(c.text(arg.name, {}));
  if (type->is(TypeKind::Tensor)) {
    check_type(*a, pb::AttributeProto::TENSOR);
    return tensor(constant_item(read_tensor(a->t(), external_)));
  }
  if (type->is(TypeKind::List) && type->element()->is(TypeKind::Int))
    return constant(c.integers(arg.name));
  if (type->is(TypeKind::List) && type->element()->is(TypeKind::Float)) {
    check_type(*a, pb::AttributeProto::FLOATS);
    return constant(std::vector<double>(a->floats().begin(), a->floats().end()));
  }
  if (type->is(TypeKind::List) && type->element()->is(TypeKind::String)) {
    check_type(*a, pb::AttributeProto::STRINGS);
    return constant(std::vector<std::string>(a->strings().begin(), a->strings().end()));
  }
  throw Error("attribute '" + arg.name + "' cannot be of type " + arg.type->str());
}

std::vector<Value*> Builder::bind_arguments(Call& c, const jit::Function& f) {
  std::vector<Value*> out;
  std::size_t next = 0;
  std::set<std::string_view> known;
  for (const jit::Argument& a : f.schema().arguments) {
    if (a.keyword_only) {
      out.push_back(attribute_argument(c, a));
      known.insert(a.name);
      continue;
    }
    const bool many =
        a.type->is(TypeKind::List) && a.type->element()->is(TypeKind::Tensor) && a.name == "inputs";
    if (many) {
      std::vector<Value*> items;
      for (; next < c.inputs.size(); ++next) items.push_back(tensor(c.input(next)));
      out.push_back(insert1("prim::ListConstruct", items, Type::list(Type::tensor())));
      continue;
    }
    const ItemPtr in = c.optional_input(next++);
    TENON_CHECK(in || a.type->is(TypeKind::Optional), ValueError, "input ", next - 1, " ('", a.name,
                "') is missing");
    out.push_back(as(in, a.type, a.name));
  }
  for (std::size_t i = next; i < c.inputs.size(); ++i)
    TENON_CHECK(!c.inputs[i], ValueError, "it has ", c.inputs.size(), " inputs, at most ", next,
                " are known");
  // consumed_inputs: a hint of the first versions about memory.
  for (const auto& [name, a] : c.attributes)
    TENON_CHECK(known.count(name) != 0 || name == "consumed_inputs", NotImplementedError,
                "attribute '", name, "' is not known for version ", c.version);
  return out;
}

jit::Function& Builder::text_function(std::string_view name) {
  if (jit::Function* f = texts_->find_function(name)) return *f;
  const std::string* text = find_text(name);
  TENON_CHECK(text, Error, "there is no function ", name);
  // Functions that it calls, whose names end in letters before a parenthesis.
  for (std::size_t at = text->find('('); at != std::string::npos; at = text->find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>((*text)[begin - 1])) != 0 ||
                         (*text)[begin - 1] == '_' || (*text)[begin - 1] == '.'))
      --begin;
    const std::string called = text->substr(begin, at - begin);
    if (called != name && find_text(called)) (void)text_function(called);
  }
  texts_->define(*text);
  return texts_->get_function(name);
}

std::vector<Value*> Builder::inline_function(jit::Function& f,
                                             const std::vector<Value*>& arguments) {
  const Graph& body = *f.graph();
  TENON_CHECK(body.inputs().size() == arguments.size(), Error, "function ", f.qualified_name(),
              " takes ", body.inputs().size(), " arguments, not ", arguments.size());
  std::map<const Value*, Value*> map;
  for (std::size_t i = 0; i < arguments.size(); ++i) map[body.inputs()[i]] = arguments[i];
  jit::Node* before = graph_->insert_point()->prev();
  std::vector<Value*> results = graph_->inline_block(*body.block(), map);
  // Calls inside, and places of errors.
  const jit::Node* end = graph_->insert_point();
  const auto visit = [&](auto&& self, jit::Node* n, const jit::Node* last) -> void {
    while (n != last) {
      jit::Node* next = n->next();
      n->range = range_;
      for (jit::Block* b : n->blocks()) self(self, b->param_node()->next(), b->return_node());
      if (n->is("prim::CallFunction")) {
        Graph::InsertPoint at(*graph_, n);
        const std::vector<Value*> inner = inline_function(*n->function, n->inputs());
        n->output()->replace_all_uses_with(inner.at(0));
        for (Value*& r : results)
          if (r == n->output()) r = inner.at(0);
        n->destroy();
      }
      n = next;
    }
  };
  visit(visit, before->next(), end);
  return results;
}

std::vector<Value*> Builder::call_text(std::string_view function,
                                       const std::vector<Value*>& arguments) {
  jit::Function& f = text_function(function);
  std::vector<Value*> all = arguments;
  const auto& wanted = f.schema().arguments;
  for (std::size_t i = all.size(); i < wanted.size(); ++i) {
    TENON_CHECK(wanted[i].default_value, Error, function, " needs '", wanted[i].name, "'");
    all.push_back(graph_->insert_constant(*wanted[i].default_value, range_, wanted[i].type));
  }
  std::vector<Value*> results = inline_function(f, all);
  if (results.size() == 1 && results[0]->type()->is(TypeKind::Tuple)) {
    const auto& types = results[0]->type()->contained();
    return insert("prim::TupleUnpack", {results[0]}, types)->outputs();
  }
  return results;
}

// Forms over integers: Name__1, Name__2, ... whose inputs all have the types that are there.
bool Builder::bind_integers(Call& c, const char* function, std::vector<ItemPtr>& out) {
  bool computed = false;
  for (const ItemPtr& i : c.inputs) {
    computed = computed || (i && i->ints);
    if (i && !i->ints && !constant_ints(i)) return false;
  }
  if (!computed) return false;
  const auto has_form = [&](const ItemPtr& i, const jit::TypePtr& type) {
    if (type->is(TypeKind::Optional) && !i) return true;
    const jit::TypePtr& of = type->is(TypeKind::Optional) ? type->element() : type;
    const bool scalar = i && (i->ints ? i->is_int() : i->constant.dim() == 0);
    return i && of->is(scalar ? TypeKind::Int : TypeKind::List);
  };
  for (int form = 1; find_text(core::join(function, "__", form)); ++form) {
    jit::Function& f = text_function(core::join(function, "__", form));
    std::size_t positional = 0;
    bool fits = true, variadic = false;
    for (const jit::Argument& a : f.schema().arguments) {
      if (a.keyword_only) continue;
      if (a.name == "inputs") {
        variadic = true;
        for (std::size_t i = positional; i < c.inputs.size(); ++i)
          fits = fits && has_form(c.inputs[i], a.type->element());
        continue;
      }
      fits = fits && has_form(c.optional_input(positional++), a.type);
    }
    if (!fits || (!variadic && c.inputs.size() > positional)) continue;
    std::vector<Value*> arguments;
    std::size_t next = 0;
    for (const jit::Argument& a : f.schema().arguments) {
      if (a.keyword_only) {
        arguments.push_back(attribute_argument(c, a));
      } else if (a.name == "inputs") {
        std::vector<Value*> items;
        for (; next < c.inputs.size(); ++next)
          items.push_back(as(c.inputs[next], a.type->element(), a.name));
        arguments.push_back(insert1("prim::ListConstruct", items, a.type));
      } else {
        arguments.push_back(as(c.optional_input(next++), a.type, a.name));
      }
    }
    std::optional<ScalarType> dtype;
    for (const ItemPtr& i : c.inputs)
      if (i && !dtype) dtype = i->dtype;
    for (Value* v : call_text(f.qualified_name(), arguments)) out.push_back(item(v, dtype));
    return true;
  }
  return false;
}

std::vector<ItemPtr> Builder::call_function(Call& c, const char* function, Gives gives) {
  std::vector<ItemPtr> out;
  if (bind_integers(c, function, out)) return out;
  jit::Function& f = text_function(function);
  const std::vector<Value*> arguments = bind_arguments(c, f);
  std::optional<ScalarType> dtype;
  if (gives == Gives::Bool) dtype = kBool;
  if (gives == Gives::Long) dtype = kLong;
  const std::size_t from = gives == Gives::Second ? 1 : 0;
  const bool same = gives == Gives::Same || gives == Gives::Second;
  const ItemPtr in = same ? c.optional_input(from) : nullptr;
  if (in) dtype = in->dtype;
  for (Value* v : call_text(function, arguments)) {
    out.push_back(item(v, out.empty() ? dtype : std::nullopt));
    if (in && out.size() == 1) out[0]->onnx_type = in->onnx_type;
  }
  return out;
}

}  // namespace tenon::onnx
