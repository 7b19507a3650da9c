// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lifetime of graph nodes, and the meta data that ties them to tensors.
#include "tenon/autograd/node.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <typeinfo>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/anomaly.h"
#include "tenon/autograd/function.h"
#include "tenon/call/generated.h"

namespace tenon::autograd {

namespace {
std::atomic<int64_t> g_live{0};
thread_local bool t_deleting = false;
thread_local Node* t_deferred = nullptr;
// Nodes that programs hold and the graph does not any more.
__thread Node* t_let_go __attribute__((tls_model("initial-exec")));
__thread bool t_letting_go __attribute__((tls_model("initial-exec")));
__thread uint64_t t_sequence_nr __attribute__((tls_model("initial-exec")));
core::LeafMutex g_held;  // guards NodeHooks::held

// After the graph's last reference.
void let_go(Node& n) noexcept {
  std::shared_ptr<Node> last;
  const std::lock_guard<core::LeafMutex> lock(g_held);
  while (n.use_count() != 1) {  // held_by was called meanwhile
    if (!n.drop()) return;
  }
  last = std::move(n.hooks->held);
}

void check_edge(const Node& of, const Edge& e) {
  TENON_CHECK(!e.function || e.input_nr < e.function->n_grads, Error, of.name(),
              ": an edge leads to gradient ", e.input_nr, " of ", e.function->name(),
              ", which has ", e.function->n_grads);
}
}  // namespace

NodeHooks::NodeHooks() = default;
NodeHooks::~NodeHooks() = default;

Node::Node(edge_list&& next_edges) : Node(t_sequence_nr++, std::move(next_edges)) {}

Node::Node(uint64_t sequence_nr, edge_list&& next_edges)
    : of_program(true), sequence_nr_(sequence_nr) {
  g_live.fetch_add(1, std::memory_order_relaxed);
  if (!next_edges.empty()) set_next_edges(std::move(next_edges));
}

Node::Node(Edge* own, uint32_t n_own, uint32_t n_results)
    : n_edges(n_own), edges(own), n_grads(n_results), sequence_nr_(t_sequence_nr++) {
  g_live.fetch_add(1, std::memory_order_relaxed);
}

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

std::string Node::name() const { return demangle(typeid(*this).name()); }

variable_list Node::apply(variable_list&& /*grads*/) {
  throw NotImplementedError(core::join(name(), ": apply is not overridden"));
}

// An own node's gradient as the leaf or the own node wants it that it goes to.
static Tensor fitting_gradient(const Node& of, uint32_t at, Tensor g) {
  const Node& to = *of.edges[at].function;
  const Tensor* leaf = to.accumulates ? &static_cast<const AccumulateGrad&>(to).variable : nullptr;
  if (!leaf && (!to.of_program || of.edges[at].input_nr >= to.num_inputs())) return g;
  const InputMetadata* known = leaf ? nullptr : &to.input_metadata(of.edges[at].input_nr);
  if (known && known->was_default_constructed()) return g;
  const IntArrayRef sizes = leaf ? leaf->sizes() : known->shape();
  const ScalarType dtype = leaf ? leaf->scalar_type() : known->dtype();
  const std::string label = of.name();
  return checked_gradient(label, at, g, sizes,
                          TensorOptions(dtype).device(leaf ? leaf->device() : known->device()));
}

void Node::run(Tensor* grads, Tensor* out) {
  variable_list given(grads, grads + num_inputs());
  variable_list result = apply(std::move(given));
  while (result.size() > n_edges && !result.back().defined()) result.pop_back();
  TENON_CHECK(result.size() == n_edges, Error, name(), " returned ", result.size(),
              " gradients, expected ", n_edges, ", one for each of its edges");
  for (uint32_t i = 0; i < n_edges; ++i) {
    if (edges[i].function && result[i].defined())
      out[i] = fitting_gradient(*this, i, std::move(result[i]));
  }
}

variable_list Node::operator()(variable_list&& grads) {
  TENON_CHECK(grads.size() == num_inputs(), Error, name(), ": got ", grads.size(),
              " gradients, expected ", num_inputs());
  grads.resize(std::max<std::size_t>(n_grads, grads.size()));
  variable_list out(n_edges);
  run(grads.data(), out.data());
  return out;
}

bool Node::should_compute_output(std::size_t i) const {
  TENON_CHECK(i < n_edges, IndexError, name(), ": should_compute_output: got edge ", i,
              ", expected one below ", n_edges);
  return edges[i].is_valid();
}

bool Node::should_compute_output(
    std::initializer_list<std::pair<std::size_t, std::size_t>> ranges) const {
  for (const auto& [first, last] : ranges) {
    for (std::size_t i = first; i < last; ++i) {
      if (should_compute_output(i)) return true;
    }
  }
  return false;
}

uint32_t Node::num_inputs() const {
  if (!of_program) return n_grads;
  return hooks ? static_cast<uint32_t>(hooks->results.size()) : 0;
}

// A node of Tenon has a place for each edge, which its formula knows by number.
void Node::set_next_edges(edge_list&& next) {
  TENON_CHECK(of_program || next.size() == n_edges, Error, name(), ": set_next_edges: got ",
              next.size(), " edges, expected ", n_edges);
  for (const Edge& e : next) check_edge(*this, e);
  if (n_edges == 0 && next.empty()) return;
  hooks_for_write().own_edges = std::move(next);
  use_own_edges();
}

void Node::set_next_edge(std::size_t i, Edge edge) {
  TENON_CHECK(i < n_edges, IndexError, name(), ": set_next_edge: got edge ", i,
              ", expected one below ", n_edges);
  check_edge(*this, edge);
  edges[i] = std::move(edge);
}

void Node::add_next_edge(Edge edge) {
  TENON_CHECK(of_program, Error, name(), ": add_next_edge: expected a node of the program's own");
  check_edge(*this, edge);
  hooks_for_write().own_edges.push_back(std::move(edge));
  use_own_edges();
}

void Node::use_own_edges() {
  edges = hooks->own_edges.data();
  n_edges = static_cast<uint32_t>(hooks->own_edges.size());
}

uint32_t Node::add_result(InputMetadata of) {
  TENON_CHECK(of_program, Error, name(),
              ": add_input_metadata: expected a node of the program's own");
  auto& results = hooks_for_write().results;
  results.push_back(std::move(of));
  n_grads = std::max(n_grads, static_cast<uint32_t>(results.size()));
  return static_cast<uint32_t>(results.size()) - 1;
}

uint32_t Node::add_input_metadata(const Tensor& t) { return add_result(InputMetadata(t)); }
uint32_t Node::add_input_metadata(undefined_input /*none*/) { return add_result({}); }

// Edges that lead here keep their places.
void Node::clear_input_metadata() {
  if (of_program && hooks) hooks->results.clear();
}

const InputMetadata& Node::input_metadata(std::size_t i) const {
  TENON_CHECK(of_program && i < num_inputs(), IndexError, name(), ": input_metadata: got ", i,
              ", expected one below ", of_program ? num_inputs() : 0);
  return hooks->results[i];
}

InputMetadata::InputMetadata(const Tensor& t) : defined_(t.defined()) {
  if (!defined_) return;
  options_ = t.options();
  sizes_ = t.sizes().vec();
}

Tensor InputMetadata::zeros_like() const {
  TENON_CHECK(defined_, Error, "InputMetadata::zeros_like: the result was undefined");
  return zeros(sizes_, options_);
}

core::Ref<Node> Node::held_by(std::shared_ptr<Node> p) {
  if (!p) return {};
  Node* n = p.get();
  NodeHooks& own = n->hooks_for_write();
  const std::lock_guard<core::LeafMutex> lock(g_held);
  if (own.held) return core::Ref<Node>::share(n);
  own.held = std::move(p);
  return core::Ref<Node>::adopt(n);  // the reference that it was made with
}

// The last reference of the graph: the program's pointers decide how long the node lives. What it
// holds in turn waits on a list, as in deleteNode.
void Node::end_hold() noexcept {
  if (t_letting_go) {
    deferred = t_let_go;
    t_let_go = this;
    return;
  }
  t_letting_go = true;
  let_go(*this);
  while (Node* next = t_let_go) {
    t_let_go = next->deferred;
    let_go(*next);
  }
  t_letting_go = false;
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
std::vector<std::shared_ptr<FunctionPreHook>> Node::pre_hooks() const {
  return hooks ? hooks->pre : std::vector<std::shared_ptr<FunctionPreHook>>();
}
std::vector<std::shared_ptr<FunctionPostHook>> Node::post_hooks() const {
  return hooks ? hooks->post : std::vector<std::shared_ptr<FunctionPostHook>>();
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
  if (TENON_UNLIKELY(n->of_program) && n->hooks && n->hooks->held) return n->end_hold();
  if (n->die()) deleteNode(n);
}

void deleteNode(Node* n) {
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
