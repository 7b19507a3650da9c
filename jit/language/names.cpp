// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What names mean that are not variables: builtins, torch.*, math.*, ops.*, types and functions of
// the program.
#include <cmath>
#include <limits>

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

struct Builtin {
  SugarKind kind;
  const char* name;
};
const std::map<std::string, Builtin>& builtins() {
  constexpr SugarKind kOp = SugarKind::Operator, kSpecial = SugarKind::Special;
  static const std::map<std::string, Builtin> kBuiltins = {
      {"print", {kSpecial, "print"}},
      {"range", {kSpecial, "range"}},
      {"zip", {kSpecial, "zip"}},
      {"enumerate", {kSpecial, "enumerate"}},
      {"reversed", {kSpecial, "reversed"}},
      {"isinstance", {kSpecial, "isinstance"}},
      {"hasattr", {kSpecial, "hasattr"}},
      {"getattr", {kSpecial, "getattr"}},
      {"annotate", {kSpecial, "annotate"}},
      {"unchecked_cast", {kSpecial, "unchecked_cast"}},
      {"uninitialized", {kSpecial, "uninitialized"}},
      {"fork", {kSpecial, "fork"}},
      {"list", {kSpecial, "list"}},
      {"dict", {kSpecial, "dict"}},
      {"tuple", {kSpecial, "tuple"}},
      {"len", {kSpecial, "len"}},
      {"super", {kSpecial, "super"}},
      {"cast", {kSpecial, "annotate"}},
      {"sorted", {kSpecial, "sorted"}},
      {"min", {kSpecial, "min"}},
      {"max", {kSpecial, "max"}},
      {"abs", {kOp, "prim::abs"}},
      {"round", {kOp, "aten::round"}},
      {"sum", {kOp, "aten::sum"}},
      {"all", {kOp, "aten::all"}},
      {"any", {kOp, "aten::any"}},
      {"divmod", {kOp, "aten::divmod"}},
      {"pow", {kOp, "aten::pow"}},
      {"hash", {kOp, "aten::hash"}},
      {"id", {kOp, "prim::id"}},
      {"ord", {kOp, "aten::ord"}},
      {"chr", {kOp, "aten::chr"}},
      {"bin", {kOp, "aten::bin"}},
      {"hex", {kOp, "aten::hex"}},
      {"oct", {kOp, "aten::oct"}},
      {"rangelist", {kOp, "prim::rangelist"}},
      {"_to_tensor", {kOp, "prim::NumToTensor"}},
      {"int", {SugarKind::Cast, "aten::Int"}},
      {"float", {SugarKind::Cast, "aten::Float"}},
      {"complex", {SugarKind::Cast, "aten::Complex"}},
      {"bool", {SugarKind::Cast, "aten::Bool"}},
      {"str", {SugarKind::Cast, "aten::str"}},
      {"torch", {SugarKind::Namespace, "torch"}},
      {"math", {SugarKind::Namespace, "math"}},
      {"ops", {SugarKind::Namespace, "ops"}},
      {"nn", {SugarKind::Namespace, "torch.nn"}},
      {"F", {SugarKind::Namespace, "torch.nn.functional"}},
      {"typing", {SugarKind::Namespace, "typing"}},
      {"CONSTANTS", {SugarKind::Namespace, "CONSTANTS"}}};
  return kBuiltins;
}

const TypePtr& cast_type(const std::string& name) {
  return name == "aten::Int"       ? Type::integer()
         : name == "aten::Float"   ? Type::floating()
         : name == "aten::Complex" ? Type::complex()
         : name == "aten::Bool"    ? Type::boolean()
                                   : Type::string();
}

bool is_exception(const std::string& name) {
  static const std::set<std::string> kOthers = {"StopIteration", "KeyboardInterrupt",
                                                "SystemExit",    "GeneratorExit",
                                                "Exception",     "BaseException"};
  return kOthers.count(name) || (name.size() > 5 && name[0] >= 'A' && name[0] <= 'Z' &&
                                 name.compare(name.size() - 5, 5, "Error") == 0);
}

std::optional<double> math_constant(const std::string& name) {
  if (name == "pi") return M_PI;
  if (name == "e") return M_E;
  if (name == "tau") return 2 * M_PI;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// dtypes, layouts and memory formats are ints in programs.
std::optional<int64_t> torch_constant(const std::string& name) {
  static const std::map<std::string, int64_t> kConstants = {{"uint8", 0},
                                                            {"int8", 1},
                                                            {"int16", 2},
                                                            {"short", 2},
                                                            {"int32", 3},
                                                            {"int", 3},
                                                            {"int64", 4},
                                                            {"long", 4},
                                                            {"float16", 5},
                                                            {"half", 5},
                                                            {"float32", 6},
                                                            {"float", 6},
                                                            {"float64", 7},
                                                            {"double", 7},
                                                            {"complex32", 8},
                                                            {"complex64", 9},
                                                            {"cfloat", 9},
                                                            {"complex128", 10},
                                                            {"cdouble", 10},
                                                            {"bool", 11},
                                                            {"qint8", 12},
                                                            {"quint8", 13},
                                                            {"qint32", 14},
                                                            {"bfloat16", 15},
                                                            {"chalf", 8},
                                                            {"uint16", 27},
                                                            {"uint32", 28},
                                                            {"uint64", 29},
                                                            {"float8_e5m2", 23},
                                                            {"float8_e4m3fn", 24},
                                                            {"float8_e5m2fnuz", 25},
                                                            {"float8_e4m3fnuz", 26},
                                                            {"float8_e8m0fnu", 44},
                                                            {"strided", 0},
                                                            {"sparse_coo", 1},
                                                            {"sparse_csr", 2},
                                                            {"contiguous_format", 0},
                                                            {"preserve_format", 1},
                                                            {"channels_last", 2},
                                                            {"channels_last_3d", 3}};
  const auto it = kConstants.find(name);
  if (it == kConstants.end()) return std::nullopt;
  return it->second;
}

}  // namespace

SugarPtr Emitter::global(const std::string& name, const SourceRange& range) {
  if (name == "__torch__") return make_sugar(SugarKind::Namespace, name);
  if (Function* f = find_function(name, *scope_)) {
    auto s = make_sugar(SugarKind::Function, name);
    s->function = f;
    return s;
  }
  if (TypePtr t = find_type(name, *scope_))
    return make_sugar(SugarKind::Type, name, nullptr, std::move(t));
  if (auto it = builtins().find(name); it != builtins().end()) {
    const Builtin& b = it->second;
    return make_sugar(b.kind, b.name, nullptr,
                      b.kind == SugarKind::Cast ? cast_type(b.name) : nullptr);
  }
  if (name == "infj" || name == "nanj") {  // parts of complex constants of archives
    return as_sugar(constant(std::complex<double>(0, *math_constant(name.substr(0, 3))), range));
  }
  if (name == "inf" || name == "nan") return as_sugar(constant(*math_constant(name), range));
  if (is_exception(name)) return make_sugar(SugarKind::Exception, "builtins." + name);
  if (name == "Tensor") return make_sugar(SugarKind::Type, name, nullptr, Type::tensor());
  return nullptr;
}

std::optional<IValue> named_constant(const std::string& dotted, const Scope& scope) {
  if (dotted.compare(0, 6, "torch.") == 0) {
    if (const auto v = torch_constant(dotted.substr(6))) return IValue(*v);
    return std::nullopt;
  }
  if (dotted.compare(0, 11, "CONSTANTS.c") != 0) return std::nullopt;
  const std::string digits = dotted.substr(11);
  const auto* table = scope.resolver ? scope.resolver->constants : nullptr;
  if (!table || digits.empty() || digits.size() > 9 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const std::size_t i = std::stoul(digits);
  if (i >= table->size()) return std::nullopt;
  return (*table)[i];
}

SugarPtr Emitter::of_program(const std::string& dotted, const SourceRange& range) {
  if (TypePtr t = scope_->local_type ? scope_->local_type(dotted) : nullptr)
    return make_sugar(SugarKind::Type, dotted, nullptr, std::move(t));
  if (TypePtr t = scope_->unit->find_type(dotted))
    return make_sugar(SugarKind::Type, dotted, nullptr, std::move(t));
  if (Function* f = scope_->unit->find_function(dotted)) {
    auto s = make_sugar(SugarKind::Function, dotted);
    s->function = f;
    return s;
  }
  const std::size_t dot = dotted.rfind('.');
  const std::string outer = dotted.substr(0, dot);
  if (outer.find('.') != std::string::npos) {
    TypePtr t = scope_->local_type ? scope_->local_type(outer) : nullptr;
    if (!t) t = scope_->unit->find_type(outer);
    if (t) return attribute_of_type(t, dotted.substr(dot + 1), range);
  }
  throw ErrorReport(range, "undefined value " + dotted);
}

SugarPtr Emitter::in_namespace(const std::string& space, const std::string& name,
                               const SourceRange& range) {
  const auto within = [&](const std::string& n) { return make_sugar(SugarKind::Namespace, n); };
  const auto op = [&](const std::string& n) { return make_sugar(SugarKind::Operator, n); };
  if (space == "CONSTANTS") {
    const auto v = named_constant("CONSTANTS." + name, *scope_);
    TENON_PROGRAM_CHECK(v, range, "constant ", name, " is not in the archive");
    return as_sugar(constant(*v, range));
  }
  if (space == "ops") return within("ops." + name);
  if (space.compare(0, 4, "ops.") == 0) return op(space.substr(4) + "::" + name);
  if (space == "math") {
    if (const auto v = math_constant(name)) return as_sugar(constant(*v, range));
    return op("aten::" + name);
  }
  if (space == "typing") return global(name, range);
  if (space == "torch.jit") {
    if (name == "annotate" || name == "isinstance" || name == "is_scripting" ||
        name == "is_tracing" || name == "fork" || name == "_fork")
      return make_sugar(SugarKind::Special, name == "_fork" ? "fork" : name);
    if (name == "wait" || name == "_wait") return op("aten::wait");
  }
  if (space == "torch.nn" && name == "functional") return within("torch.nn.functional");
  if (space == "torch.nn.functional") {
    if (Function* f = functional(*scope_->unit, name)) {
      auto s = make_sugar(SugarKind::Function, name);
      s->function = f;
      return s;
    }
    return op("aten::" + name);
  }
  if (space == "torch.classes") return within(space + "." + name);
  if (space.compare(0, 14, "torch.classes.") == 0) {
    const std::string full = "__torch__." + space + "." + name;
    TypePtr t = scope_->unit->find_type(full);
    TENON_PROGRAM_CHECK(t, range, "the class ", space, ".", name, " is not registered");
    return make_sugar(SugarKind::Type, full, nullptr, std::move(t));
  }
  if (space == "torch.linalg" || space == "torch.fft" || space == "torch.special")
    return op("aten::" + space.substr(6) + "_" + name);
  if (space == "torch._C._nn" || space == "torch._VF" || space == "torch._C._VariableFunctions" ||
      space == "torch.functional")
    return op("aten::" + name);
  if (space == "torch._C" || space == "torch.nn" || space == "torch.jit")
    return within(space + "." + name);
  if (space != "torch") throw ErrorReport(range, "undefined value " + space + "." + name);
  static const std::set<std::string> kSpaces = {"nn", "jit", "linalg",     "fft",    "special",
                                                "_C", "_VF", "functional", "classes"};
  if (kSpaces.count(name)) return within("torch." + name);
  if (name == "ops") return within("ops");
  if (name == "autograd") return within("torch");
  if (name == "Tensor") return make_sugar(SugarKind::Type, name, nullptr, Type::tensor());
  if (name == "no_grad" || name == "enable_grad" || name == "set_grad_enabled" ||
      name == "is_tensor")
    return make_sugar(SugarKind::Special, name);
  // `torch.int` is a dtype, but `torch.float(x)` does not exist; aten::complex and others do.
  if (const auto v = torch_constant(name)) return as_sugar(constant(*v, range));
  if (const auto v = math_constant(name)) return as_sugar(constant(*v, range));
  return op("aten::" + name);
}

}  // namespace tenon::jit::language
