// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The graph: one node per recorded call, edges from a node to the nodes that made its inputs.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/runtime/pool.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

struct Edge {
  Edge() noexcept = default;
  Edge(core::Ref<Node> f, uint32_t nr) noexcept : function(std::move(f)), input_nr(nr) {}
  // Of a node that a program holds by shared_ptr (Node::held_by).
  template <class N>
  Edge(const std::shared_ptr<N>& f, uint32_t nr);
  bool is_valid() const { return static_cast<bool>(function); }
  bool operator==(const Edge& o) const { return function == o.function && input_nr == o.input_nr; }
  bool operator!=(const Edge& o) const { return !(*this == o); }

  core::Ref<Node> function;  // null: no gradient is wanted there
  uint32_t input_nr = 0;     // which of the function's gradients
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

// What a node knows of a result of its forward call, whose gradient it is given.
class TENON_API InputMetadata {
 public:
  InputMetadata() = default;  // of an undefined result
  explicit InputMetadata(const Tensor& t);
  const TensorOptions& options() const { return options_; }
  ScalarType dtype() const { return options_.dtype(); }
  Device device() const { return options_.device(); }
  Layout layout() const { return options_.layout(); }
  IntArrayRef shape() const { return sizes_; }
  bool was_default_constructed() const { return !defined_; }
  Tensor zeros_like() const;

 private:
  TensorOptions options_;
  std::vector<int64_t> sizes_;
  bool defined_ = false;
};

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
  // Of a node that a program wrote: its edges, the results of its call, and what keeps it while the
  // graph refers to it, if the program holds it by shared_ptr.
  edge_list own_edges;
  std::vector<InputMetadata> results;
  std::shared_ptr<Node> held;
};

// A program's own node overrides apply(), and release_variables() if it saves tensors:
//
//   struct Twice : autograd::Node {
//     variable_list apply(variable_list&& grads) override { return {grads[0] * 2}; }
//   };
//   auto node = c10::make_intrusive<Twice>();
//   node->set_next_edges(collect_next_edges(x));  // tenon/autograd/own_nodes.h
//   set_history(y, node);
class TENON_API Node : public core::RefCounted {
 public:
  explicit Node(edge_list&& next_edges = edge_list());
  explicit Node(uint64_t sequence_nr, edge_list&& next_edges = edge_list());
  virtual ~Node();
  Node(const Node&) = delete;

  virtual std::string name() const;  // by default that of the class
  // A gradient for each result of the forward call, possibly undefined, in; one per edge out.
  virtual variable_list apply(variable_list&& grads);
  virtual void release_variables() {}
  // The same for Tenon's nodes, without lists. grads may be moved from.
  virtual void run(Tensor* grads, Tensor* out);
  virtual void release_saved() { release_variables(); }
  variable_list operator()(variable_list&& grads);

  bool needs(uint32_t at, uint32_t n = 1) const {
    for (uint32_t i = at; i < at + n; ++i) {
      if (edges[i].function) return true;
    }
    return false;
  }
  // Whether the gradient for that edge is wanted; IndexError.
  bool should_compute_output(std::size_t i) const;
  bool task_should_compute_output(std::size_t i) const { return should_compute_output(i); }
  // Half-open ranges: whether any of those is.
  bool should_compute_output(
      std::initializer_list<std::pair<std::size_t, std::size_t>> ranges) const;
  bool task_should_compute_output(
      std::initializer_list<std::pair<std::size_t, std::size_t>> ranges) const {
    return should_compute_output(ranges);
  }
  const Edge& next_edge(std::size_t i) const { return edges[i]; }
  edge_list next_edges() const { return edge_list(edges, edges + n_edges); }
  uint32_t num_outputs() const { return n_edges; }
  uint32_t num_inputs() const;
  // Where the gradients that this node computes go. Error for an edge to a gradient that its node
  // does not have, and for the node of a leaf.
  void set_next_edges(edge_list&& next);
  void set_next_edge(std::size_t i, Edge edge);
  void add_next_edge(Edge edge);
  // One more result of the forward call; returns its number. set_history calls it.
  struct undefined_input {};
  uint32_t add_input_metadata(const Tensor& t);
  uint32_t add_input_metadata(undefined_input none);
  const InputMetadata& input_metadata(std::size_t i) const;  // of a node of a program; IndexError
  void clear_input_metadata();
  uint64_t sequence_nr() const noexcept { return sequence_nr_; }  // counts the nodes of a thread
  void set_sequence_nr(uint64_t n) noexcept { sequence_nr_ = n; }
  virtual bool is_traceable() { return false; }
  virtual bool passes_state_transparently() { return false; }
  core::Ref<Node> getptr() { return core::Ref<Node>::share(this); }
  core::Ref<Node> shared_from_this() { return getptr(); }
  // A reference on a node that a program made for a shared_ptr, which then lives as long as there
  // are either.
  static core::Ref<Node> held_by(std::shared_ptr<Node> p);

  NodeHooks& hooks_for_write();
  // The node owns the hook. Returns a key, with which the hook can be taken away again; false if
  // there is none of that key.
  std::uintptr_t add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  std::uintptr_t add_post_hook(std::unique_ptr<FunctionPostHook> hook);
  bool del_pre_hook(std::uintptr_t key);
  bool del_post_hook(std::uintptr_t key);
  // As they are now; null where one was taken away.
  std::vector<std::shared_ptr<FunctionPreHook>> pre_hooks() const;
  std::vector<std::shared_ptr<FunctionPostHook>> post_hooks() const;

  uint32_t n_edges = 0;
  Edge* edges = nullptr;
  uint32_t n_grads = 0;
  bool released = false;
  bool accumulates = false;  // an AccumulateGrad
  bool keeps_saved = false;  // any number of passes may go through it, with or without retain_graph
  const bool of_program = false;  // the hooks then have its edges and results
  NodeHooks* hooks = nullptr;     // owned, but for an AccumulateGrad, where they are the leaf's
  Node* slices = nullptr;    // of a write through a view: the node of the base that runs this one
  Node* deferred = nullptr;  // list of nodes to delete: long chains must not recurse

  // From the pool. The last release of a long chain deletes it iteratively.
  static void* operator new(std::size_t bytes) { return core::pool_alloc(bytes); }
  static void operator delete(void* p, std::size_t bytes) { core::pool_free(p, bytes); }
  static void destroy(Node* n) noexcept;

 protected:
  // Of a node of Tenon, with its edges in itself; no list is made for them.
  Node(Edge* own, uint32_t n_own, uint32_t n_results);

 private:
  uint32_t add_result(InputMetadata of);
  void use_own_edges();
  void end_hold() noexcept;
  uint64_t sequence_nr_;
};

struct TraceableFunction : Node {
  using Node::Node;
  bool is_traceable() final { return true; }
};

// The deleter of a program's shared_ptr on a node; long chains are deleted iteratively.
TENON_API void deleteNode(Node* node);

template <class N>
Edge::Edge(const std::shared_ptr<N>& f, uint32_t nr) : Edge(Node::held_by(f), nr) {}

// Nodes alive in this process.
TENON_API int64_t live_nodes() noexcept;

// A node with a fixed number of edges in itself; with 0, make_edges sets them at run time.
template <uint32_t N>
struct NodeWith : Node {
  NodeWith() : Node(own, N, 1) {}
  Edge own[N];
};
template <>
struct NodeWith<0> : Node {
  NodeWith() : Node(nullptr, 0, 1) {}
  void make_edges(std::size_t n) {
    own.resize(n);
    edges = own.data();
    n_edges = static_cast<uint32_t>(n);
  }
  std::vector<Edge> own;
};

// Puts a gradient into a leaf's .grad.
struct TENON_API AccumulateGrad final : Node {
  explicit AccumulateGrad(Tensor v) : Node(nullptr, 0, 1), variable(std::move(v)) {
    accumulates = true;
    set_sequence_nr(~uint64_t{0});
  }
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  void run(Tensor* grads, Tensor* out) override;
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
