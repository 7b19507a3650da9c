// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Annotations, and values that are known without running anything.
#include <cmath>
#include <limits>

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

const std::map<std::string, TypePtr>& simple_types() {
  static const std::map<std::string, TypePtr> kTypes = {{"Tensor", Type::tensor()},
                                                        {"int", Type::integer()},
                                                        {"float", Type::floating()},
                                                        {"bool", Type::boolean()},
                                                        {"str", Type::string()},
                                                        {"complex", Type::complex()},
                                                        {"number", Type::number()},
                                                        {"Scalar", Type::number()},
                                                        {"None", Type::none()},
                                                        {"NoneType", Type::none()},
                                                        {"Any", Type::any()},
                                                        {"Capsule", Type::any()},
                                                        {"Device", Type::device()},
                                                        {"device", Type::device()},
                                                        {"dtype", Type::integer()},
                                                        {"layout", Type::integer()},
                                                        {"memory_format", Type::integer()},
                                                        {"Generator", Type::generator()},
                                                        {"Size", Type::list(Type::integer())},
                                                        {"LongTensor", Type::tensor()},
                                                        {"FloatTensor", Type::tensor()},
                                                        {"list", Type::list(Type::tensor())},
                                                        {"tuple", Type::any_tuple()}};
  return kTypes;
}

// "torch.Tensor" -> "Tensor"; other names as they are.
std::string without_torch(const std::string& name) {
  for (const char* space : {"torch.jit.", "torch.", "typing."}) {
    const std::size_t n = std::char_traits<char>::length(space);
    if (name.compare(0, n, space) == 0 && name.find('.', n) == std::string::npos)
      return name.substr(n);
  }
  return name;
}

bool is_archive(const Scope& s) { return s.resolver && s.resolver->constants; }

template <class Find>
auto find_by_name(const std::string& name, const Scope& scope, const Find& find)
    -> decltype(find(name)) {
  if (scope.resolver && scope.resolver->qualify) {
    if (const std::string q = scope.resolver->qualify(name); !q.empty()) {
      if (auto found = find(q)) return found;
    }
  }
  const bool qualified = name.compare(0, 10, "__torch__.") == 0;
  if (is_archive(scope) && !qualified) return nullptr;
  if (!scope.prefix.empty() && !qualified) {
    if (auto found = find(scope.prefix + "." + name)) return found;
  }
  return find(name);
}

TypePtr generic_type(const Expr& e, const Scope& scope) {
  const std::string base = without_torch(dotted_name(*e.a));
  std::vector<ExprPtr> args = e.args;
  if (args.size() == 1 && args[0]->kind == ExprKind::Tuple) args = args[0]->args;  // Tuple[()]
  std::vector<TypePtr> types;
  types.reserve(args.size());
  for (const ExprPtr& a : args) types.push_back(annotated_type(*a, scope));
  const auto expect = [&](std::size_t n) {
    TENON_PROGRAM_CHECK(types.size() == n, e.range, base, " type must have exactly ", n,
                        n == 1 ? " element type" : " element types");
  };
  if (base == "Tuple" || base == "tuple") return Type::tuple(std::move(types));
  if (base == "Union") {
    TENON_PROGRAM_CHECK(!types.empty(), e.range, "Union type must have at least one member");
    return Type::union_of(std::move(types));
  }
  if (base == "Dict" || base == "dict") return expect(2), Type::dict(types[0], types[1]);
  if (base == "Optional") return expect(1), Type::optional(types[0]);
  if (base == "List" || base == "list") return expect(1), Type::list(types[0]);
  if (base == "Future") return expect(1), Type::future(types[0]);
  if (base == "Final") return expect(1), types[0];
  if (base.compare(0, 16, "BroadcastingList") == 0) return expect(1), Type::list(types[0]);
  throw ErrorReport(e.range, "Unknown type constructor " + dotted_name(*e.a));
}

IValue value_of_name(const std::string& name, const Expr& e) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "inf" || name == "math.inf") return kInfinity;
  if (name == "nan" || name == "math.nan") return std::numeric_limits<double>::quiet_NaN();
  if (name == "infj" || name == "nanj")
    return std::complex<double>(0, value_of_name(name.substr(0, 3), e).toDouble());
  if (name == "math.pi") return M_PI;
  if (name == "math.e") return M_E;
  throw ErrorReport(e.range, "the value of '" + name + "' is not known here");
}

std::vector<IValue> constant_values(const std::vector<ExprPtr>& args, const Scope& scope,
                                    const std::function<TypePtr(std::size_t)>& type) {
  std::vector<IValue> out;
  for (std::size_t i = 0; i < args.size(); ++i)
    out.push_back(constant_value(*args[i], scope, type(i)));
  return out;
}

IValue constant_sequence(const Expr& e, const Scope& scope, const TypePtr& type) {
  const bool to_list =
      e.kind == ExprKind::List || (type && type->is(TypeKind::List) && !type->contained().empty());
  if (to_list) {
    const TypePtr element = type && type->is(TypeKind::List) ? type->element() : nullptr;
    std::vector<IValue> items =
        constant_values(e.args, scope, [&](std::size_t) { return element; });
    const TypePtr of = element ? element : items.empty() ? Type::tensor() : type_of(items[0]);
    return IValue(core::Ref<ivalue::List>::adopt(new ivalue::List(of, std::move(items))));
  }
  const bool tuple = type && type->is(TypeKind::Tuple) && type->contained().size() == e.args.size();
  std::vector<IValue> items = constant_values(
      e.args, scope, [&](std::size_t i) { return tuple ? type->contained()[i] : nullptr; });
  return IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items))));
}

IValue constant_call(const Expr& e, const Scope& scope, const TypePtr& type) {
  const std::string f = dotted_name(*e.a);
  if (f == "annotate" && e.args.size() == 2)
    return constant_value(*e.args[1], scope, annotated_type(*e.args[0], scope));
  if (f == "float" && e.args.size() == 1 && e.args[0]->kind == ExprKind::String) {
    const std::string& s = e.args[0]->text;
    char* end = nullptr;
    const double v = std::strtod(s.c_str(), &end);
    TENON_PROGRAM_CHECK(!s.empty() && !*end, e.range, "not a valid number: '", s, "'");
    return v;
  }
  if ((f == "torch.device" || f == "device") && e.args.size() == 1 &&
      e.args[0]->kind == ExprKind::String)
    return Device(e.args[0]->text);
  if (f == "complex" && e.args.size() == 2) {
    const IValue a = constant_value(*e.args[0], scope, nullptr),
                 b = constant_value(*e.args[1], scope, nullptr);
    if (a.isScalar() && b.isScalar())
      return std::complex<double>(a.toScalar().to<double>(), b.toScalar().to<double>());
  }
  if (f == "int" || f == "float") {
    const IValue v = e.args.size() == 1 ? constant_value(*e.args[0], scope, type) : IValue();
    if (v.isScalar()) return f == "int" ? IValue(v.toScalar().toLong()) : v.toScalar().toDouble();
  }
  throw ErrorReport(e.range, "the value of this expression is not known here");
}

}  // namespace

std::string dotted_name(const Expr& e) {
  std::string out;
  const Expr* at = &e;
  for (; at->kind == ExprKind::Attribute; at = at->a.get()) out.insert(0, "." + at->text);
  return at->kind == ExprKind::Name ? at->text + out : std::string();
}

TypePtr find_type(const std::string& name, const Scope& scope) {
  if (scope.local_type) {
    if (TypePtr t = scope.local_type(name)) return t;
  }
  return find_by_name(name, scope, [&](const std::string& n) { return scope.unit->find_type(n); });
}

Function* find_function(const std::string& name, const Scope& scope) {
  return find_by_name(name, scope,
                      [&](const std::string& n) { return scope.unit->find_function(n); });
}

TypePtr annotated_type(const Expr& e, const Scope& scope) {
  Recursion guard(e.range);
  switch (e.kind) {
    case ExprKind::None:
      return Type::none();
    case ExprKind::String: {
      auto source = std::make_shared<Source>();
      source->text = e.text;
      return annotated_type(*parse_expression(source), scope);
    }
    case ExprKind::Subscript:
      return generic_type(e, scope);
    case ExprKind::Binary:
      if (e.text != "|") break;
      return Type::union_of({annotated_type(*e.a, scope), annotated_type(*e.b, scope)});
    case ExprKind::Name:
    case ExprKind::Attribute: {
      const std::string name = dotted_name(e);
      if (name.empty()) break;
      if (name.compare(0, 10, "__torch__.") != 0) {
        const auto it = simple_types().find(without_torch(name));
        if (it != simple_types().end()) return it->second;
      }
      const bool custom = name.compare(0, 14, "torch.classes.") == 0;
      if (TypePtr t = find_type(custom ? "__torch__." + name : name, scope)) return t;
      throw ErrorReport(e.range, "Unknown type name '" + name + "'");
    }
    default:
      break;
  }
  throw ErrorReport(e.range, "expected a type");
}

IValue constant_value(const Expr& e, const Scope& scope, const TypePtr& wanted) {
  Recursion guard(e.range);
  const TypePtr type = wanted && wanted->is(TypeKind::Optional) ? wanted->element() : wanted;
  const bool to_float = type && type->is(TypeKind::Float);
  switch (e.kind) {
    case ExprKind::Integer:
      return to_float ? IValue(static_cast<double>(e.integer)) : IValue(e.integer);
    case ExprKind::Float:
      return e.number;
    case ExprKind::Imaginary:
      return std::complex<double>(0, e.number);
    case ExprKind::String:
      return e.text;
    case ExprKind::True:
    case ExprKind::False:
      return e.kind == ExprKind::True;
    case ExprKind::None:
      return IValue();
    case ExprKind::Unary: {
      const IValue v = constant_value(*e.a, scope, type);
      if (e.text == "-" && v.isDouble()) return -v.toDouble();
      if (e.text == "-" && v.isComplexDouble()) return -v.toComplexDouble();
      if (e.text == "-" && v.isInt())
        return static_cast<int64_t>(0 - static_cast<uint64_t>(v.toInt()));
      break;
    }
    case ExprKind::Binary: {  // 1.+2.j
      if (e.text != "+" && e.text != "-") break;
      const IValue a = constant_value(*e.a, scope, nullptr),
                   b = constant_value(*e.b, scope, nullptr);
      if (!a.isScalar() || !b.isComplexDouble()) break;
      return a.toScalar().to<double>() + (e.text == "+" ? 1.0 : -1.0) * b.toComplexDouble();
    }
    case ExprKind::List:
    case ExprKind::Tuple:
      return constant_sequence(e, scope, type);
    case ExprKind::Call:
      return constant_call(e, scope, type);
    case ExprKind::Name:
    case ExprKind::Attribute: {
      // Constants of archives, dtypes, members of enums: as the compiler knows them.
      const std::string name = dotted_name(e);
      const std::size_t dot = name.rfind('.');
      if (dot != std::string::npos) {
        const TypePtr t =
            name.compare(0, 6, "torch.") == 0 ? nullptr : find_type(name.substr(0, dot), scope);
        if (t && t->is(TypeKind::Enum)) {
          for (const auto& [member, v] : static_cast<const EnumType&>(*t).members) {
            if (member == name.substr(dot + 1))
              return IValue(core::Ref<ivalue::Enum>::adopt(new ivalue::Enum(t->name(), member, v)));
          }
        }
      }
      if (const auto v = named_constant(name, scope)) return *v;
      return value_of_name(name, e);
    }
    default:
      break;
  }
  throw ErrorReport(e.range, "the value of this expression is not known here");
}

TypePtr type_of_annotation(const Expr& annotation, CompilationUnit& unit,
                           const Resolver& resolver) {
  Scope scope;
  scope.unit = &unit;
  scope.resolver = std::make_shared<Resolver>(resolver);
  return annotated_type(annotation, scope);
}

}  // namespace tenon::jit::language
