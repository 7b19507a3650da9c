// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <algorithm>
#include <sstream>

#include "cases.h"
#include "programs.h"
#include "table.h"
#include "tenon/ops.h"

namespace tenon::command {
namespace {

constexpr std::size_t kRows = 10;

std::string place_of(const jit::SourceRange& r) {
  if (!r.source) return "";
  const std::string line = std::to_string(r.line());
  return r.source->file.empty() ? "line " + line : r.source->file + ":" + line;
}

bool gives_tensors(const jit::Node& n) { return !n.is("prim::Constant") && !n.is("prim::GetAttr"); }

// Calls `keep` with each tensor that a node gives, and its place in `results`.
std::shared_ptr<jit::Graph> keep_results(const jit::Graph& program, const jit::Operator& keep,
                                         std::vector<NodeResult>& results) {
  std::shared_ptr<jit::Graph> g = program.copy();
  for (jit::Node* n : g->block()->nodes()) {
    if (!gives_tensors(*n)) continue;
    const jit::Graph::InsertPoint after(*g, n->next());
    for (jit::Value* v : n->outputs()) {
      if (!v->type() || !v->type()->is(jit::TypeKind::Tensor)) continue;
      jit::Value* place = g->insert_constant(static_cast<int64_t>(results.size()));
      jit::Node* call = g->insert(g->create(keep.schema.name, {v, place}));
      call->op = &keep;
      call->output()->set_type(jit::Type::none());
      results.push_back({"%" + v->debug_name(), n->kind(), place_of(n->range), {}});
    }
  }
  return g;
}

bool fits(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

std::string describe(const NodeComparison& c) {
  std::ostringstream out;
  out << c.node->value << " = " << c.node->kind << ", "
      << core::dtype_info(c.node->tensor.scalar_type()).name << " " << c.node->tensor.sizes();
  if (!c.node->place.empty()) out << ", " << c.node->place;
  return out.str();
}

}  // namespace

std::vector<NodeResult> run_nodes(const jit::Module& frozen, const std::string& method,
                                  std::vector<IValue> arguments) {
  const jit::Function& f = frozen.get_method(method).function();
  std::vector<NodeResult> results;
  jit::Operator keep;
  keep.schema = jit::parse_schema("tenon::keep(Tensor? x, int place) -> None");
  keep.has_side_effects = true;
  keep.registered = [&](jit::Stack& stack) {
    const int64_t place = jit::pop(stack).toInt();
    const IValue x = jit::pop(stack);
    if (!x.isNone()) results[static_cast<std::size_t>(place)].tensor = clone(x.toTensor());
    stack.emplace_back();
  };
  const jit::Function run(f.qualified_name(), keep_results(*f.graph(), keep, results), f.schema());
  arguments.insert(arguments.begin(), frozen._ivalue());
  jit::Stack stack = run.bind(std::move(arguments), {});
  run.run(stack);
  const auto absent = [](const NodeResult& r) { return !r.tensor.defined(); };
  results.erase(std::remove_if(results.begin(), results.end(), absent), results.end());
  return results;
}

std::vector<NodeComparison> compare_in_order(const std::vector<NodeResult>& got,
                                             const std::vector<NodeResult>& expected) {
  TENON_CHECK(got.size() == expected.size(), Error, "run: the program has ", got.size(),
              " nodes with tensors there, and ", expected.size(), " on the host");
  std::vector<NodeComparison> out;
  for (std::size_t i = 0; i < got.size(); ++i) {
    NodeComparison c{&got[i]};
    if (fits(got[i].tensor, expected[i].tensor)) {
      c.other = &expected[i];
      c.far = relative_difference(got[i].tensor, expected[i].tensor);
    }
    out.push_back(c);
  }
  return out;
}

std::vector<NodeComparison> compare_with_closest(const std::vector<NodeResult>& got,
                                                 const std::vector<NodeResult>& expected) {
  std::vector<NodeComparison> out;
  for (const NodeResult& node : got) {
    NodeComparison c{&node};
    for (const NodeResult& e : expected) {
      if (!fits(node.tensor, e.tensor)) continue;
      const double far = relative_difference(node.tensor, e.tensor);
      if (c.other && !(far < c.far)) continue;
      c.other = &e;
      c.far = far;
    }
    out.push_back(c);
  }
  return out;
}

std::string report_nodes(const std::vector<NodeComparison>& nodes, double allowed) {
  std::vector<NodeComparison> compared;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(compared),
               [](const NodeComparison& c) { return c.other; });
  std::ostringstream out;
  const auto first = std::find_if(compared.begin(), compared.end(),
                                  [&](const NodeComparison& c) { return !(c.far <= allowed); });
  if (first != compared.end()) out << "the first node that is off: " << describe(*first) << "\n";
  std::stable_sort(compared.begin(), compared.end(),
                   [](const auto& a, const auto& b) { return a.far > b.far; });
  Table table({"OFF BY", "NODE", "COMPARED WITH"});
  for (std::size_t i = 0; i < std::min(kRows, compared.size()); ++i) {
    const NodeComparison& c = compared[i];
    table.add({format_number("%.1e", c.far), describe(c), c.other->value + " = " + c.other->kind});
  }
  if (!table.empty()) out << "\n" << table.text();
  out << compared.size() << " of " << nodes.size() << " results of nodes compared\n";
  return out.str();
}

}  // namespace tenon::command
