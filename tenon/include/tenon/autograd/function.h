// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions with a gradient of their own:
//
//   struct Exp : autograd::Function<Exp> {
//     static Tensor forward(AutogradContext* ctx, Tensor x) { auto y = x.exp();
//     ctx->save_for_backward({y}); return y; } static variable_list backward(AutogradContext* ctx,
//     variable_list g) { return {g[0] * ctx->get_saved_variables()[0]}; }
//   };
//   auto y = Exp::apply(x);
#pragma once

#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/autograd/node.h"
#include "tenon/autograd/saved.h"
#include "tenon/ivalue.h"

namespace tenon::autograd {

class TENON_API AutogradContext {
 public:
  // Once, in forward: tensors whose change before backward is an error.
  void save_for_backward(variable_list to_save);
  variable_list get_saved_variables() const;
  // Inputs that forward writes to. It must return them; a leaf that requires grad cannot be one.
  void mark_dirty(const variable_list& inputs);
  void mark_non_differentiable(const variable_list& outputs);
  void set_materialize_grads(bool on) { materialize_grads_ = on; }
  bool needs_input_grad(std::size_t output_edge_index) const;
  // Anything else that backward needs, by name.
  std::unordered_map<std::string, IValue> saved_data;

 private:
  template <class T>
  friend struct Function;
  friend struct FunctionNode;
  bool has_saved_ = false;
  bool materialize_grads_ = true;
  variable_list to_save_;
  variable_list dirty_, non_differentiable_;  // until forward has returned
  std::vector<SavedTensor> saved_;
  Node* node_ = nullptr;
};

// The node of such a function; `backward` is the class's backward.
struct TENON_API FunctionNode final : NodeWith<0> {
  using Backward = variable_list (*)(AutogradContext*, variable_list);
  std::string name() const override { return label; }
  void run(Tensor* grads, Tensor* out) override;
  void release_saved() override;
  variable_list run_once(variable_list grads);
  // Counts the writes to what forward marked as dirty, and refuses what cannot be recorded.
  void count_writes(const variable_list& outputs);
  // Connects what forward returned; `inputs` are the tensors among its arguments, in order.
  void connect_outputs(const variable_list& inputs, variable_list& outputs);

  std::string label;
  AutogradContext ctx;
  Backward backward = nullptr;
  bool once = false;  // backward cannot be differentiated
  std::vector<uint32_t>
      edge_of_argument;  // index of the edge for each argument, or ~0 for one that is not a tensor
  struct Shape {
    std::vector<int64_t> sizes;
    TensorOptions options;
  };
  std::vector<Shape> outputs_, inputs_;
};

// Whether a class says `static constexpr bool once_differentiable = true;`: its backward then runs
// without recording, and a gradient of the gradient is an error instead of a wrong number.
template <class X, class = void>
struct IsOnceDifferentiable : std::false_type {};
template <class X>
struct IsOnceDifferentiable<X, std::void_t<decltype(X::once_differentiable)>>
    : std::bool_constant<X::once_differentiable> {};

template <class T>
struct Function {
  // Returns what T::forward returns, recorded.
  template <class X = T, class... Args>
  static auto apply(Args&&... args)
      -> std::decay_t<decltype(X::forward(nullptr, std::forward<Args>(args)...))> {
    using Result = std::decay_t<decltype(X::forward(nullptr, std::forward<Args>(args)...))>;
    auto node = core::Ref<FunctionNode>::adopt(new FunctionNode);
    node->label = demangled(typeid(X).name());
    node->backward = [](AutogradContext* c, variable_list g) -> variable_list {
      return X::backward(c, std::move(g));
    };
    node->once = IsOnceDifferentiable<X>::value;
    node->ctx.node_ = node.get();
    variable_list inputs;
    (collect(*node, inputs, args), ...);
    node->make_edges(inputs.size());
    bool tracked = false;
    for (const Tensor& t : inputs) tracked |= t.defined() && t.requires_grad();
    tracked = tracked && GradMode::is_enabled() && !InferenceMode::is_enabled();
    for (std::size_t i = 0; tracked && i < inputs.size(); ++i)
      node->edges[i] = gradient_edge(inputs[i]);
    variable_list outputs;
    Result result;
    {
      NoGradGuard no_grad;
      result = X::forward(&node->ctx, std::forward<Args>(args)...);
    }
    if constexpr (std::is_same_v<Result, Tensor>)
      outputs = {result};
    else
      outputs = result;
    node->count_writes(outputs);
    if (tracked) node->connect_outputs(inputs, outputs);
    if constexpr (std::is_same_v<Result, Tensor>)
      return outputs[0];
    else
      return outputs;
  }

 private:
  template <class A>
  static void collect(FunctionNode& node, variable_list& inputs, const A& a) {
    if constexpr (std::is_same_v<std::decay_t<A>, Tensor>) {
      node.edge_of_argument.push_back(static_cast<uint32_t>(inputs.size()));
      inputs.push_back(a);
    } else if constexpr (std::is_same_v<std::decay_t<A>, std::vector<Tensor>>) {
      for (const Tensor& t : a) collect(node, inputs, t);
    } else {
      node.edge_of_argument.push_back(~0u);
    }
  }
  static std::string demangled(const char* name);
};

TENON_API std::string demangle(const char* name);
// The gradient in that shape and dtype; Error if it cannot be brought to them, or is on another
// device.
Tensor checked_gradient(const std::string& label, std::size_t at, const Tensor& g,
                        IntArrayRef sizes, const TensorOptions& options);
template <class T>
std::string Function<T>::demangled(const char* name) {
  return demangle(name);
}

}  // namespace tenon::autograd
