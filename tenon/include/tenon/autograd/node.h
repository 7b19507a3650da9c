// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The graph: one node per recorded call, edges from a node to the nodes that made its inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/runtime/pool.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

struct Edge {
  core::Ref<Node> function;  // null: no gradient is wanted there
  uint32_t input_nr = 0;     // which of the function's gradients
  bool is_valid() const { return static_cast<bool>(function); }
};

using variable_list = std::vector<Tensor>;
using edge_list = std::vector<Edge>;

// Called with the gradients that arrive at a node, before it runs; returns those that it is to use,
// as many and of the same shapes.
struct FunctionPreHook {
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};
// Called after a node ran, with what it computed (a gradient per edge) and the gradients that it
// was given; returns what is to follow the edges.
struct FunctionPostHook {
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& grad_inputs,
                                   const variable_list& grad_outputs) = 0;
};
// Called with a leaf each time that a pass has added to its gradient.
struct PostAccumulateGradHook {
  virtual ~PostAccumulateGradHook() = default;
  virtual void operator()(const Tensor& leaf) = 0;
};

struct AnomalyMetadata;  // the call that made a node (anomaly.cpp)

// Of a node, or of a leaf. Hooks are shared, as one may remove itself while it runs; a null one was
// removed.
struct NodeHooks {
  NodeHooks();
  ~NodeHooks();
  struct Entry {
    uint32_t input_nr;
    std::shared_ptr<Tensor::Hook> hook;
  };
  std::vector<Entry> tensor_pre;  // on a gradient that arrives, in order
  std::vector<std::pair<uint32_t, core::TensorImpl*>>
      retained;  // retain_grad: whose grad to set (cleared by its tensor)
  std::vector<std::shared_ptr<FunctionPreHook>> pre;
  std::vector<std::shared_ptr<FunctionPostHook>> post;
  std::vector<std::shared_ptr<Tensor::Hook>> accumulated;  // of a leaf
  std::unique_ptr<AnomalyMetadata> anomaly;
};

class TENON_API Node : public core::RefCounted {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;

  virtual const char* name() const = 0;
  // grads: one for each output of the forward call, possibly undefined; may be moved from. out: one
  // per edge.
  virtual void apply(Tensor* grads, Tensor* out) = 0;
  virtual void release_saved() {}

  bool needs(uint32_t at, uint32_t n = 1) const {
    for (uint32_t i = at; i < at + n; ++i) {
      if (edges[i].function) return true;
    }
    return false;
  }
  const Edge& next_edge(uint32_t i) const { return edges[i]; }
  edge_list next_edges() const { return edge_list(edges, edges + n_edges); }
  uint32_t num_outputs() const { return n_edges; }
  uint32_t num_inputs() const { return n_grads; }
  NodeHooks& hooks_for_write();
  // The node owns the hook. Returns a key, with which the hook can be taken away again; false if
  // there is none of that key.
  std::uintptr_t add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  std::uintptr_t add_post_hook(std::unique_ptr<FunctionPostHook> hook);
  bool del_pre_hook(std::uintptr_t key);
  bool del_post_hook(std::uintptr_t key);

  Edge* edges = nullptr;
  uint32_t n_edges = 0;
  uint32_t n_grads = 1;
  bool released = false;
  bool accumulates = false;  // an AccumulateGrad
  bool keeps_saved = false;  // any number of passes may go through it, with or without retain_graph
  NodeHooks* hooks = nullptr;  // owned, but for an AccumulateGrad, where they are the leaf's
  Node* slices = nullptr;      // of a write through a view: the node of the base that runs this one
  Node* deferred = nullptr;    // list of nodes to delete: long chains must not recurse

  // From the pool. The last release of a long chain deletes it iteratively.
  static void* operator new(std::size_t bytes) { return core::pool_alloc(bytes); }
  static void operator delete(void* p, std::size_t bytes) { core::pool_free(p, bytes); }
  static void destroy(Node* n) noexcept;
};

// Nodes alive in this process.
TENON_API int64_t live_nodes() noexcept;

// A node with a fixed number of edges in itself; with 0, make_edges sets them at run time.
template <uint32_t N>
struct NodeWith : Node {
  NodeWith() {
    edges = own;
    n_edges = N;
  }
  Edge own[N];
};
template <>
struct NodeWith<0> : Node {
  void make_edges(std::size_t n) {
    own.resize(n);
    edges = own.data();
    n_edges = static_cast<uint32_t>(n);
  }
  std::vector<Edge> own;
};

// Puts a gradient into a leaf's .grad.
struct TENON_API AccumulateGrad final : Node {
  explicit AccumulateGrad(Tensor v) : variable(std::move(v)) { accumulates = true; }
  ~AccumulateGrad() override;
  const char* name() const override { return "AccumulateGrad"; }
  void apply(Tensor* grads, Tensor* out) override;
  Tensor variable;

 private:
  void add(Tensor given);
};

// What autograd attaches to a tensor.
struct AutogradMeta final : core::AutogradSlot {
  ~AutogradMeta() override;
  static void* operator new(std::size_t bytes) { return core::pool_alloc(bytes); }
  static void operator delete(void* p, std::size_t bytes) { core::pool_free(p, bytes); }

  Tensor grad;
  core::Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool retains_grad = false;
  AccumulateGrad* accumulator = nullptr;  // weak; guarded by a lock in accumulate.cpp
  std::unique_ptr<NodeHooks> leaf_hooks;  // of a leaf: they outlive the accumulators that use them
};

inline AutogradMeta* meta(const Tensor& t) {
  return static_cast<AutogradMeta*>(t.unsafeGetTensorImpl()->autograd);
}
TENON_API AutogradMeta& make_meta(const Tensor& t);
// The edge that a gradient for t follows; empty unless t is tracked.
TENON_API Edge gradient_edge(const Tensor& t);
TENON_API core::Ref<Node> accumulator_of(const Tensor& leaf);

namespace impl {

// The node that adds to the gradient of a leaf, on which hooks may be put; null of other tensors.
inline core::Ref<Node> grad_accumulator(const Tensor& leaf) {
  return leaf.requires_grad() && leaf.is_leaf() ? accumulator_of(leaf) : core::Ref<Node>();
}
// In the place of all such hooks of the leaf; null takes them away.
TENON_API void set_post_acc_grad_hooks(const Tensor& leaf,
                                       std::unique_ptr<PostAccumulateGradHook> hook);

}  // namespace impl

}  // namespace tenon::autograd
