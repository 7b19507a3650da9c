// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <sstream>
#include <utility>

#include "jit/fuse/find_groups.h"
#include "jit/run/call_observer.h"
#include "jit/run/plan.h"
#include "runtime/base/recursive_mutex.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// Functions are defined and planned one at a time, in the order in which they need each other.
core::RecursiveMutex g_definitions;
[[maybe_unused]] const int g_fork_handlers_of_definitions = pthread_atfork(
    [] { g_definitions.lock(); }, [] { g_definitions.unlock(); }, [] { g_definitions.unlock(); });

}  // namespace

Function::Function(std::string qualified_name, std::shared_ptr<Graph> graph, FunctionSchema schema,
                   std::function<void(Function&)> define)
    : qualified_name_(std::move(qualified_name)),
      graph_(std::move(graph)),
      schema_(std::move(schema)),
      define_(std::move(define)),
      state_(define_ ? State::ToDefine : State::Defined) {}

Function::~Function() { delete plan_.load(); }

std::size_t Function::num_inputs() const { return graph()->inputs().size(); }

std::string_view Function::name() const noexcept {
  const std::string_view all = qualified_name_;
  const std::size_t dot = all.rfind('.');
  return dot == std::string_view::npos ? all : all.substr(dot + 1);
}

// Who is being defined may be asked for its schema: it calls itself.
const Function& Function::ensure_defined() const {
  if (state_.load(std::memory_order_acquire) == State::Defined) return *this;
  const std::lock_guard lock(g_definitions);
  if (state_ != State::ToDefine) return *this;
  auto& self = const_cast<Function&>(*this);
  self.state_ = State::BeingDefined;
  try {
    self.define_(self);
  } catch (...) {
    self.state_ = State::ToDefine;
    throw;
  }
  self.state_.store(State::Defined, std::memory_order_release);
  return *this;
}

void Function::set_graph(std::shared_ptr<Graph> g) {
  graph_ = std::move(g);
  delete plan_.exchange(nullptr);
}

const Plan& Function::plan() const {
  if (const Plan* p = plan_.load(std::memory_order_acquire)) return *p;
  const std::lock_guard lock(g_definitions);
  if (const Plan* p = plan_.load()) return *p;
  auto made = std::make_unique<Plan>(fuse::find_groups(graph()));
  auto& self = const_cast<Function&>(*this);
  self.plan_.store(made.get(), std::memory_order_release);
  return *made.release();
}

namespace {
thread_local CallObserver* t_call_observer = nullptr;
}

CallObserver* call_observer() noexcept { return t_call_observer; }
CallObserver* set_call_observer(CallObserver* o) noexcept {
  return std::exchange(t_call_observer, o);
}

void Function::run(Stack& stack) const { plan().run(stack); }

namespace {

std::string text_of(const IValue& v) {
  std::ostringstream out;
  out << v;
  std::string s = out.str();
  constexpr std::size_t kMaxText = 200;
  if (s.size() > kMaxText) s = s.substr(0, kMaxText) + "...";
  return s;
}

bool fits(const IValue& v, const Type& t);

// Elements of a container without any are what it says they are.
bool may_be(const TypePtr& declared, const Type& wanted) {
  return !declared || declared->is(TypeKind::Any) || same_type(*declared, wanted);
}
bool list_fits(const ivalue::List& l, const Type& element) {
  if (l.items.empty()) return may_be(l.element, element);
  return (l.element && same_type(*l.element, element)) ||
         std::all_of(l.items.begin(), l.items.end(),
                     [&](const IValue& item) { return fits(item, element); });
}
bool dict_fits(const ivalue::Dict& d, const Type& key, const Type& value) {
  if (d.size() == 0) return may_be(d.key, key) && may_be(d.value, value);
  return std::all_of(d.items().begin(), d.items().end(), [&](const auto& item) {
    return fits(item.first, key) && fits(item.second, value);
  });
}
bool tuple_fits(const ivalue::Tuple& tuple, const Type& t) {
  if (tuple.size() != t.contained().size()) return false;
  if (!t.fields().empty() && tuple.type && tuple.type->name() != t.name()) return false;
  for (std::size_t i = 0; i < tuple.size(); ++i)
    if (!fits(tuple.items[i], *t.contained()[i])) return false;
  return true;
}

// Whether the value is one of the type once its containers have the element types of `t`: a list of
// ints is one of List[Optional[int]].
bool fits(const IValue& v, const Type& t) {
  if (t.is(TypeKind::Optional)) return v.isNone() || fits(v, *t.element());
  if (v.isList() && t.is(TypeKind::List)) return list_fits(v.toListRef(), *t.element());
  if (v.isGenericDict() && t.is(TypeKind::Dict))
    return dict_fits(v.toDictRef(), *t.contained()[0], *t.contained()[1]);
  if (v.isTuple() && t.is(TypeKind::Tuple)) return tuple_fits(v.toTupleRef(), t);
  return is_instance(v, t);
}

void check_argument(const FunctionSchema& s, std::string_view name, std::size_t at,
                    const IValue& v) {
  const Argument& a = s.arguments[at];
  if (!a.type || fits(v, *a.type)) return;
  throw TypeError(core::join(name, "() Expected a value of type '", a.type->annotation(),
                             "' for argument '", a.name, "' but instead found type '",
                             type_of(v)->annotation(), "'.\nPosition: ", at,
                             "\nValue: ", text_of(v), "\nDeclaration: ", s.str()));
}

}  // namespace

std::vector<IValue> Function::bind(std::vector<IValue> arguments,
                                   const std::map<std::string, IValue>& keywords) const {
  const FunctionSchema& s = schema();
  TENON_CHECK(arguments.size() <= s.arguments.size(), TypeError, name(), "() expected at most ",
              s.arguments.size(), " argument(s) but received ", arguments.size(),
              " argument(s). Declaration: ", s.str());
  const std::size_t given = arguments.size();
  std::size_t used = 0;
  for (std::size_t i = given; i < s.arguments.size(); ++i) {
    const Argument& a = s.arguments[i];
    if (auto it = keywords.find(a.name); it != keywords.end()) {
      arguments.push_back(it->second);
      ++used;
    } else {
      TENON_CHECK(a.default_value, TypeError, name(), "() is missing value for argument '", a.name,
                  "'. Declaration: ", s.str());
      arguments.push_back(*a.default_value);
    }
  }
  for (const auto& [key, v] : keywords) {
    const int at = s.find_argument(key);
    TENON_CHECK(at >= 0, TypeError, name(), "() got an unexpected argument '", key,
                "'. Declaration: ", s.str());
    TENON_CHECK(static_cast<std::size_t>(at) >= given, TypeError, name(),
                "() got multiple values for argument '", key, "'");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) check_argument(s, name(), i, arguments[i]);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (s.arguments[i].type) set_element_type(arguments[i], s.arguments[i].type);
  return arguments;
}

IValue Function::operator()(std::vector<IValue> arguments,
                            const std::map<std::string, IValue>& keywords) const {
  Stack stack = bind(std::move(arguments), keywords);
  if (CallObserver* o = call_observer()) return o->call(*this, std::move(stack));
  run(stack);
  return pop(stack);
}

}  // namespace tenon::jit
