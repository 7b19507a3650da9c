// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types as text, printed and parsed.
#include <algorithm>
#include <array>
#include <utility>

#include "jit/ir/cursor.h"
#include "jit/ir/print_value.h"
#include "tenon/jit/custom_class.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {
namespace {

template <class F>
std::string joined(const std::vector<TypePtr>& types, F text) {
  std::string out;
  for (const TypePtr& t : types) {
    if (!out.empty()) out += ", ";
    out += text(*t);
  }
  return out;
}

// Of types without parts; Number has two names.
const char* simple_name(TypeKind k) {
  switch (k) {
    case TypeKind::Any:
      return "Any";
    case TypeKind::None:
      return "NoneType";
    case TypeKind::Tensor:
      return "Tensor";
    case TypeKind::Int:
      return "int";
    case TypeKind::Float:
      return "float";
    case TypeKind::Complex:
      return "complex";
    case TypeKind::Bool:
      return "bool";
    case TypeKind::String:
      return "str";
    case TypeKind::Device:
      return "Device";
    case TypeKind::Generator:
      return "Generator";
    case TypeKind::AnyList:
      return "list";
    case TypeKind::AnyTuple:
      return "tuple";
    case TypeKind::AnyEnum:
      return "AnyEnumType";
    case TypeKind::Function:
      return "Function";
    default:
      return nullptr;
  }
}

bool is_named(const Type& t) {
  return t.is(TypeKind::Class) || t.is(TypeKind::Interface) || t.is(TypeKind::Enum) ||
         t.is(TypeKind::Var) || (t.is(TypeKind::Tuple) && !t.name().empty());
}

std::string field_text(const Type& t, std::size_t i) {
  std::string out = t.fields()[i] + " : " + graph_text(*t.contained()[i]);
  if (t.field_defaults()[i]) {
    out += " = ";
    print_value(out, *t.field_defaults()[i]);
  }
  return out;
}

std::string named_tuple_text(const Type& t) {
  std::string out = "NamedTuple(";
  for (std::size_t i = 0; i < t.fields().size(); ++i) {
    if (i > 0) out += ", ";
    out += field_text(t, i);
  }
  return out + ")";
}

std::string schema_text(const Type& t) { return t.str(); }

}  // namespace

std::string Type::str() const {
  if (const char* s = simple_name(kind_)) return s;
  if (is_named(*this)) return name_;
  switch (kind_) {
    case TypeKind::Number:
      return "Scalar";
    case TypeKind::Optional:
      return element()->str() + "?";
    case TypeKind::List:
      return element()->str() + "[]";
    case TypeKind::Dict:
      return "Dict(" + joined(contained_, schema_text) + ")";
    case TypeKind::Union:
      return "Union(" + joined(contained_, schema_text) + ")";
    case TypeKind::Future:
      return "Future(" + element()->str() + ")";
    default:
      break;
  }
  return fields_.empty() ? "(" + joined(contained_, schema_text) + ")" : named_tuple_text(*this);
}

std::string graph_text(const Type& t) {
  switch (t.kind()) {
    case TypeKind::Optional:
      return graph_text(*t.element()) + "?";
    case TypeKind::List:
      return graph_text(*t.element()) + "[]";
    case TypeKind::Future:
      return "Future[" + graph_text(*t.element()) + "]";
    case TypeKind::Tuple:
      return t.fields().empty() ? "(" + joined(t.contained(), graph_text) + ")"
                                : named_tuple_text(t);
    default:
      return t.str();
  }
}

std::string Type::annotation() const {
  return annotation([](const Type& t) { return t.name(); });
}

std::string Type::annotation(const std::function<std::string(const Type&)>& name) const {
  if (const char* s = simple_name(kind_)) return s;
  if (is(TypeKind::Var)) return name_;
  if (is_named(*this)) return name(*this);
  std::string parts = joined(contained_, [&](const Type& t) { return t.annotation(name); });
  switch (kind_) {
    case TypeKind::Number:
      return "number";
    case TypeKind::Optional:
      return "Optional[" + parts + "]";
    case TypeKind::List:
      return "List[" + parts + "]";
    case TypeKind::Dict:
      return "Dict[" + parts + "]";
    case TypeKind::Union:
      return "Union[" + parts + "]";
    case TypeKind::Future:
      return "Future[" + parts + "]";
    default:
      return "Tuple[" + (parts.empty() ? "()" : parts) + "]";
  }
}

namespace {

const TypePtr* simple_type(std::string_view name) {
  static const std::array<std::pair<std::string_view, const TypePtr*>, 28> names{{
      {"Tensor", &Type::tensor()},
      {"int", &Type::integer()},
      {"float", &Type::floating()},
      {"bool", &Type::boolean()},
      {"str", &Type::string()},
      {"complex", &Type::complex()},
      {"Scalar", &Type::number()},
      {"number", &Type::number()},
      {"Device", &Type::device()},
      {"Generator", &Type::generator()},
      {"Any", &Type::any()},
      {"AnyType", &Type::any()},
      {"None", &Type::none()},
      {"NoneType", &Type::none()},
      {"ScalarType", &Type::integer()},
      {"Layout", &Type::integer()},
      {"MemoryFormat", &Type::integer()},
      {"SymInt", &Type::integer()},
      {"SymFloat", &Type::floating()},
      {"SymBool", &Type::boolean()},
      {"QScheme", &Type::integer()},
      {"Dimname", &Type::string()},
      {"list", &Type::any_list()},
      {"AnyListType", &Type::any_list()},
      {"tuple", &Type::any_tuple()},
      {"AnyTupleType", &Type::any_tuple()},
      {"Function", &Type::function()},
      {"AnyEnumType", &Type::any_enum()},
  }};
  for (const auto& [n, t] : names)
    if (n == name) return t;
  return nullptr;
}

// Tensors whose dtype and sizes a graph of TorchScript tells: Float(2, 3, strides=[3, 1]).
bool is_dtype_name(std::string_view name) {
  static constexpr std::array<std::string_view, 14> names{
      "Float", "Double", "Half", "BFloat16",      "Long",         "Int",   "Short",
      "Char",  "Byte",   "Bool", "ComplexDouble", "ComplexFloat", "QInt8", "QUInt8"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

void skip_parentheses(Cursor& c) {
  c.expect("(");
  for (int depth = 1; depth > 0;) {
    if (c.at_end()) c.fail("\")\"");
    if (c.take("("))
      ++depth;
    else if (c.take(")"))
      --depth;
    else
      c.seek(c.position() + 1);
  }
}

TypePtr parse_named_tuple(Cursor& c, const FindType& find) {
  std::vector<std::string> fields;
  std::vector<TypePtr> types;
  std::vector<std::optional<IValue>> defaults;
  c.expect("(");
  while (!c.take(")")) {
    if (!fields.empty()) c.expect(",");
    fields.push_back(c.expect_name("the name of a field", false));
    c.expect(":");
    types.push_back(parse_type(c, find).type);
    defaults.emplace_back();
    if (c.take("=")) defaults.back() = parse_value(c, types.back());
  }
  return Type::named_tuple("", std::move(fields), std::move(types), std::move(defaults));
}

std::vector<TypePtr> parse_parameters(Cursor& c, std::size_t n, const char* of,
                                      const FindType& find) {
  bool brackets = c.take("[");
  if (!brackets) c.expect("(");
  std::vector<TypePtr> out = parse_types(c, brackets ? "]" : ")", find);
  if (n != 0 && out.size() != n) c.fail(core::join(n, " types for ", of));
  return out;
}

// Dict(K, V), Future[T], List[int], ...; null for another name.
TypePtr parse_generic(Cursor& c, const std::string& name, const FindType& find) {
  if (c.rest().empty() || (c.rest()[0] != '(' && c.rest()[0] != '[')) return nullptr;
  auto parameters = [&](std::size_t n) { return parse_parameters(c, n, name.c_str(), find); };
  if (name == "Dict" || name == "dict") {
    auto p = parameters(2);
    return Type::dict(p[0], p[1]);
  }
  if (name == "Future") return Type::future(parameters(1)[0]);
  if (name == "Optional") return Type::optional(parameters(1)[0]);
  if (name == "List") return Type::list(parameters(1)[0]);
  if (name == "Tuple") return Type::tuple(parameters(0));
  if (name == "Union") return Type::union_of(parameters(0));
  if (name == "NamedTuple") return parse_named_tuple(c, find);
  return nullptr;
}

TypePtr parse_name(Cursor& c, const FindType& find) {
  std::size_t at = c.position();
  std::string name = c.expect_name("a type", true);
  if (is_dtype_name(name)) {
    if (c.rest().substr(0, 1) == "(") skip_parentheses(c);
    return Type::tensor();
  }
  if (TypePtr t = parse_generic(c, name, find)) return t;
  if (const TypePtr* t = simple_type(name)) return *t;
  if (name.find('.') != std::string::npos) {
    if (TypePtr t = find ? find(name) : nullptr) return t;
    c.seek(at);
    c.fail("the name of a known class");
  }
  if (name[0] >= 'a' && name[0] <= 'z') return Type::var(name);
  c.seek(at);
  c.fail("a type");
}

std::string parse_sets(Cursor& c) {
  if (c.take("*")) return "*";
  std::string out = c.expect_name("the name of an alias set", false);
  while (c.take("|")) out += "|" + c.expect_name("the name of an alias set", false);
  return out;
}

AliasInfo parse_alias(Cursor& c) {
  AliasInfo a;
  c.expect("(");
  a.set = parse_sets(c);
  a.write = c.take("!");
  if (c.take("->")) a.after = parse_sets(c);
  c.expect(")");
  return a;
}

int parse_length(Cursor& c) {
  std::size_t at = c.position();
  int64_t n = c.integer();
  if (n >= 1 && n <= 64) return static_cast<int>(n);
  c.seek(at);
  c.fail("a length from 1 to 64");
}

// [], [2], ?, (a!)
void parse_suffixes(Cursor& c, ParsedType& t) {
  for (int n = 0;; ++n) {
    if (n > 32) c.fail("at most 32 suffixes");
    char next = c.rest().empty() ? '\0' : c.rest()[0];
    if (next == '(') {
      AliasInfo a = parse_alias(c);
      a.elements = t.alias.elements;
      a.write_elements = t.alias.write_elements;
      t.alias = std::move(a);
    } else if (next == '[') {
      c.expect("[");
      t.fixed_length = c.starts_with("]") ? 0 : parse_length(c);
      c.expect("]");
      t.type = Type::list(t.type);
      t.alias = AliasInfo{"", false, "", t.alias.set, t.alias.write};
    } else if (next == '?') {
      c.expect("?");
      t.type = Type::optional(t.type);
    } else {
      return;
    }
  }
}

}  // namespace

std::vector<TypePtr> parse_types(Cursor& c, std::string_view close, const FindType& find) {
  std::vector<TypePtr> out;
  std::size_t begin = c.position();
  if (c.take("()") && c.take(close)) return out;  // Tuple[()]
  c.seek(begin);
  while (!c.take(close)) {
    if (!out.empty()) {
      c.expect(",");
      if (c.take(close)) break;  // (int,)
    }
    out.push_back(parse_type(c, find).type);
  }
  return out;
}

ParsedType parse_type(Cursor& c, const FindType& find) {
  Cursor::Depth depth(c);
  ParsedType out;
  out.type = c.take("(") ? Type::tuple(parse_types(c, ")", find)) : parse_name(c, find);
  parse_suffixes(c, out);
  return out;
}

FindType find_in(const CompilationUnit* unit) {
  if (!unit) return [](const std::string& name) { return find_custom_class(name); };
  return [unit](const std::string& name) { return unit->find_type(name); };
}

TypePtr parse_type(std::string_view text, const CompilationUnit* unit) {
  Cursor c(text, "parse_type");
  ParsedType t = parse_type(c, find_in(unit));
  if (!c.at_end()) c.fail("the end");
  return t.type;
}

}  // namespace tenon::jit
