// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/forward_ad.h"

#include <unordered_set>

#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::forward_ad {
namespace {

__thread uint64_t t_levels __attribute__((tls_model("initial-exec")));  // entered so far
__thread bool t_entered __attribute__((tls_model("initial-exec")));     // the last of them
// While unpack_dual goes backward: primals that were unpacked have no tangent.
__thread bool t_unpacking __attribute__((tls_model("initial-exec")));

struct UnpackingScope {
  UnpackingScope() : before(t_unpacking) { t_unpacking = true; }
  ~UnpackingScope() { t_unpacking = before; }
  bool before;
};

struct DualBackward final : NodeWith<1> {
  std::string name() const override { return "DualBackward"; }
  void run(Tensor* grads, Tensor* out) override { out[0] = std::move(grads[0]); }
  // A handle whose gradient is that of the dual tensor.
  Tensor handle() {
    Tensor t = primal.detach();
    set_history(t, *this, 0);
    return t;
  }
  Tensor primal, tangent;  // the first without history
  uint64_t level = 0;
};

struct PrimalBackward final : NodeWith<1> {
  std::string name() const override { return "PrimalBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    if (!t_unpacking) out[0] = std::move(grads[0]);
  }
};

struct Reached {
  std::vector<core::Ref<DualBackward>> duals;
  bool leaves = false;  // that require grad
};

// What a tensor depends on, by the path that a tangent takes.
Reached explore(const Tensor& tensor) {
  Reached out;
  const Edge root = gradient_edge(tensor);
  std::vector<Node*> todo = {root.function.get()};
  std::unordered_set<Node*> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    out.leaves |= n->accumulates;
    if (auto* dual = dynamic_cast<DualBackward*>(n); dual && dual->level == t_levels) {
      out.duals.push_back(core::Ref<DualBackward>::share(dual));
      out.leaves |= dual->tangent.requires_grad();
    }
    if (dynamic_cast<PrimalBackward*>(n)) {
      out.leaves = true;
      continue;
    }
    for (uint32_t i = 0; i < n->n_edges; ++i) {
      Node* next = n->edges[i].function.get();
      if (next && seen.insert(next).second) todo.push_back(next);
    }
  }
  return out;
}

// The derivative of sum_i J_i^T u by u, in the direction of the tangents: sum_i J_i tangent_i.
Tensor tangent_of(const Tensor& tensor, const Reached& reached) {
  const EnableGradGuard record;
  const Tensor u = zeros_like(tensor.detach()).requires_grad_();
  variable_list duals, grads, tangents;
  for (const auto& dual : reached.duals) duals.push_back(dual->handle());
  {
    const UnpackingScope unpacking;
    grads = grad({tensor}, duals, {u}, /*retain_graph=*/true, /*create_graph=*/true,
                 /*allow_unused=*/true);
  }
  variable_list linear;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined() || !grads[i].requires_grad()) continue;
    linear.push_back(grads[i]);
    tangents.push_back(reached.duals[i]->tangent);
  }
  if (linear.empty()) return zeros_like(u.detach());
  const Tensor out = grad(linear, {u}, tangents, /*retain_graph=*/reached.leaves,
                          /*create_graph=*/reached.leaves, /*allow_unused=*/true)[0];
  return out.defined() ? out : zeros_like(u.detach());
}

Tensor primal_of(const Tensor& tensor, bool recorded) {
  Tensor out = tensor.detach();
  if (!recorded) return out;
  auto node = core::Ref<PrimalBackward>::adopt(new PrimalBackward);
  connect(*node, 0, tensor);
  set_history(out, *node, 0);
  return out;
}

}  // namespace

uint64_t enter_dual_level() {
  TENON_CHECK(!t_entered, Error,
              "enter_dual_level: Nested forward mode AD is not supported; exit the level first");
  t_entered = true;
  ++t_levels;
  return 0;  // as torch counts the levels that are entered
}

void exit_dual_level(uint64_t level) {
  TENON_CHECK(t_entered && level == 0, Error, "exit_dual_level: level ", level,
              t_entered ? " is not the one that was entered last" : " is not entered");
  t_entered = false;
}

Tensor make_dual(const Tensor& tensor, const Tensor& tangent) {
  TENON_CHECK(t_entered, Error, "make_dual: no level exists; call enter_dual_level() first");
  TENON_CHECK(recording(), Error,
              "make_dual: nothing is recorded here, and a tangent follows what is recorded");
  TENON_CHECK(tensor.is_floating_point() || tensor.is_complex(), TypeError,
              "make_dual: expected a floating-point or complex tensor, got ",
              toString(tensor.scalar_type()));
  TENON_CHECK(tangent.sizes() == tensor.sizes(), ValueError, "make_dual: tangent has shape ",
              tangent.sizes(), ", expected ", tensor.sizes());
  TENON_CHECK(tangent.scalar_type() == tensor.scalar_type() && tangent.device() == tensor.device(),
              TypeError, "make_dual: tangent is ", toString(tangent.scalar_type()), " on ",
              tangent.device().str(), ", expected ", toString(tensor.scalar_type()), " on ",
              tensor.device().str());
  TENON_CHECK(!tensor.requires_grad() || explore(tensor).duals.empty(), Error,
              "make_dual: the tensor has a tangent of this level already");
  auto node = core::Ref<DualBackward>::adopt(new DualBackward);
  node->primal = tensor.detach();
  node->tangent = tangent;
  node->level = t_levels;
  connect(*node, 0, tensor);
  Tensor out = tensor.detach();
  set_history(out, *node, 0);
  return out;
}

UnpackedDualTensor unpack_dual(const Tensor& tensor) {
  if (!t_entered || !tensor.requires_grad()) return {tensor, Tensor()};
  const Reached reached = explore(tensor);
  if (reached.duals.empty()) return {tensor, Tensor()};
  return {primal_of(tensor, reached.leaves), tangent_of(tensor, reached)};
}

}  // namespace tenon::autograd::forward_ad
