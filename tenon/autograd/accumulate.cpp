// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The node that ends at a leaf. A leaf has at most one at a time; it lives as long as a graph holds
// it.
#include <pthread.h>

#include <mutex>

#include "tenon/autograd/fork.h"
#include "tenon/autograd/formulas/layout.h"
#include "tenon/call/generated.h"

namespace tenon::autograd {
namespace {

// One lock for all: it guards the weak pointers from leaves to their nodes, and is held for a few
// instructions.
std::mutex g_accumulators;  // fork: before_fork takes it
// Concurrent backward passes meet at leaves.
std::mutex g_grads[64];  // fork: before_fork takes them
std::mutex& lock_of(const void* p) {
  return g_grads[reinterpret_cast<std::uintptr_t>(p) / 64 % 64];
}

// A fork waits for all locks of autograd, in the order in which a thread takes them: its child has
// no thread that would release them.
template <class F>
void each_lock(F&& f) {
  for (std::mutex& m : g_grads) f(m);
  each_view_lock(f);
  f(g_accumulators);
}
void before_fork() {
  each_lock([](std::mutex& m) { m.lock(); });
}
void after_fork() {
  each_lock([](std::mutex& m) { m.unlock(); });
}
[[maybe_unused]] const int g_autograd_fork_handlers =
    pthread_atfork(before_fork, after_fork, after_fork);

}  // namespace

core::Ref<Node> accumulator_of(const Tensor& leaf) {
  AutogradMeta& m = make_meta(leaf);
  std::lock_guard<std::mutex> lock(g_accumulators);
  if (m.accumulator && m.accumulator->try_retain()) return core::Ref<Node>::adopt(m.accumulator);
  m.accumulator = new AccumulateGrad(leaf);
  m.accumulator->hooks = m.leaf_hooks.get();
  return core::Ref<Node>::adopt(m.accumulator);
}

NodeHooks& hooks_of(const Tensor& t) {
  if (core::Ref<Node> fn = t.grad_fn()) return fn->hooks_for_write();
  AutogradMeta& m = make_meta(t);
  std::lock_guard<std::mutex> lock(g_accumulators);
  if (!m.leaf_hooks) m.leaf_hooks = std::make_unique<NodeHooks>();
  if (m.accumulator) m.accumulator->hooks = m.leaf_hooks.get();
  return *m.leaf_hooks;
}

AccumulateGrad::~AccumulateGrad() {
  std::lock_guard<std::mutex> lock(g_accumulators);
  AutogradMeta* m = meta(variable);
  if (m && m->accumulator == this) m->accumulator = nullptr;
}

void AccumulateGrad::run(Tensor* grads, Tensor*) {
  if (!grads[0].defined()) return;
  add(std::move(grads[0]));
  for (std::size_t i = 0; hooks && i < hooks->accumulated.size(); ++i) {
    if (const auto hook = hooks->accumulated[i]) hook->call(variable);
  }
}

void AccumulateGrad::add(Tensor given) {
  std::lock_guard<std::mutex> lock(lock_of(variable.unsafeGetTensorImpl()));
  Tensor& grad = make_meta(variable).grad;
  const bool batched = given.unsafeGetTensorImpl()->batched();
  TENON_CHECK(!batched || variable.unsafeGetTensorImpl()->batched(), Error,
              "backward: vmap: the gradient has a value for each slice, and the leaf, which is not "
              "batched, has room for one; call autograd::grad()");
  if (given.scalar_type() != variable.scalar_type()) given = given.to(variable.scalar_type());
  if (TENON_UNLIKELY(variable.layout() != kStrided))
    given = formulas::leaf_gradient(given, variable);
  if (!grad.defined()) {
    // Moved if it has no other owner; a recorded gradient (create_graph) keeps its history.
    bool own =
        given.use_count() == 1 &&
        (!given.has_storage() || (given.storage().use_count() <= 1 && given.is_contiguous()));
    grad = recording() || own ? given : given.clone();
  } else if (recording() || grad.layout() != kStrided) {
    grad = formulas::sum_of(grad, given);
  } else {
    grad.add_(given);
  }
}

}  // namespace tenon::autograd
