// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/frozen/freezer.h"
#include "jit/frozen/frozen.h"
#include "jit/passes/run_passes.h"
#include "tenon/autograd/mode.h"
#include "tenon/jit/freeze.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

bool casts(const Block& b) {
  for (const Node* n : b.nodes()) {
    if (n->is("prim::enter_autocast") || n->is("exported::autocast_mode")) return true;
    for (const Block* inner : n->blocks())
      if (casts(*inner)) return true;
  }
  return false;
}

// Of methods without autocast: what passes fold and join would have other dtypes.
template <class F>
void each_graph(const Module& m, F f) {
  for (const Method& method : m.get_methods()) {
    if (casts(*method.graph()->block())) continue;
    f(*method.graph(), method.name());
    method.function().set_graph(method.graph());
  }
}

void check_evaluates(const Module& module) {
  TENON_CHECK(
      !module.hasattr("training") || !module.is_training(), Error,
      "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
      "before freezing");
}

}  // namespace

Module freeze(const Module& module, const std::optional<std::vector<std::string>>& preserved,
              bool optimize_numerics) {
  check_evaluates(module);
  const NoGradGuard no_grad;
  Module out = Freezer(module, preserved.value_or(std::vector<std::string>())).run();
  each_graph(out, [&](Graph& g, std::string_view name) {
    if (optimize_numerics && run_passes(g, numeric_passes(), name))
      run_passes_repeatedly(g, frozen_passes(), name);
  });
  return out;
}

Module freeze_with_operators(const Module& module) {
  const NoGradGuard no_grad;
  return Freezer(module, {}, true).run();
}

Module optimize_for_inference(const Module& module, const std::vector<std::string>& other_methods) {
  const NoGradGuard no_grad;
  Module out = is_frozen(module) ? module.clone() : freeze(module, other_methods);
  each_graph(out, [](Graph& g, std::string_view name) { run_passes(g, inference_passes(), name); });
  return out;
}

}  // namespace tenon::jit
