// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The table of operators by name. A name is looked up among the host operators and in the op table
// of core when it is first asked for.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "jit/run/boxing.h"
#include "runtime/base/leaf_mutex.h"
#include "tenon/jit/operator.h"
#include "tenon/library.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using Overloads = std::vector<std::unique_ptr<Operator>>;

struct Table {
  core::LeafMutex mutex;
  std::map<std::string, std::vector<HostOperator>, std::less<>> host;  // by name
  std::map<std::string, Overloads, std::less<>> known;
};
Table& table() {
  static Table* const t = new Table;  // lives as long as the process: threads may outlive statics
  return *t;
}

std::string_view name_of_schema(std::string_view schema) {
  return schema.substr(0, std::min(schema.find('('), schema.find('.')));
}

// "add.Tensor" of the build is aten::add; those of plugins have their own namespace.
std::string qualified(std::string_view op) {
  return op.find("::") == std::string_view::npos ? "aten::" + std::string(op) : std::string(op);
}
std::string_view without_namespace(std::string_view name) {
  return name.substr(0, 6) == "aten::" ? name.substr(6) : name;
}

// Composites that draw random numbers; their flags are those of the operators that they call.
bool draws_inside(std::string_view name) {
  static const std::set<std::string_view> kNames = {"aten::rand",
                                                    "aten::rand_like",
                                                    "aten::randn",
                                                    "aten::randn_like",
                                                    "aten::randint",
                                                    "aten::randint_like",
                                                    "aten::randperm",
                                                    "aten::dropout",
                                                    "aten::alpha_dropout",
                                                    "aten::rrelu",
                                                    "aten::dropout_",
                                                    "aten::feature_dropout",
                                                    "aten::rrelu_",
                                                    "aten::_sample_dirichlet",
                                                    "aten::alpha_dropout_",
                                                    "aten::feature_dropout_",
                                                    "aten::feature_alpha_dropout",
                                                    "aten::feature_alpha_dropout_"};
  return kNames.count(name) != 0;
}

bool is_random(const FunctionSchema& s, const core::Op& op) {
  return (op.flags & core::kOpRandom) != 0 || draws_inside(s.name) ||
         std::any_of(s.arguments.begin(), s.arguments.end(), [](const Argument& a) {
           return (a.type->is(TypeKind::Optional) ? a.type->element() : a.type)
               ->is(TypeKind::Generator);
         });
}

bool may_have_effects(const FunctionSchema& s) {
  return std::any_of(s.arguments.begin(), s.arguments.end(),
                     [](const Argument& a) { return a.alias.write; });
}

std::unique_ptr<Operator> functional(const core::Op& op) {
  auto made = std::make_unique<Operator>();
  made->op = &op;
  made->schema = parse_schema(qualified(op.schema));
  made->is_random = is_random(made->schema, op);
  made->has_side_effects = made->is_random || may_have_effects(made->schema);
  return made;
}

std::unique_ptr<Operator> inplace(const core::Op& op) {
  auto made = functional(op);
  made->form = Operator::Form::Inplace;
  FunctionSchema& s = made->schema;
  s.name += '_';
  s.arguments[0].alias = {"a", true};
  s.returns = {Argument{"", s.arguments[0].type, std::nullopt, false, 0, {"a", true}}};
  made->has_side_effects = true;
  return made;
}

// torch's names for the results of max.dim and min.dim where they are arguments.
std::string out_name(const FunctionSchema& s, std::size_t result) {
  if (s.overload == "dim" && s.name == "aten::max") return result == 0 ? "max" : "max_values";
  if (s.overload == "dim" && s.name == "aten::min") return result == 0 ? "min" : "min_indices";
  return s.returns[result].name;
}

std::unique_ptr<Operator> with_out(const core::Op& op) {
  auto made = functional(op);
  made->form = Operator::Form::Out;
  FunctionSchema& s = made->schema;
  for (std::size_t i = 0; i < s.returns.size(); ++i) {
    Argument out = s.returns[i];
    out.name = out_name(s, i);
    const std::string letter(1, static_cast<char>('a' + i));
    if (out.name.empty()) out.name = s.returns.size() == 1 ? "out" : "out" + std::to_string(i);
    out.keyword_only = true;
    out.alias = {letter, true};
    s.returns[i].alias = out.alias;
    s.arguments.push_back(out);
  }
  s.overload = s.overload.empty() || s.overload == "Tensor" ? "out" : s.overload + "_out";
  made->has_side_effects = true;
  return made;
}

std::unique_ptr<Operator> host_operator(const HostOperator& h) {
  auto made = std::make_unique<Operator>();
  made->schema = parse_schema(h.schema);
  made->host = h.function;
  made->host_vararg = h.vararg;
  made->has_side_effects = h.has_side_effects || may_have_effects(made->schema);
  return made;
}

// Names of torch's for operators that have another one here, overload by overload.
std::string_view other_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"aten::adjoint", "mH"},
  };
  for (const auto& [from, to] : kNames)
    if (name == from) return to;
  return {};
}

bool callable(const core::Op& op) {
  return op.boxed_call.load(std::memory_order_relaxed) || core::registered(op);
}

void add_core_overloads(std::string_view name, Overloads& to) {
  const std::string_view base = without_namespace(name);
  for (const core::Op* op : core::overloads(base)) {
    if (callable(*op)) to.push_back(functional(*op));
  }
  for (const core::Op* op : core::overloads(base)) {
    if (op->boxed_out.load(std::memory_order_relaxed)) to.push_back(with_out(*op));
  }
  if (base.size() < 2 || base.back() != '_') return;
  for (const core::Op* op : core::overloads(base.substr(0, base.size() - 1))) {
    if (op->boxed_inplace.load(std::memory_order_relaxed)) to.push_back(inplace(*op));
  }
}

// Operators of TENON_LIBRARY.
void add_library_overloads(std::string_view name, Overloads& to) {
  for (const auto& op : library::operators_named(name)) {
    auto made = std::make_unique<Operator>();
    made->schema = parse_schema(library::schema_of(*op));
    const std::size_t n = made->schema.arguments.size();
    made->registered = [op, n, returns = made->schema.returns](Stack& stack) {
      library::detail::Values arguments(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
      drop(stack, n);
      library::detail::Values results = library::call(*op, std::move(arguments));
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (i < returns.size()) set_element_type(results[i], returns[i].type);
        stack.push_back(std::move(results[i]));
      }
    };
    made->has_side_effects = true;  // nobody says what it does
    to.push_back(std::move(made));
  }
}

// Operators of tensors first: their overloads are the ones that most calls mean.
Overloads find_overloads(const std::vector<HostOperator>& host, std::string_view name) {
  Overloads made;
  if (without_namespace(name).find("::") != std::string_view::npos ||
      name.substr(0, 6) == "aten::") {
    add_core_overloads(name, made);
  }
  for (const HostOperator& h : host) {
    auto one = host_operator(h);
    // What programs ask of tensors is answered without a call by name.
    std::erase_if(made, [&](const auto& o) {
      return o->op != nullptr && o->schema.overload == one->schema.overload &&
             o->form == Operator::Form::Functional;
    });
    made.push_back(std::move(one));
  }
  if (made.empty()) add_library_overloads(name, made);
  if (const std::string_view other = other_name(name); made.empty() && !other.empty()) {
    add_core_overloads(other, made);
    for (const auto& o : made) o->schema.name = name;
  }
  return made;
}

std::vector<const Operator*> pointers(const Overloads& list) {
  std::vector<const Operator*> out;
  for (const auto& o : list) out.push_back(o.get());
  return out;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (int i = 0; i < core::op_count(); ++i) {
    const std::string_view name = core::op_at(i).name;
    names.push_back(qualified(name.substr(0, name.find('.'))));
  }
  const std::lock_guard lock(table().mutex);
  for (const auto& [name, list] : table().host) names.push_back(name);
  return names;
}

}  // namespace

HostOperators::HostOperators(const HostOperator* list, std::size_t n) {
  const std::lock_guard lock(table().mutex);
  for (std::size_t i = 0; i < n; ++i)
    table().host[std::string(name_of_schema(list[i].schema))].push_back(list[i]);
}

std::vector<const Operator*> operators_named(std::string_view name) {
  Table& t = table();
  std::vector<HostOperator> host;
  {
    const std::lock_guard lock(t.mutex);
    if (auto it = t.known.find(name); it != t.known.end()) return pointers(it->second);
    if (auto it = t.host.find(name); it != t.host.end()) host = it->second;
  }
  Overloads made = find_overloads(host, name);
  if (made.empty()) return {};  // a plugin may bring it later
  const std::lock_guard lock(t.mutex);
  return pointers(t.known.emplace(std::string(name), std::move(made)).first->second);
}

const Operator* find_operator(std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  const std::string_view name = full_name.substr(0, dot);
  const std::string_view overload =
      dot == std::string_view::npos ? std::string_view() : full_name.substr(dot + 1);
  for (const Operator* o : operators_named(name)) {
    if (o->schema.overload == overload) return o;
  }
  return nullptr;
}

std::vector<std::string> similar_operators(std::string_view name, std::size_t n) {
  return core::nearest_names(name, all_names(), std::max<std::size_t>(2, name.size() / 4), n);
}

void Operator::call(Stack& stack, std::size_t n_args) const {
  if (op)
    call_on_stack(*this, stack);
  else if (host)
    host(stack);
  else if (registered)
    registered(stack);
  else
    host_vararg(stack, n_args);
}

}  // namespace tenon::jit
