// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tenon/autograd/function.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/comprehension.h"
#include "tenon/runtime/error.h"

namespace tenon::tc {
namespace {

// The position of a name, or -1.
int find(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

std::string_view without_prefix(std::string_view name) {
  return name.substr(0, 2) == "d_" ? name.substr(2) : std::string_view();
}

}  // namespace

struct Layer::State {
  enum class Kind { kInput, kOutput, kGradient };
  struct Source {
    Kind kind;
    int at;  // among the inputs or outputs of `forward`
  };

  Function forward, backward;
  std::vector<Source> sources;  // of the arguments of `backward`
  std::vector<int> results;     // by argument of `forward`: the output of `backward`, or -1
};

namespace {

using Kind = Layer::State::Kind;

struct Recorded : autograd::Function<Recorded> {
  static constexpr bool once_differentiable = true;

  static autograd::variable_list forward(autograd::AutogradContext* ctx,
                                         const std::vector<Tensor>& inputs,
                                         const std::shared_ptr<Layer::State>& state) {
    std::vector<Tensor> outputs = state->forward.run(inputs), kept;
    std::vector<bool> takes_gradient(outputs.size(), false);
    for (const Layer::State::Source& it : state->sources) {
      if (it.kind == Kind::kGradient)
        takes_gradient[it.at] = true;
      else
        kept.push_back(it.kind == Kind::kInput ? inputs[it.at] : outputs[it.at]);
    }
    std::vector<Tensor> constant;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!takes_gradient[i]) constant.push_back(outputs[i]);
    ctx->mark_non_differentiable(constant);
    ctx->save_for_backward(kept);
    // Keeps the layer while the graph lives: saved_data has no type for it.
    ctx->saved_data["layer"] = from_blob(
        state.get(), {1}, [state](void*) {}, TensorOptions().dtype(kByte));
    return outputs;
  }

  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          autograd::variable_list gradients) {
    const auto& state =
        *static_cast<const Layer::State*>(ctx->saved_data.at("layer").toTensor().data_ptr());
    const std::vector<Tensor> kept = ctx->get_saved_variables();
    std::vector<Tensor> arguments;
    std::size_t next = 0;
    for (const Layer::State::Source& it : state.sources)
      arguments.push_back(it.kind == Kind::kGradient ? gradients[it.at] : kept[next++]);
    const std::vector<Tensor> given = state.backward.run(arguments);
    autograd::variable_list results;
    for (const int at : state.results) results.push_back(at < 0 ? Tensor() : given[at]);
    results.emplace_back();  // of the layer
    return results;
  }
};

}  // namespace

Layer::Layer(Function forward, Function backward)
    : state_(std::make_shared<State>(State{std::move(forward), std::move(backward), {}, {}})) {
  const std::vector<std::string> inputs = state_->forward.arguments();
  const std::vector<std::string> outputs = state_->forward.outputs();
  const std::string& name = state_->backward.name();
  for (const std::string& it : state_->backward.arguments()) {
    const int input = find(inputs, it), output = find(outputs, it);
    const int gradient = find(outputs, without_prefix(it));
    TENON_CHECK(input >= 0 || output >= 0 || gradient >= 0, ValueError, "tc::Layer: argument ", it,
                " of ", name, " is not an argument or output of ", state_->forward.name(),
                ", nor d_ and an output");
    state_->sources.push_back(input >= 0    ? State::Source{Kind::kInput, input}
                              : output >= 0 ? State::Source{Kind::kOutput, output}
                                            : State::Source{Kind::kGradient, gradient});
  }
  const std::vector<std::string> given = state_->backward.outputs();
  for (const std::string& it : given)
    TENON_CHECK(find(inputs, without_prefix(it)) >= 0, ValueError, "tc::Layer: output ", it, " of ",
                name, " is not d_ and an argument of ", state_->forward.name());
  for (const std::string& it : inputs) state_->results.push_back(find(given, "d_" + it));
}

std::vector<Tensor> Layer::run(const std::vector<Tensor>& inputs) const {
  return Recorded::apply(inputs, state_);
}

Tensor Layer::run_one(const std::vector<Tensor>& inputs) const {
  TENON_CHECK(state_->forward.outputs().size() == 1, ValueError, state_->forward.name(), ": has ",
              state_->forward.outputs().size(), " outputs: call run()");
  return run(inputs)[0];
}

}  // namespace tenon::tc
