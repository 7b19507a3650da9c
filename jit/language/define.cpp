// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files of programs: their functions, classes, named tuples, enums and interfaces.
#include "jit/language/emit.h"

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

using DefPtr = std::shared_ptr<const Def>;

bool has_decorator(const Def& d, const std::string& name) {
  return std::any_of(d.decorators.begin(), d.decorators.end(), [&](const ExprPtr& e) {
    const std::string text = dotted_name(e->kind == ExprKind::Call ? *e->a : *e);
    return text == name ||
           (text.size() > name.size() &&
            text.compare(text.size() - name.size() - 1, std::string::npos, "." + name) == 0);
  });
}

FunctionSchema signature(const std::string& name, const Def& d, const Scope& scope,
                         const TypePtr& self) {
  FunctionSchema s;
  s.name = name;
  for (std::size_t i = 0; i < d.params.size(); ++i) {
    const Param& p = d.params[i];
    Argument a;
    a.name = p.name;
    a.keyword_only = p.keyword_only;
    if (i == 0 && self) {
      a.type = self;
    } else {
      a.type = p.annotation ? annotated_type(*p.annotation, scope) : Type::tensor();
    }
    if (p.annotation && p.annotation->kind == ExprKind::Subscript) {  // BroadcastingList2[int]
      const std::string base = dotted_name(*p.annotation->a);
      if (base.size() == 17 && base.compare(0, 16, "BroadcastingList") == 0 && base[16] >= '1' &&
          base[16] <= '9')
        a.fixed_length = base[16] - '0';
    }
    if (p.default_value) a.default_value = constant_value(*p.default_value, scope, a.type);
    TENON_PROGRAM_CHECK(s.find_argument(p.name) < 0, p.range, "duplicate argument '", p.name,
                        "' in the definition of ", d.name);
    s.arguments.push_back(std::move(a));
  }
  TENON_PROGRAM_CHECK(!self || !d.params.empty(), d.range, "method '", d.name,
                      "' must have self as its first argument");
  if (d.returns) {
    Argument r;
    r.type = annotated_type(*d.returns, scope);
    s.returns.push_back(std::move(r));
  }
  return s;
}

// The body is compiled when it is first asked for. The unit owns the function, and the function
// what it is compiled from.
Function* add_function(const ScopePtr& scope, const std::string& name, DefPtr def,
                       const ClassTypePtr& self) {
  std::weak_ptr<ClassType> cls = self;
  const bool method = self != nullptr;
  // Archives have hooks twice: in the file of the class, and in one named like the class.
  if (scope->resolver->constants) {
    if (Function* f = scope->unit->find_function(name)) return f;
  }
  auto define = [scope, name, def, cls, method](Function& f) {
    Recursion guard(def->range);
    const TypePtr type = method ? cls.lock() : nullptr;
    FunctionSchema s = signature(name, *def, *scope, type);
    f.set_schema(s);  // for calls of itself
    auto graph = std::make_shared<Graph>();
    const TypePtr declared = s.returns.empty() ? nullptr : s.returns[0].type;
    const TypePtr result = Emitter(scope, graph).function(*def, s, declared);
    clean_up(*graph);
    if (!declared) {
      Argument r;
      r.type = result;
      s.returns.push_back(std::move(r));
      f.set_schema(std::move(s));
    }
    f.set_graph(std::move(graph));
  };
  return scope->unit->add_function(
      std::make_unique<Function>(name, std::make_shared<Graph>(), FunctionSchema(), define));
}

std::string text_of(const Expr& e) {
  TENON_PROGRAM_CHECK(e.kind == ExprKind::String, e.range, "expected a string");
  return e.text;
}

std::vector<std::string> texts_of(const Expr& e) {
  TENON_PROGRAM_CHECK(e.kind == ExprKind::List || e.kind == ExprKind::Tuple, e.range,
                      "expected a list of strings");
  std::vector<std::string> out;
  for (const ExprPtr& a : e.args) out.push_back(text_of(*a));
  return out;
}

enum class ClassKind { Object, Module, NamedTuple, Enum, Interface, ModuleInterface };

ClassKind kind_of(const ClassDef& c) {
  for (const ExprPtr& b : c.bases) {
    const std::string name = dotted_name(*b);
    const std::string last = name.substr(name.rfind('.') + 1);
    if (last == "Module") return ClassKind::Module;
    if (last == "NamedTuple") return ClassKind::NamedTuple;
    if (last == "Enum" || last == "IntEnum") return ClassKind::Enum;
    if (last == "Interface") return ClassKind::Interface;
    if (last == "ModuleInterface") return ClassKind::ModuleInterface;
    TENON_PROGRAM_CHECK(last == "object", b->range, "classes cannot inherit from '", name, "'");
  }
  for (const ExprPtr& d : c.decorators) {
    if (dotted_name(*d) == "torch.jit.interface") return ClassKind::Interface;
  }
  return ClassKind::Object;
}

// The classes of one file, while they are defined.
class FileDefinition {
 public:
  FileDefinition(CompilationUnit& unit, std::string prefix, const File& file,
                 std::shared_ptr<const Resolver> resolver)
      : unit_(unit), prefix_(std::move(prefix)), file_(file) {
    auto s = std::make_shared<Scope>();
    s->unit = &unit;
    s->prefix = prefix_;
    s->resolver = resolver ? std::move(resolver) : std::make_shared<const Resolver>();
    scope_ = s;
    auto own = std::make_shared<Scope>(*s);  // only while the file is defined
    own->local_type = [this](const std::string& name) { return pending_type(name); };
    defining_ = own;
  }

  void run() {
    for (const auto& c : file_.classes) {
      const ClassKind kind = kind_of(*c);
      if (kind == ClassKind::Object || kind == ClassKind::Module) {
        auto cls = ClassType::make(qualified(c->name), kind == ClassKind::Module);
        unit_.add_type(cls);
        classes_.emplace_back(c, cls);
      } else if (kind == ClassKind::Interface || kind == ClassKind::ModuleInterface) {
        auto t = InterfaceType::make(qualified(c->name), kind == ClassKind::ModuleInterface);
        unit_.add_type(t);
        interfaces_.emplace_back(c, t);
      } else {
        pending_[qualified(c->name)] = c;
      }
    }
    while (!pending_.empty()) define_pending(pending_.begin()->first);
    for (auto& [c, t] : interfaces_) define_interface(*c, *t);
    for (auto& [c, t] : classes_) define_class(*c, t);
    for (const auto& f : file_.functions)
      (void)add_function(scope_, qualified(f->name), f, nullptr);
  }

 private:
  std::string qualified(const std::string& name) const {
    return prefix_.empty() ? name : prefix_ + "." + name;
  }

  TypePtr pending_type(const std::string& name) {
    for (const std::string& n : {name, qualified(name)}) {
      if (pending_.count(n)) return define_pending(n);
    }
    return nullptr;
  }

  TypePtr define_pending(const std::string name) {  // a copy: the entry goes
    const std::shared_ptr<ClassDef> c = pending_.at(name);
    pending_.erase(name);
    Recursion guard(c->range);
    TypePtr t = kind_of(*c) == ClassKind::Enum ? enum_type(name, *c) : named_tuple(name, *c);
    unit_.add_type(t);
    return t;
  }

  TypePtr named_tuple(const std::string& name, const ClassDef& c) {
    std::vector<std::string> fields;
    std::vector<TypePtr> types;
    std::vector<std::optional<IValue>> defaults;
    for (const StmtPtr& s : c.body) {
      if (s->kind == StmtKind::Pass || s->kind == StmtKind::Expr) continue;
      TENON_PROGRAM_CHECK(s->kind == StmtKind::Assign && s->annotation && s->targets.size() == 1,
                          s->range, "a NamedTuple has fields with annotations only");
      types.push_back(annotated_type(*s->annotation, *defining_));
      fields.push_back(field_name(*s->targets[0]));
      defaults.emplace_back();
      if (s->value) defaults.back() = constant_value(*s->value, *defining_, types.back());
    }
    return Type::named_tuple(name, std::move(fields), std::move(types), std::move(defaults));
  }

  TypePtr enum_type(const std::string& name, const ClassDef& c) {
    std::vector<std::pair<std::string, IValue>> members;
    TypePtr type;
    for (const StmtPtr& s : c.body) {
      if (s->kind != StmtKind::Assign || !s->value) continue;
      IValue v = constant_value(*s->value, *defining_, nullptr);
      const TypePtr t = type_of(v);
      type = type ? unify(type, t) : t;
      TENON_PROGRAM_CHECK(type, s->range, "Enum class '", c.name,
                          "' has values of different types");
      members.emplace_back(field_name(*s->targets[0]), std::move(v));
    }
    TENON_PROGRAM_CHECK(type, c.range, "No enum values defined for: '", c.name, "'");
    return EnumType::make(name, type, std::move(members));
  }

  static std::string field_name(const Expr& e) {
    if (e.kind == ExprKind::Subscript && dotted_name(*e.a) == "__annotations__" &&
        e.args.size() == 1)
      return text_of(*e.args[0]);
    TENON_PROGRAM_CHECK(e.kind == ExprKind::Name, e.range, "expected the name of an attribute");
    return e.text;
  }

  void define_interface(const ClassDef& c, InterfaceType& t) {
    for (const StmtPtr& s : c.body) {
      if (s->kind != StmtKind::Def) continue;
      FunctionSchema m = signature(s->def->name, *s->def, *defining_, Type::any());
      if (m.returns.empty()) {
        Argument r;
        r.type = Type::none();
        m.returns.push_back(std::move(r));
      }
      t.methods.push_back(std::move(m));
    }
  }

  void define_class(const ClassDef& c, const ClassTypePtr& cls) {
    std::set<std::string> parameters, buffers;
    for (const StmtPtr& s : c.body) {
      if (s->kind == StmtKind::Assign && s->value && s->targets[0]->kind == ExprKind::Name) {
        const std::string& name = s->targets[0]->text;
        const auto read = [&](std::set<std::string>& into) {
          for (std::string& n : texts_of(*s->value)) into.insert(std::move(n));
        };
        if (name == "__parameters__") read(parameters);
        if (name == "__buffers__") read(buffers);
        if (name == "__forward_hooks__") cls->forward_hooks = texts_of(*s->value);
        if (name == "__forward_pre_hooks__") cls->forward_pre_hooks = texts_of(*s->value);
      }
    }
    for (const StmtPtr& s : c.body) {
      if (s->kind == StmtKind::Def) continue;
      if (s->kind == StmtKind::Assign) attribute(*s, cls, parameters, buffers);
    }
    for (const StmtPtr& s : c.body) {
      if (s->kind == StmtKind::Def) method(s->def, cls);
    }
  }

  void attribute(const Stmt& s, const ClassTypePtr& cls, const std::set<std::string>& parameters,
                 const std::set<std::string>& buffers) {
    const Expr& target = *s.targets[0];
    const bool annotates = target.kind == ExprKind::Subscript;  // __annotations__["0"] = T
    if (!s.annotation && !annotates) {
      if (target.kind == ExprKind::Name && target.text.compare(0, 2, "__") != 0 && s.value)
        cls->add_constant(target.text, constant_value(*s.value, *defining_, nullptr));
      return;
    }
    const std::string name = field_name(target);
    const Expr& annotation = annotates ? *s.value : *s.annotation;
    const TypePtr type = annotated_type(annotation, *defining_);
    const bool final =
        annotation.kind == ExprKind::Subscript &&
        (dotted_name(*annotation.a) == "Final" || dotted_name(*annotation.a) == "torch.jit.Final");
    if (final && s.value) {
      cls->add_constant(name, constant_value(*s.value, *defining_, type));
      return;
    }
    const auto kind = parameters.count(name) ? ClassAttribute::Parameter
                      : buffers.count(name)  ? ClassAttribute::Buffer
                                             : ClassAttribute::Plain;
    cls->add_attribute(name, type, kind);
  }

  void method(const std::shared_ptr<Def>& def, const ClassTypePtr& cls) {
    const std::string name = cls->class_name() + "." + def->name;
    if (has_decorator(*def, "ignore") || has_decorator(*def, "unused")) return;
    if (has_decorator(*def, "staticmethod")) {
      (void)add_function(scope_, name, def, nullptr);
      return;
    }
    if (has_decorator(*def, "property")) {
      Function* f = add_function(scope_, cls->class_name() + ".__get_" + def->name, def, cls);
      cls->add_method(f);
      cls->properties.push_back({def->name, f, nullptr});
      return;
    }
    if (has_decorator(*def, "setter")) {
      for (ClassType::Property& p : cls->properties) {
        if (p.name != def->name) continue;
        p.setter = add_function(scope_, cls->class_name() + ".__set_" + def->name, def, cls);
        cls->add_method(p.setter);
        return;
      }
    }
    cls->add_method(add_function(scope_, name, def, cls));
  }

  CompilationUnit& unit_;
  std::string prefix_;
  const File& file_;
  ScopePtr scope_, defining_;
  std::map<std::string, std::shared_ptr<ClassDef>> pending_;  // named tuples and enums
  std::vector<std::pair<std::shared_ptr<ClassDef>, ClassTypePtr>> classes_;
  std::vector<std::pair<std::shared_ptr<ClassDef>, std::shared_ptr<InterfaceType>>> interfaces_;
};

}  // namespace

void define_file(CompilationUnit& unit, const std::string& prefix, const File& file,
                 const std::shared_ptr<const Resolver>& resolver) {
  FileDefinition(unit, prefix, file, resolver).run();
}

Function* define_method(CompilationUnit& unit, const ClassTypePtr& cls, const Def& def,
                        const std::shared_ptr<const Resolver>& resolver) {
  auto scope = std::make_shared<Scope>();
  scope->unit = &unit;
  const std::size_t dot = cls->class_name().rfind('.');
  scope->prefix = dot == std::string::npos ? std::string() : cls->class_name().substr(0, dot);
  scope->resolver = resolver ? resolver : std::make_shared<const Resolver>();
  Function* f = add_function(scope, cls->class_name() + "." + def.name,
                             std::make_shared<const Def>(def), cls);
  cls->add_method(f);
  return f;
}

}  // namespace tenon::jit::language
