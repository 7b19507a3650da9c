// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lifetime of graph nodes, and the meta data that ties them to tensors.
#include "tenon/autograd/node.h"

#include <atomic>

#include "tenon/call/generated.h"

namespace tenon::autograd {

namespace {
std::atomic<int64_t> g_live{0};
thread_local bool t_deleting = false;
thread_local Node* t_deferred = nullptr;
}  // namespace

Node::Node() { g_live.fetch_add(1, std::memory_order_relaxed); }

Node::~Node() {
  if (!accumulates) delete hooks;
  g_live.fetch_sub(1, std::memory_order_relaxed);
}

int64_t live_nodes() noexcept { return g_live.load(std::memory_order_relaxed); }

// A node's destructor drops its edges and saved tensors, which may drop further nodes: these are
// put on a list, so that a chain of a million nodes takes no stack.
void Node::destroy(Node* n) noexcept {
  if (!n->die()) return;
  if (t_deleting) {
    n->deferred = t_deferred;
    t_deferred = n;
    return;
  }
  t_deleting = true;
  delete n;
  while (Node* next = t_deferred) {
    t_deferred = next->deferred;
    delete next;
  }
  t_deleting = false;
}

AutogradMeta::~AutogradMeta() {
  if (!retains_grad || !grad_fn || !grad_fn->hooks) return;
  for (auto& [nr, impl] : grad_fn->hooks->retained) {
    if (impl && impl->autograd == this) impl = nullptr;
  }
}

AutogradMeta& make_meta(const Tensor& t) {
  core::TensorImpl* impl = t.unsafeGetTensorImpl();
  if (!impl->autograd) impl->autograd = new AutogradMeta;
  return *static_cast<AutogradMeta*>(impl->autograd);
}

Edge gradient_edge(const Tensor& t) {
  if (!t.requires_grad()) return {};
  if (core::Ref<Node> fn = t.grad_fn()) return {std::move(fn), t.output_nr()};
  return {accumulator_of(t), 0};
}

}  // namespace tenon::autograd
