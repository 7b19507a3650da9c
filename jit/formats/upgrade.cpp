// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/upgrade.h"

#include <map>

namespace tenon::jit::formats {
namespace {

// Before version 4 a division of integers gave an integer, before version 5 full() of an integer a
// tensor of the default dtype.
constexpr const char* kText = R"(
def div_Tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    out = torch.true_divide(self, other)
  else:
    out = torch.divide(self, other, rounding_mode='trunc')
  return out
def div_Scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    out = torch.true_divide(self, other)
  else:
    out = torch.divide(self, other, rounding_mode='trunc')
  return out
def div__Tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    out = self.true_divide_(other)
  else:
    out = self.divide_(other, rounding_mode='trunc')
  return out
def div__Scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    out = self.true_divide_(other)
  else:
    out = self.divide_(other, rounding_mode='trunc')
  return out
def full(size: List[int], fill_value: number, dtype: Optional[int], layout: Optional[int],
         device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
  if dtype is None:
    out = torch.full(size, float(fill_value), layout=layout, device=device, pin_memory=pin_memory)
  else:
    out = torch.full(size, fill_value, dtype=dtype, layout=layout, device=device,
                     pin_memory=pin_memory)
  return out
)";

struct Upgrade {
  const char* function;
  int64_t before;  // the version that changed it
};

const Upgrade* find_upgrade(const Node& n, int64_t version) {
  static const std::map<std::string, Upgrade, std::less<>> kUpgrades = {
      {"aten::div.Tensor", {"div_Tensor", 4}},
      {"aten::div.Scalar", {"div_Scalar", 4}},
      {"aten::div_.Tensor", {"div__Tensor", 4}},
      {"aten::div_.Scalar", {"div__Scalar", 4}},
      {"aten::full", {"full", 5}}};
  if (!n.op) return nullptr;
  const std::string& overload = n.op->schema.overload;
  const auto it = kUpgrades.find(overload.empty() ? n.kind() : n.kind() + "." + overload);
  return it != kUpgrades.end() && version < it->second.before ? &it->second : nullptr;
}

void replace(Node& n, const Function& f) {
  Graph& g = *n.graph();
  const Graph::InsertPoint at(g, &n);
  std::map<const Value*, Value*> map;
  const auto& inputs = f.graph()->inputs();
  for (std::size_t i = 0; i < inputs.size() && i < n.inputs().size(); ++i)
    map[inputs[i]] = n.input(i);
  n.output()->replace_all_uses_with(g.inline_block(*f.graph()->block(), map).at(0));
  n.destroy();
}

bool upgrade(const Block& b, int64_t version, CompilationUnit& unit) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (const Block* inner : n->blocks()) changed |= upgrade(*inner, version, unit);
    if (n->has("Subgraph")) {
      const auto& g = std::get<std::shared_ptr<Graph>>(n->attribute("Subgraph"));
      changed |= upgrade(*g->block(), version, unit);
    }
    const Upgrade* how = find_upgrade(*n, version);
    if (!how) continue;
    replace(*n, unit.get_function(how->function));
    changed = true;
  }
  return changed;
}

}  // namespace

void upgrade_operators(Function& f, int64_t version) {
  constexpr int64_t kUnchangedSince = 5;
  if (version >= kUnchangedSince) return;
  static CompilationUnit* const unit = [] {
    auto* made = new CompilationUnit;
    made->define(kText);
    return made;
  }();
  if (upgrade(*f.graph()->block(), version, *unit)) f.set_graph(f.graph());
}

}  // namespace tenon::jit::formats
