// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Variables: their values by scope, and how branches are merged.
#include <algorithm>

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

constexpr int kMaxRecursion = 1200;
thread_local int recursion = 0;

bool is_hidden(const std::string& name) { return name[0] == '$'; }

// The value before casts that only the types of branches asked for.
Value* uncast(Value* v) {
  while (v && v->node()->is("prim::unchecked_cast")) v = v->node()->input(0);
  return v;
}

}  // namespace

Recursion::Recursion(const SourceRange& where) {
  if (++recursion <= kMaxRecursion) return;
  --recursion;
  throw ErrorReport(where, "the program is nested too deeply");
}
Recursion::~Recursion() { --recursion; }

const char* kind_name(const Sugar& s) noexcept {
  switch (s.kind) {
    case SugarKind::Value:
      return "value";
    case SugarKind::Operator:
    case SugarKind::Cast:
    case SugarKind::Special:
      return "builtin";
    case SugarKind::Namespace:
      return "module";
    case SugarKind::Function:
    case SugarKind::Closure:
      return "function";
    case SugarKind::Method:
      return "method";
    case SugarKind::Type:
      return "type";
    case SugarKind::Exception:
      return "exception";
    default:
      return "iterable";
  }
}

SugarPtr Emitter::find_variable(const std::string& name) {
  for (Frame* f = frame_; f; f = f->parent) {
    if (auto it = f->variables.find(name); it != f->variables.end()) return it->second;
    if (f->errors.count(name)) return nullptr;
  }
  if (!outer_ || is_hidden(name)) return nullptr;
  SugarPtr s = outer_->find_variable(name);
  if (!s) return nullptr;
  if (s->value) {  // of the graph around this one: an input of the closure
    capture_->add_input(s->value);
    auto inner = std::make_shared<Sugar>(*s);
    inner->value = g_.add_input(name, s->value->type());
    s = inner;
  }
  return s->items.empty() ? root_.variables[name] = s : s;
}

SugarPtr Emitter::find_outside(const std::string& name) {
  for (Frame* f = frame_->parent; f; f = f->parent) {
    if (f->level >= frame_->level) continue;
    if (auto it = f->variables.find(name); it != f->variables.end()) return it->second;
    if (f->errors.count(name)) return nullptr;
  }
  return nullptr;
}

SugarPtr Emitter::lookup(const std::string& name, const SourceRange& range) {
  if (SugarPtr s = find_variable(name)) return s;
  for (Frame* f = frame_; f; f = f->parent) {
    if (auto it = f->errors.find(name); it != f->errors.end())
      throw ErrorReport(range, it->second + "and was used here");
  }
  if (SugarPtr s = global(name, range)) return s;
  throw ErrorReport(range, "undefined value " + name);
}

Value* Emitter::constant(IValue v, const SourceRange& range, TypePtr type) {
  return g_.insert_constant(std::move(v), range, std::move(type));
}

Value* Emitter::uninitialized(const SourceRange& range, TypePtr type) {
  return emit_node(g_, range, "prim::Uninitialized", {}, std::move(type));
}

void Emitter::set_hidden(const std::string& name, Value* v) {
  frame_->variables[name] = as_sugar(v);
}

std::string Emitter::flag(const char* what) const {
  if (loops_ == 0) return "$returned";
  return std::string("$") + what + std::to_string(loops_);
}

void Emitter::set_variable(const std::string& name, SugarPtr s, const SourceRange& range,
                           const TypePtr& annotation) {
  Value* v = s->is(SugarKind::Value) ? s->value : nullptr;
  if (SugarPtr outside = find_outside(name)) {
    TENON_PROGRAM_CHECK(
        !annotation || (v && outside->value && same_type(*annotation, *outside->value->type())),
        range, "Attempting to declare and annotate the type of variable '", name,
        "' that is already defined in an outer block");
    TENON_PROGRAM_CHECK(v, range, "Cannot re-assign '", name, "' to a value of type ",
                        kind_name(*s), " because ", name,
                        " is not a first-class value.  Only reassignments to first-class values "
                        "are allowed");
    TENON_PROGRAM_CHECK(outside->is(SugarKind::Value), range, "Cannot re-assign '", name,
                        "' because it has type ", kind_name(*outside), " and ", name,
                        " is not a first-class value.  Only reassignments to first-class values "
                        "are allowed");
    const TypePtr type = outside->value->type();
    v = convert(v, type, g_, range, true);
    const bool lists = type->is(TypeKind::List) && v->type()->is(TypeKind::List);
    TENON_PROGRAM_CHECK(is_subtype(*v->type(), *type), range, "Variable '", name,
                        "' previously had type ", type->annotation(),
                        " but is now being assigned to a value of type ", v->type()->annotation(),
                        lists ? "\nEmpty lists default to List[Tensor]. Add a variable annotation "
                                "to the assignment to create an empty list of another type"
                              : "");
    s = as_sugar(v);
  } else if (annotation) {
    TENON_PROGRAM_CHECK(v, range, "Variable '", name, "' is annotated, but ", kind_name(*s),
                        " is not a value");
    v = convert(v, annotation, g_, range, true);
    TENON_PROGRAM_CHECK(is_subtype(*v->type(), *annotation), range, "Variable '", name,
                        "' is annotated with type ", annotation->annotation(),
                        " but is being assigned to a value of type ", v->type()->annotation());
    if (!same_type(*v->type(), *annotation)) {
      v = v->type()->is(TypeKind::None) && v->node()->is("prim::Constant")
              ? constant(IValue(), range, annotation)
              : emit_node(g_, range, "prim::unchecked_cast", {v}, annotation);
    }
    s = as_sugar(v);
  }
  if (v && v->name().empty() && !v->node()->is("prim::Constant")) v->set_name(name);
  frame_->errors.erase(name);
  frame_->variables[name] = std::move(s);
}

void Emitter::refine(const std::vector<Refinement>& refinements, const SourceRange& range) {
  for (const Refinement& r : refinements) {
    const SugarPtr s = find_variable(r.name);
    if (!s || !s->is(SugarKind::Value) || same_type(*s->value->type(), *r.type)) continue;
    frame_->variables[r.name] =
        as_sugar(emit_node(g_, range, "prim::unchecked_cast", {s->value}, r.type));
  }
}

Emitter::Branch Emitter::new_branch(Node* node) {
  auto frame = std::make_unique<Frame>();
  frame->parent = frame_;
  frame->level = frame_->level + 1;
  return {node->add_block(), std::move(frame), {}};
}

void Emitter::in_branch(Branch& branch, const std::function<void()>& f) {
  Graph::InsertPoint point(g_, branch.block);
  Frame* was = frame_;
  frame_ = branch.frame.get();
  f();
  frame_ = was;
}

Value* Emitter::value_in(Branch& branch, const std::string& name) {
  Value* v = nullptr;
  in_branch(branch, [&] {
    const SugarPtr s = find_variable(name);
    if (s && s->is(SugarKind::Value)) v = s->value;
  });
  return v;
}

// The hidden variables: flags, which are false where they were not set, and the result.
static bool is_result(const std::string& name) { return name == "$value"; }

bool Emitter::merge_variable(const std::string& name, Node* node, Branch& a, Branch& b,
                             const SourceRange& range) {
  Value* value[2] = {value_in(a, name), value_in(b, name)};
  Branch* side[2] = {&a, &b};
  TypePtr type;
  if (is_hidden(name)) {
    for (int i : {0, 1}) {
      if (value[i]) continue;
      in_branch(*side[i], [&] {
        value[i] = is_result(name) ? uninitialized(range, nullptr) : constant(false, range);
      });
      if (is_result(name)) return_values_.push_back(value[i]);
    }
    if (!is_result(name)) type = Type::boolean();
  } else {
    bool visible = false,
         in_loop = false;  // whether the next round or what follows the loop sees it
    for (Frame* f = frame_; f; f = f->parent) {
      if (in_loop) visible |= f->variables.count(name) != 0;
      in_loop |= f->is_loop;
    }
    bool dead[2];
    for (int i : {0, 1}) {
      const Flow& flow = side[i]->flow;
      dead[i] = !flow.next && !(visible && (flow.breaks || flow.continues));
      if (value[i] || dead[i]) continue;
      frame_->errors[name] = name + " is not defined in the " + (i == 0 ? "true" : "false") +
                             " branch:\n" + range.highlight();
      return false;
    }
    if (dead[0] && dead[1]) return false;
    for (int i : {0, 1}) {
      if (!dead[i]) continue;
      const TypePtr other = value[1 - i]->type();
      if (value[i] && is_subtype(*value[i]->type(), *other)) continue;
      in_branch(*side[i], [&] { value[i] = uninitialized(range, other); });
    }
    const SugarPtr before = find_variable(name);
    type = unify(value[0]->type(), value[1]->type());
    if (before && before->is(SugarKind::Value)) {
      const TypePtr& full = before->value->type();
      if (!type && is_subtype(*value[0]->type(), *full) && is_subtype(*value[1]->type(), *full))
        type = full;
      // Both branches have the value from before; only its type was narrowed in one.
      if (type && uncast(value[0]) == uncast(value[1]) &&
          uncast(value[0]) == uncast(before->value) && same_type(*type, *full))
        return false;
    }
    if (!type) {
      const std::string text = "Type mismatch: " + name + " is set to type " +
                               value[0]->type()->annotation() + " in the true branch and type " +
                               value[1]->type()->annotation() + " in the false branch";
      if (before) throw ErrorReport(range, text);
      frame_->errors[name] = text + ":\n" + range.highlight();
      return false;
    }
  }
  if (value[0] == value[1]) {
    frame_->variables[name] = as_sugar(value[0]);
    return true;
  }
  a.block->register_output(value[0]);
  b.block->register_output(value[1]);
  Value* out = node->add_output(type);
  if (is_result(name)) return_values_.push_back(out);
  if (!is_hidden(name)) out->set_name(name);
  frame_->variables[name] = as_sugar(out);
  frame_->errors.erase(name);
  return true;
}

void Emitter::merge(Node* node, Branch& a, Branch& b, const SourceRange& range) {
  std::set<std::string> names;
  for (const Frame* f : {a.frame.get(), b.frame.get()}) {
    for (const auto& [name, sugar] : f->variables) {
      if (sugar->is(SugarKind::Value)) {
        names.insert(name);
      } else if (!(f == a.frame.get() ? b : a).flow.next && !sugar->value && sugar->items.empty() &&
                 (f == a.frame.get() ? a : b).flow.next) {
        frame_->variables[name] = sugar;
      }
    }
    for (const auto& [name, why] : f->errors) {
      if (!find_variable(name)) frame_->errors.emplace(name, why);
    }
  }
  for (const std::string& name : names) merge_variable(name, node, a, b, range);
}

}  // namespace tenon::jit::language
