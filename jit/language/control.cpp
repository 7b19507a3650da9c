// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops.
#include <limits>

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

Flow either(const Flow& a, const Flow& b) {
  return {a.next || b.next, a.returns || b.returns, a.breaks || b.breaks,
          a.continues || b.continues};
}

void target_names(const Expr& target, std::set<std::string>& out) {
  if (target.kind == ExprKind::Name) out.insert(target.text);
  if (target.kind == ExprKind::Starred) target_names(*target.a, out);
  if (target.kind == ExprKind::Tuple || target.kind == ExprKind::List) {
    for (const ExprPtr& e : target.args) target_names(*e, out);
  }
}

}  // namespace

void assigned_names(const Body& body, std::set<std::string>& out) {
  for (const StmtPtr& s : body) {
    for (const ExprPtr& t : s->targets) target_names(*t, out);
    for (const WithItem& i : s->items) {
      if (i.target) target_names(*i.target, out);
    }
    assigned_names(s->body, out);
    assigned_names(s->orelse, out);
  }
}

bool contains_return(const Body& body) {
  for (const StmtPtr& s : body) {
    if (s->kind == StmtKind::Return || contains_return(s->body) || contains_return(s->orelse))
      return true;
  }
  return false;
}

Flow Emitter::emit_if(const Stmt& s, Statements& rest) {
  const Condition c = condition(*s.value);
  if (c.known) {
    refine(*c.known ? c.if_true : c.if_false, s.value->range);
    return body(*c.known ? s.body : s.orelse);
  }
  Node* n = g_.insert(g_.create("prim::If", {c.value}, 0));
  n->range = s.range;
  Branch a = new_branch(n), b = new_branch(n);
  in_branch(a, [&] {
    refine(c.if_true, s.value->range);
    a.flow = body(s.body);
  });
  in_branch(b, [&] {
    refine(c.if_false, s.value->range);
    b.flow = body(s.orelse);
  });
  const bool a_leaves = !a.flow.next && a.flow.leaves();
  const bool b_leaves = !b.flow.next && b.flow.leaves();
  Branch& on = a_leaves ? b : a;
  if (a_leaves != b_leaves && on.flow.next && rest.first != rest.second) {
    in_branch(on, [&] {
      --frame_->level;  // what follows the if is not deeper than the if
      const Flow before = on.flow;
      on.flow = before.leaves() ? guard(s, rest) : statements(rest);
      on.flow = either(on.flow, {false, before.returns, before.breaks, before.continues});
    });
    rest.first = rest.second;
  }
  merge(n, a, b, s.range);
  return either(a.flow, b.flow);
}

// What follows a statement that may have left.
Flow Emitter::guard(const Stmt& s, Statements& rest) {
  const SugarPtr skip = find_variable(flag("skip"));
  Node* n = g_.insert(g_.create("prim::If", {skip->value}, 0));
  n->range = s.range;
  Branch a = new_branch(n), b = new_branch(n);
  a.flow.next = false;
  a.flow.returns = a.flow.breaks = a.flow.continues = loops_ > 0;
  if (loops_ == 0) a.flow.returns = true;
  in_branch(b, [&] {
    --frame_->level;
    b.flow = statements(rest);
  });
  rest.first = rest.second;
  merge(n, a, b, s.range);
  return b.flow;
}

Emitter::Loop Emitter::begin_loop(const Stmt& s, Value* limit, Value* condition) {
  Loop loop;
  std::set<std::string> names;
  assigned_names(s.body, names);
  for (const ExprPtr& t : s.targets) target_names(*t, names);
  loop.returns = contains_return(s.body);
  if (loop.returns) {
    if (!find_variable("$returned")) set_hidden("$returned", constant(false, s.range));
    if (!find_variable("$value")) {
      Value* v = uninitialized(s.range, nullptr);
      return_values_.push_back(v);
      set_hidden("$value", v);
    }
    names.insert({"$returned", "$value"});
  }
  loop.frame = std::make_unique<Frame>();
  loop.frame->parent = frame_;
  loop.frame->level = frame_->level + 1;
  loop.frame->is_loop = true;
  loop.node = g_.create("prim::Loop", {limit, condition}, 0);
  loop.node->range = s.range;
  Block* block = loop.node->add_block();
  block->add_input({}, Type::integer());
  for (const std::string& name : names) {
    const SugarPtr before = find_variable(name);
    if (!before || !before->is(SugarKind::Value)) continue;
    loop.carried.push_back(name);
    loop.node->add_input(before->value);
    const bool hidden = name[0] == '$';
    Value* in = block->add_input(hidden ? std::string() : name, before->value->type());
    if (name == "$value") return_values_.push_back(in);
    loop.frame->variables[name] = as_sugar(in);
  }
  g_.insert(loop.node);
  ++loops_;
  return loop;
}

Value* Emitter::next_condition(const Flow& flow, const SourceRange& range,
                               const std::function<Value*()>& condition) {
  if (!flow.breaks && !flow.returns) return condition();
  if (!flow.next && !flow.continues) return constant(false, range);
  Value* stop = find_variable(flag("stop"))->value;
  Node* n = g_.insert(g_.create("prim::If", {stop}, 1));
  n->range = range;
  n->output()->set_type(Type::boolean());
  Branch a = new_branch(n), b = new_branch(n);
  in_branch(a, [&] { a.block->register_output(constant(false, range)); });
  in_branch(b, [&] { b.block->register_output(condition()); });
  return n->output();
}

Flow Emitter::end_loop(Loop& loop, const Flow& flow, const Stmt& s,
                       const std::function<Value*()>& condition) {
  Block* block = loop.node->block(0);
  {
    Graph::InsertPoint point(g_, block);
    Frame* was = frame_;
    frame_ = loop.frame.get();
    block->register_output(next_condition(flow, s.range, condition));
    for (std::size_t i = 0; i < loop.carried.size(); ++i) {
      const std::string& name = loop.carried[i];
      const SugarPtr last = find_variable(name);
      TENON_PROGRAM_CHECK(last && last->is(SugarKind::Value), s.range, "'", name,
                          "' has no value at the end of the loop");
      Value* v = last->value;
      const TypePtr type = block->inputs()[i + 1]->type();
      TENON_PROGRAM_CHECK(!type || is_subtype(*v->type(), *type), s.range, "Variable '", name,
                          "' previously had type ", type->annotation(), " but has type ",
                          v->type()->annotation(), " at the end of the loop");
      block->register_output(v);
    }
    frame_ = was;
  }
  --loops_;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const std::string& name = loop.carried[i];
    Value* out = loop.node->add_output(block->inputs()[i + 1]->type());
    if (name == "$value") return_values_.push_back(out);
    if (name[0] != '$') out->set_name(name);
    frame_->variables[name] = as_sugar(out);
  }
  for (const auto& [name, sugar] : loop.frame->variables) {
    if (!find_variable(name) && name[0] != '$')
      frame_->errors.emplace(
          name, name + " is assigned only inside of the loop:\n" + s.range.highlight());
  }
  Flow after;
  after.returns = flow.returns;
  if (after.returns && loops_ > 0) {
    Value* returned = find_variable("$returned")->value;
    set_hidden(flag("skip"), returned);
    set_hidden(flag("stop"), returned);
  }
  return after;
}

Flow Emitter::emit_for(const Stmt& s) {
  const Iteration over = iterate(sugared(*s.value), s.value->range);
  if (over.unrolled) return unrolled_for(s, over);
  Loop loop = begin_loop(s, over.length, constant(true, s.range));
  Block* block = loop.node->block(0);
  Flow flow;
  {
    Graph::InsertPoint point(g_, block);
    Frame* was = frame_;
    frame_ = loop.frame.get();
    assign_to(*s.targets[0], over.at(block->inputs()[0]), s.targets[0]->range);
    flow = body(s.body);
    frame_ = was;
  }
  return end_loop(loop, flow, s, [&] { return constant(true, s.range); });
}

Flow Emitter::emit_while(const Stmt& s) {
  const Condition first = condition(*s.value);
  if (first.known && !*first.known) return {};
  Value* limit = constant(std::numeric_limits<int64_t>::max(), s.range);
  Loop loop = begin_loop(s, limit, first.value);
  Flow flow;
  {
    Graph::InsertPoint point(g_, loop.node->block(0));
    Frame* was = frame_;
    frame_ = loop.frame.get();
    refine(first.if_true, s.value->range);
    flow = body(s.body);
    frame_ = was;
  }
  return end_loop(loop, flow, s, [&] { return condition(*s.value).value; });
}

// Over modules and tuples: the body is compiled for each item.
Flow Emitter::unrolled_for(const Stmt& s, const Iteration& over) {
  auto frame = std::make_unique<Frame>();
  frame->parent = frame_;
  frame->level = frame_->level;
  frame->is_loop = true;
  Frame* was = frame_;
  frame_ = frame.get();
  ++loops_;
  Flow all;
  std::function<Flow(std::size_t)> round = [&](std::size_t i) -> Flow {
    Recursion guard(s.range);
    set_hidden(flag("skip"), constant(false, s.range));
    assign_to(*s.targets[0], over.items[i], s.targets[0]->range);
    const Flow f = body(s.body);
    if (i + 1 == over.items.size() || (!f.next && !f.continues)) return f;
    if (!f.breaks && !f.returns) return either(f, round(i + 1));
    Node* n = g_.insert(g_.create("prim::If", {find_variable(flag("stop"))->value}, 0));
    n->range = s.range;
    Branch a = new_branch(n), b = new_branch(n);
    a.flow = f;
    a.flow.next = false;
    in_branch(b, [&] {
      --frame_->level;
      b.flow = round(i + 1);
    });
    merge(n, a, b, s.range);
    return either(f, b.flow);
  };
  if (!over.items.empty()) all = round(0);
  --loops_;
  frame_ = was;
  for (auto& [name, sugar] : frame->variables) {
    if (name[0] != '$' || name == "$returned" || name == "$value") frame_->variables[name] = sugar;
  }
  if (all.returns && loops_ > 0) {
    Value* returned = find_variable("$returned")->value;
    set_hidden(flag("skip"), returned);
    set_hidden(flag("stop"), returned);
  }
  return {all.next || all.breaks || all.continues, all.returns, false, false};
}

}  // namespace tenon::jit::language
