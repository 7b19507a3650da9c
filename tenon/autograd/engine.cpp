// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Walks the graph from results to leaves on the calling thread. A node runs when all gradients for
// its outputs have come in; the order depends on the graph alone, so that sums are the same from
// run to run.
#include "tenon/autograd.h"

#include <exception>
#include <thread>

#include "tenon/autograd/anomaly.h"
#include "tenon/autograd/anomaly_mode.h"
#include "tenon/autograd/callback.h"
#include "tenon/autograd/checkpoint_check.h"
#include "tenon/autograd/engine.h"
#include "tenon/autograd/engine_workspace.h"
#include "tenon/autograd/formulas/layout.h"
#include "tenon/call/generated.h"
#include "tenon/record_function.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/thread_end.h"

namespace tenon::autograd {
namespace {

// Passes may nest (a hook that calls backward): each takes a workspace of its own from the thread's
// free list.
__thread Workspace* t_free_list __attribute__((tls_model("initial-exec")));  // linked by `next`
__thread bool t_free_list_ends __attribute__((tls_model("initial-exec")));

void drop_free_list() noexcept {
  while (Workspace* w = t_free_list) {
    t_free_list = w->next;
    delete w;
  }
  t_free_list_ends = false;
}
__thread core::ThreadEnd t_free_list_end
    __attribute__((tls_model("initial-exec"))) = {drop_free_list};

struct Lease {
  Lease() : own(t_free_list) {
    if (own != nullptr) {
      t_free_list = own->next;
    } else {
      own = new Workspace;
      if (!t_free_list_ends) t_free_list_ends = core::at_thread_end(t_free_list_end);
    }
  }
  ~Lease() {
    own->clear();
    if (!t_free_list_ends) {
      delete own;
    } else {
      own->next = t_free_list;
      t_free_list = own;
    }
  }
  Lease(const Lease&) = delete;
  Workspace* own;
};

struct Capture {
  Node* node;
  uint32_t nr;
  std::size_t place;
};

class Pass {
 public:
  Pass(Workspace& w, bool keep_graph) : w_(w), keep_graph_(keep_graph) {}

  void add_root(const Edge& e, const Tensor& grad) {
    bool fresh;
    uint32_t t = w_.find_or_add(e.function.get(), fresh);
    add(w_.grads[w_.tasks[t].first_grad + e.input_nr], grad);
  }

  // Finds every node below the roots and how many gradients it waits for.
  void explore() {
    for (uint32_t at = 0; at < w_.tasks.size(); ++at) {
      Node* n = w_.tasks[at].node;
      for (uint32_t i = 0; i < n->n_edges; ++i) {
        if (!n->edges[i].function) continue;
        bool fresh;
        uint32_t child = w_.find_or_add(n->edges[i].function.get(), fresh);
        ++w_.tasks[child].waits_for;
      }
    }
  }

  // With inputs given, only nodes above one of them run.
  void restrict_to(const std::vector<Capture>& captures) {
    std::vector<uint32_t> waits, order;
    for (const Task& t : w_.tasks) waits.push_back(t.waits_for);
    for (uint32_t i = 0; i < waits.size(); ++i) {
      if (waits[i] == 0) order.push_back(i);
    }
    for (std::size_t at = 0; at < order.size(); ++at) {
      Node* n = w_.tasks[order[at]].node;
      for (uint32_t i = 0; i < n->n_edges; ++i) {
        if (!n->edges[i].function) continue;
        uint32_t child = w_.find(n->edges[i].function.get());
        if (--waits[child] == 0) order.push_back(child);
      }
    }
    std::vector<bool> wanted(w_.tasks.size());
    for (const Capture& c : captures) {
      if (uint32_t t = w_.find(c.node); t != Workspace::kEmpty) wanted[t] = true;
    }
    for (std::size_t k = order.size(); k-- > 0;) {
      Node* n = w_.tasks[order[k]].node;
      bool below = false;
      for (uint32_t i = 0; i < n->n_edges; ++i) {
        if (!n->edges[i].function) continue;
        uint32_t child = w_.find(n->edges[i].function.get());
        below |= wanted[child];
      }
      w_.tasks[order[k]].runs = below;
      if (below) wanted[order[k]] = true;
    }
  }

  void run(const std::vector<Capture>& captures, variable_list* captured, bool accumulate) {
    for (uint32_t i = 0; i < w_.tasks.size(); ++i) {
      if (w_.tasks[i].waits_for == 0) w_.ready.push_back(i);
    }
    while (!w_.ready.empty()) {
      uint32_t at = w_.ready.back();
      w_.ready.pop_back();
      Task t = w_.tasks[at];
      if (t.node->hooks) call_hooks(t);
      for (const Capture& c : captures) {
        if (c.node == t.node && captured) (*captured)[c.place] = w_.grads[t.first_grad + c.nr];
      }
      bool runs = t.node->accumulates
                      ? accumulate && (captures.empty() || is_captured(captures, t.node))
                      : t.runs;
      step(t, runs);
    }
  }

 private:
  static bool is_captured(const std::vector<Capture>& captures, Node* n) {
    for (const Capture& c : captures) {
      if (c.node == n) return true;
    }
    return false;
  }

  void step(const Task& t, bool runs) {
    Node* n = t.node;
    w_.outs.clear();
    w_.outs.resize(n->n_edges);
    if (runs) {
      if (TENON_UNLIKELY(n->hooks || observed())) {
        apply_watched(t);
      } else {
        n->run(w_.grads.data() + t.first_grad, w_.outs.data());
      }
      if (!keep_graph_ && !n->accumulates && !n->keeps_saved) {
        n->release_saved();
        n->released = true;
      }
    }
    for (uint32_t i = 0; i < n->n_grads; ++i) w_.grads[t.first_grad + i].reset();
    for (uint32_t i = 0; i < n->n_edges; ++i) {
      const Edge& e = n->edges[i];
      if (!e.function) continue;
      uint32_t child = w_.find(e.function.get());
      if (w_.outs[i].defined()) add(w_.grads[w_.tasks[child].first_grad + e.input_nr], w_.outs[i]);
      w_.outs[i].reset();
      if (--w_.tasks[child].waits_for == 0) w_.ready.push_back(child);
    }
  }

  void apply_watched(const Task& t) {
    RecordFunction range(RecordScope::BACKWARD_FUNCTION);
    if (range.isActive()) range.before(t.node->name());
    if (!AnomalyMode::is_enabled()) return apply_with_hooks(t);
    const RunningNode running(*t.node);
    try {
      apply_with_hooks(t);
      if (AnomalyMode::should_check_nan()) refuse_nan(*t.node, w_.outs.data(), t.node->n_edges);
    } catch (...) {
      warn_of_calls(*t.node);
      throw;
    }
  }

  void apply_with_hooks(const Task& t) {
    Node* n = t.node;
    Tensor* grads = w_.grads.data() + t.first_grad;
    if (n->hooks && !n->hooks->pre.empty()) call_pre_hooks(*n, grads);
    if (!n->hooks || n->hooks->post.empty()) return n->run(grads, w_.outs.data());
    const variable_list given(grads, grads + n->n_grads);  // the node may move from them
    n->run(grads, w_.outs.data());
    call_post_hooks(*n, given);
  }

  // What a hook of a node returned in the place of `count` gradients.
  static void check_returned(const Node& n, const char* which, const variable_list& got,
                             std::size_t count) {
    TENON_CHECK(got.size() == count, Error, which, " hook of ", n.name(), " returned ", got.size(),
                " gradients, expected ", count);
  }

  static void call_pre_hooks(Node& n, Tensor* grads) {
    for (std::size_t i = 0; i < n.hooks->pre.size(); ++i) {
      const auto hook = n.hooks->pre[i];
      if (!hook) continue;
      variable_list got = (*hook)(variable_list(grads, grads + n.n_grads));
      check_returned(n, "pre", got, n.n_grads);
      for (uint32_t k = 0; k < n.n_grads; ++k) {
        check_replacement("pre hook", n, grads[k], got[k]);
        grads[k] = std::move(got[k]);
      }
    }
  }

  void call_post_hooks(Node& n, const variable_list& given) {
    for (std::size_t i = 0; i < n.hooks->post.size(); ++i) {
      const auto hook = n.hooks->post[i];
      if (!hook) continue;
      variable_list got = (*hook)(w_.outs, given);
      check_returned(n, "post", got, n.n_edges);
      for (uint32_t k = 0; k < n.n_edges; ++k)
        check_replacement("post hook", n, w_.outs[k], got[k]);
      w_.outs = std::move(got);
    }
  }

  // A gradient may be replaced by one of its kind, or by none.
  static void check_replacement(const char* which, const Node& n, const Tensor& was,
                                const Tensor& is) {
    if (!was.defined() || !is.defined()) return;
    if (is.sizes() == was.sizes() && is.scalar_type() == was.scalar_type() &&
        is.device() == was.device())
      return;
    throw Error(core::join(which, " of ", n.name(),
                           " returned a gradient of a different size/type/device: ", is.sizes(),
                           " ", dtype_name(is.scalar_type()), " instead of ", was.sizes(), " ",
                           dtype_name(was.scalar_type())));
  }

  // In place if the sum so far has no other owner.
  static void add(Tensor& sum, const Tensor& g) {
    if (!sum.defined()) {
      sum = g;
    } else if (!recording() && sum.use_count() == 1 && sum.has_storage() &&
               sum.storage().use_count() <= 1 && sum.is_contiguous() &&
               sum.unsafeGetTensorImpl()->batched() == g.unsafeGetTensorImpl()->batched() &&
               sum.scalar_type() == g.scalar_type() && sum.sizes() == g.sizes()) {
      sum.add_(g);
    } else {
      sum = formulas::sum_of(sum, g);
    }
  }

  void call_hooks(const Task& t) {
    for (std::size_t i = 0; i < t.node->hooks->tensor_pre.size(); ++i) {
      const NodeHooks::Entry entry = t.node->hooks->tensor_pre[i];  // it may be removed by itself
      Tensor& g = w_.grads[t.first_grad + entry.input_nr];
      if (!entry.hook || !g.defined()) continue;
      Tensor r = entry.hook->call(g);
      if (!r.defined()) continue;
      check_replacement("hook", *t.node, g, r);
      g = r;
    }
    for (auto& [nr, impl] : t.node->hooks->retained) {
      const Tensor& g = w_.grads[t.first_grad + nr];
      if (!impl || !g.defined()) continue;
      Tensor holder(core::Impl::share(impl));
      Tensor& kept = make_meta(holder).grad;
      kept = kept.defined() ? kept + g : recording() ? g : g.clone();
    }
  }

  Workspace& w_;
  bool keep_graph_;
};

std::vector<Edge> root_edges(const variable_list& tensors) {
  std::vector<Edge> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TENON_CHECK(tensors[i].defined() && tensors[i].requires_grad(), Error, "element ", i,
                " of tensors does not require grad and does not have a grad_fn");
    out.push_back(gradient_edge(tensors[i]));
  }
  return out;
}

variable_list root_grads(const variable_list& tensors, const variable_list& given) {
  TENON_CHECK(given.empty() || given.size() == tensors.size(), ValueError, "got ", given.size(),
              " gradients for ", tensors.size(), " tensors");
  variable_list out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (!given.empty() && given[i].defined()) {
      TENON_CHECK(given[i].sizes() == t.sizes(), ValueError, "gradient ", i, " has shape ",
                  given[i].sizes(), " but its tensor has ", t.sizes());
      out.push_back(given[i]);
    } else {
      TENON_CHECK(t.numel() == 1, Error,
                  "grad can be implicitly created only for scalar outputs; this one has ",
                  t.numel(), " elements");
      out.push_back(ones_like(t));
    }
  }
  return out;
}

// Passes that began in a node of another pass, on this thread's stack.
constexpr int kDeepest = 60;
__thread int t_depth __attribute__((tls_model("initial-exec")));
struct Deeper {
  Deeper() { ++t_depth; }
  ~Deeper() { --t_depth; }
};

// Whether the passes that this thread is in put gradients into all leaves.
__thread bool t_partial __attribute__((tls_model("initial-exec")));
struct WholePass {
  explicit WholePass(bool whole) : before(t_partial) { t_partial |= !whole; }
  ~WholePass() { t_partial = before; }
  bool before;
};

// What is to be called when the outermost pass of this thread ends; null if none runs.
using Callbacks = std::vector<SharedFunction<void()>>;
__thread Callbacks* t_callbacks __attribute__((tls_model("initial-exec")));
class OutermostPass {
 public:
  OutermostPass() : is_(t_callbacks == nullptr) {
    if (is_) t_callbacks = &own_;
  }
  ~OutermostPass() {
    if (is_) t_callbacks = nullptr;
  }
  OutermostPass(const OutermostPass&) = delete;
  void end() {
    for (std::size_t i = 0; i < own_.size(); ++i) {  // one may give another one
      const SharedFunction<void()> callback = own_[i];
      callback();
    }
  }

 private:
  const bool is_;
  Callbacks own_;
};

// Calls f on a stack of its own, with this thread's modes; rethrows.
template <class F>
void call_on_new_stack(F&& f) {
  std::exception_ptr failed;
  const uint32_t modes = t_mode;
  const bool partial = t_partial;
  Callbacks* const callbacks = t_callbacks;
  std::thread other([&] {
    try {
      const ModeGuard mode(modes);
      t_partial = partial;
      t_callbacks = callbacks;
      f();
    } catch (...) {
      failed = std::current_exception();
    }
  });
  other.join();
  if (failed) std::rethrow_exception(failed);
}

void run(const edge_list& roots, const variable_list& grads, bool keep_graph, bool create_graph,
         const std::vector<Capture>& captures, variable_list* captured, bool accumulate) {
  if (t_depth >= kDeepest) {
    call_on_new_stack(
        [&] { run(roots, grads, keep_graph, create_graph, captures, captured, accumulate); });
    return;
  }
  const Deeper deeper;
  const WholePass whole(accumulate && captures.empty());
  ModeGuard mode((t_mode & ~uint32_t{kGradMode | kOldRules}) |
                 (create_graph ? uint32_t{kGradMode} : 0u));
  OutermostPass outermost;
  Lease lease;
  Pass pass(*lease.own, keep_graph);
  for (std::size_t i = 0; i < roots.size(); ++i) pass.add_root(roots[i], grads[i]);
  pass.explore();
  if (!captures.empty()) pass.restrict_to(captures);
  pass.run(captures, captured, accumulate);
  outermost.end();
}

std::vector<Capture> capture_edges(const variable_list& inputs, std::vector<Edge>& keep) {
  std::vector<Capture> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENON_CHECK(inputs[i].defined() && inputs[i].requires_grad(), Error, "input ", i,
                " does not require grad");
    keep.push_back(gradient_edge(inputs[i]));
    out.push_back({keep.back().function.get(), keep.back().input_nr, i});
  }
  return out;
}

}  // namespace

bool in_whole_pass() noexcept { return !t_partial; }

void queue_callback(SharedFunction<void()> callback) {
  TENON_CHECK(
      t_callbacks != nullptr, Error,
      "queue_callback: no backward pass runs in this thread; call it from a hook or a node");
  t_callbacks->push_back(std::move(callback));
}

void backward(const variable_list& tensors, const variable_list& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph, const variable_list& inputs) {
  const edge_list roots = root_edges(tensors);
  std::vector<Edge> keep;
  std::vector<Capture> captures = capture_edges(inputs, keep);
  for (const Tensor& t : inputs) t.retain_grad();  // the gradient of a non-leaf goes to .grad, too
  run(roots, root_grads(tensors, grad_tensors), retain_graph.value_or(create_graph), create_graph,
      captures, nullptr, true);
}

variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  const edge_list roots = root_edges(outputs);
  std::vector<Edge> keep;
  std::vector<Capture> captures = capture_edges(inputs, keep);
  variable_list found(inputs.size());
  run(roots, root_grads(outputs, grad_outputs), retain_graph.value_or(create_graph), create_graph,
      captures, &found, false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    TENON_CHECK(found[i].defined() || allow_unused, Error, "input ", i,
                " was not used in the graph of the outputs. Set allow_unused=True if this is the "
                "desired behavior.");
  }
  return found;
}

Engine& Engine::get_default_engine() {
  static Engine engine;
  return engine;
}

variable_list Engine::execute(const edge_list& roots, const variable_list& grads, bool keep_graph,
                              bool create_graph, bool accumulate_grad, const edge_list& outputs) {
  TENON_CHECK(grads.size() == roots.size(), ValueError, "Engine::execute: got ", grads.size(),
              " gradients for ", roots.size(), " roots");
  for (std::size_t i = 0; i < roots.size(); ++i) {
    TENON_CHECK(roots[i].is_valid(), ValueError, "Engine::execute: root ", i, " has no node");
  }
  std::vector<Capture> captures;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TENON_CHECK(outputs[i].is_valid(), ValueError, "Engine::execute: output ", i, " has no node");
    captures.push_back({outputs[i].function.get(), outputs[i].input_nr, i});
  }
  variable_list found(outputs.size());
  run(roots, grads, keep_graph, create_graph, captures, &found, accumulate_grad);
  return found;
}

}  // namespace tenon::autograd
