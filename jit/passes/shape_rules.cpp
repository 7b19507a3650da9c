// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/shape_rules.h"

#include <algorithm>
#include <set>

#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

// They change what a tensor is, not only what is in it: values before and after are one tensor.
bool changes_metadata(const Block& b) {
  static const std::set<std::string, std::less<>> kinds{
      "aten::t_",       "aten::transpose_", "aten::swapdims_", "aten::swapaxes_",
      "aten::squeeze_", "aten::unsqueeze_", "aten::resize_",   "aten::resize_as_",
      "aten::set_",     "aten::set_data",   "aten::movedim_",  "aten::as_strided_",
      "aten::permute_", "prim::SetAttr"};
  for (const Node* n : b.nodes()) {
    if (kinds.count(n->kind())) return true;
    for (const Block* inner : n->blocks())
      if (changes_metadata(*inner)) return true;
  }
  return false;
}

}  // namespace

int64_t ShapeRules::symbol(const std::string& words) {
  return symbols_.try_emplace(words, -1 - static_cast<int64_t>(symbols_.size())).first->second;
}
int64_t ShapeRules::fresh(const Value* v) { return symbol(core::join("value ", v->id())); }

TensorFacts ShapeRules::unknown(const Value* v) {
  TensorFacts t;
  t.lead = fresh(v);
  return t;
}

TensorFacts ShapeRules::get(const Value* v) {
  const auto it = facts_.tensors_.find(v);
  return it != facts_.tensors_.end() ? it->second : unknown(v);
}

void ShapeRules::split_lead(TensorFacts& t, std::size_t n) {
  while (t.lead != 0 && t.last.size() < n) {
    t.last.insert(t.last.begin(), symbol(core::join("last of ", t.lead)));
    t.lead = symbol(core::join("before the last of ", t.lead));
  }
}

// Null: not known, or not there.
int64_t* ShapeRules::dim_of(TensorFacts& t, int64_t dim) {
  if (dim < -static_cast<int64_t>(kMaxRank)) return nullptr;
  if (dim >= 0 && t.lead != 0) return nullptr;
  if (dim < 0) split_lead(t, static_cast<std::size_t>(-dim));
  const auto n = static_cast<int64_t>(t.last.size());
  const int64_t at = dim < 0 ? dim + n : dim;
  return at >= 0 && at < n ? &t.last[static_cast<std::size_t>(at)] : nullptr;
}

std::optional<int64_t> ShapeRules::number(const Value* v) {
  if (const auto c = int_of(v)) return c;
  const auto it = facts_.numbers_.find(v);
  if (it == facts_.numbers_.end()) return std::nullopt;
  return it->second;
}

// -1 stands for itself: symbols of sizes are below it.
std::optional<ShapeRules::Dims> ShapeRules::dims(const Value* list) {
  if (aliases_.has_writers(list)) return std::nullopt;
  if (const auto it = lists_.find(list); it != lists_.end()) return it->second;
  Dims out;
  if (!list->node()->is("prim::ListConstruct")) {
    const auto given = ints_of(list);
    const bool sizes =
        given && std::all_of(given->begin(), given->end(), [](int64_t d) { return d >= -1; });
    return sizes ? given : std::nullopt;
  }
  for (const Value* v : list->node()->inputs()) {
    const auto n = number(v);
    if (!n || (int_of(v) && *n < -1)) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

void ShapeRules::run() {
  (void)symbol("-1");  // symbols begin at -2
  facts_.usable_ = !changes_metadata(*graph_.block());
  if (facts_.usable_) block(*graph_.block());
}

void ShapeRules::block(const Block& b) {
  for (const Node* n : b.nodes()) {
    for (const Block* inner : n->blocks()) block(*inner);
    if (n->is("prim::If"))
      branches(*n);
    else if (!n->is("prim::Loop"))
      node(*n);
  }
}

// What both blocks agree about. A check that raises tells what holds after it.
void ShapeRules::branches(const Node& n) {
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    const Value *a = n.block(0)->outputs()[i], *b = n.block(1)->outputs()[i];
    if (!n.output(i)->type()->is(TypeKind::Tensor)) continue;
    const TensorFacts x = get(a), y = get(b);
    TensorFacts both = unknown(n.output(i));
    if (x.lead == y.lead && x.last == y.last) both = x;
    both.dtype = x.dtype == y.dtype ? x.dtype : std::nullopt;
    set(n.output(i), both);
  }
  check(n);
}

namespace {

bool raises(const Block& b) {
  for (const Node* n : b.nodes())
    if (n->is("prim::RaiseException")) return true;
  return false;
}

}  // namespace

// if dim(x) != 4: raise
void ShapeRules::check(const Node& n) {
  const Node& condition = *n.input(0)->node();
  const bool equal = condition.is("aten::eq"), differs = condition.is("aten::ne");
  if (n.owning_block() != graph_.block() || !(equal || differs) ||
      !raises(*n.block(differs ? 0 : 1)))
    return;
  const Node& dim = *condition.input(0)->node();
  const auto rank = int_of(condition.input(1));
  if (!dim.is("aten::dim") || !rank || *rank < 0 || *rank > static_cast<int64_t>(kMaxRank)) return;
  refine(dim.input(0), static_cast<std::size_t>(*rank));
}

// The tensor has this rank: so have all whose leading sizes are parts of its own.
void ShapeRules::refine(const Value* v, std::size_t rank) {
  const TensorFacts t = get(v);
  if (t.lead == 0 || t.last.size() > rank) return;
  facts_.tensors_[v] = t;
  Dims leads, lasts;  // leads[i] is lasts[n - 1], ..., lasts[i]
  int64_t lead = t.lead;
  for (std::size_t i = t.last.size(); i < rank; ++i) {
    leads.push_back(lead);
    lasts.push_back(symbol(core::join("last of ", lead)));
    lead = symbol(core::join("before the last of ", lead));
  }
  leads.push_back(lead);
  for (auto& [other, f] : facts_.tensors_) {
    const auto at = std::find(leads.begin(), leads.end(), f.lead);
    if (f.lead == 0 || at == leads.end()) continue;
    const Dims front(lasts.begin() + (at - leads.begin()), lasts.end());
    f.last.insert(f.last.begin(), front.rbegin(), front.rend());
    f.lead = 0;
  }
}

void ShapeRules::node(const Node& n) {
  if (n.is("prim::Constant")) return constant(n);
  const auto rule = rules().find(n.kind());
  if (rule != rules().end() && !n.outputs().empty()) (this->*rule->second)(n);
}

// A list of tensors joined: the sizes but one are those of each.
void ShapeRules::cat(const Node& n) {
  const auto dim = int_of(n.input(1));
  const Node& list = *n.input(0)->node();
  if (!dim || !list.is("prim::ListConstruct") || list.inputs().empty()) return;
  if (aliases_.has_writers(n.input(0))) return;
  TensorFacts t = get(list.input(0));
  int64_t* d = dim_of(t, *dim);
  if (!d) return;
  *d = symbol(core::join("joined ", n.output()->id()));
  for (const Value* v : list.inputs())
    if (get(v).dtype != t.dtype) t.dtype = std::nullopt;
  set(n.output(), std::move(t));
}

// What is known of a list holds for its elements, but for the size along which it was cut.
void ShapeRules::pieces(const Node& n) {
  if (aliases_.has_writers(n.output()) || n.inputs().size() < 2) return;
  TensorFacts t = get(n.input(0));
  const Value* dim = argument(n, "dim");
  const auto at = dim ? int_of(dim) : std::nullopt;
  int64_t* d = at ? dim_of(t, *at) : nullptr;
  if (!d) return;
  *d = symbol(core::join("cut ", n.output()->id()));
  set(n.output(), std::move(t));
}

void ShapeRules::piece(const Node& n) {
  const auto it = facts_.tensors_.find(n.input(0));
  if (it == facts_.tensors_.end() || !n.input(0)->type()->is(TypeKind::List)) return;
  for (const Value* v : n.outputs()) {
    TensorFacts t = it->second;
    const std::string cut = core::join("cut ", n.input(0)->id());
    const int64_t general = symbol(cut);
    for (int64_t& d : t.last)
      if (d == general) d = symbol(core::join(cut, " ", v->id()));
    set(v, std::move(t));
  }
}

void ShapeRules::constant(const Node& n) {
  const auto t = tensor_of(n.output());
  if (!t || t->layout() != kStrided) return;
  TensorFacts f;
  f.dtype = t->scalar_type();
  f.last.assign(t->sizes().begin(), t->sizes().end());
  set(n.output(), std::move(f));
}

ShapeFacts::ShapeFacts(const Graph& g) { ShapeRules(g, *this).run(); }

bool ShapeFacts::keeps_rank(const Node& n) {
  if (!n.op || n.outputs().size() != 1 || !n.output()->type()->is(TypeKind::Tensor)) return false;
  return ShapeRules::keeps_rank(n.kind());
}

}  // namespace tenon::jit
