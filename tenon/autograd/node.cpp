// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lifetime of graph nodes, and the meta data that ties them to tensors.
#include "tenon/autograd/node.h"

#include <atomic>

#include "tenon/autograd/anomaly.h"
#include "tenon/call/generated.h"

namespace tenon::autograd {

namespace {
std::atomic<int64_t> g_live{0};
thread_local bool t_deleting = false;
thread_local Node* t_deferred = nullptr;
}  // namespace

NodeHooks::NodeHooks() = default;
NodeHooks::~NodeHooks() = default;

Node::Node() { g_live.fetch_add(1, std::memory_order_relaxed); }

Node::~Node() {
  if (!accumulates) delete hooks;
  g_live.fetch_sub(1, std::memory_order_relaxed);
}

// Those of a leaf outlive the node.
NodeHooks& Node::hooks_for_write() {
  if (accumulates) return hooks_of(static_cast<AccumulateGrad*>(this)->variable);
  if (!hooks) hooks = new NodeHooks;
  return *hooks;
}

namespace {

template <class Hook>
std::uintptr_t add(std::vector<std::shared_ptr<Hook>>& hooks, std::unique_ptr<Hook> hook) {
  TENON_CHECK(hook, ValueError, "a hook of a node is null");
  hooks.push_back(std::move(hook));
  return reinterpret_cast<std::uintptr_t>(hooks.back().get());
}

// The places of the others stay, as a pass may be among them.
template <class Hook>
bool remove(std::vector<std::shared_ptr<Hook>>& hooks, std::uintptr_t key) {
  for (std::shared_ptr<Hook>& hook : hooks) {
    if (!hook || reinterpret_cast<std::uintptr_t>(hook.get()) != key) continue;
    hook.reset();
    return true;
  }
  return false;
}

}  // namespace

std::uintptr_t Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  return add(hooks_for_write().pre, std::move(hook));
}
std::uintptr_t Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  return add(hooks_for_write().post, std::move(hook));
}
bool Node::del_pre_hook(std::uintptr_t key) { return hooks && remove(hooks->pre, key); }
bool Node::del_post_hook(std::uintptr_t key) { return hooks && remove(hooks->post, key); }

namespace impl {

void set_post_acc_grad_hooks(const Tensor& leaf, std::unique_ptr<PostAccumulateGradHook> hook) {
  TENON_CHECK(leaf.requires_grad() && leaf.is_leaf(), Error,
              "set_post_acc_grad_hooks needs a leaf that requires grad");
  hooks_of(leaf).accumulated.clear();
  if (!hook) return;
  leaf.register_post_accumulate_grad_hook(
      [shared = std::shared_ptr<PostAccumulateGradHook>(std::move(hook))](const Tensor& t) {
        (*shared)(t);
      });
}

}  // namespace impl

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
