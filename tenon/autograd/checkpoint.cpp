// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/checkpoint.h"

#include <algorithm>

#include "tenon/autograd/checkpoint_check.h"
#include "tenon/call/autocast.h"
#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::utils {
namespace {

using autograd::in_whole_pass;
using autograd::recording;

// Where the generators stand that a run may draw from.
class RandomState {
 public:
  RandomState() = default;
  explicit RandomState(const std::vector<Tensor>& inputs) {
    add(Device(kCPU));
    for (const Tensor& t : inputs) {
      if (t.defined() && !t.is_cpu()) add(t.device());
    }
  }
  RandomState now() const {
    RandomState out;
    for (const Place& p : places_)
      out.places_.push_back({p.of, p.of.current_seed(), p.of.get_offset()});
    return out;
  }
  void restore() {
    for (Place& p : places_) {
      p.of.set_current_seed(p.seed);
      p.of.set_offset(p.offset);
    }
  }

 private:
  struct Place {
    Generator of;
    uint64_t seed, offset;
  };
  void add(Device device) {
    const Generator g = default_generator(device);
    for (const Place& p : places_) {
      if (p.of == g) return;
    }
    places_.push_back({g, g.current_seed(), g.get_offset()});
  }
  std::vector<Place> places_;
};

// The generators as they were in the first run, until the second has ended.
class Replayed {
 public:
  explicit Replayed(RandomState& first) : now_(first.now()) { first.restore(); }
  ~Replayed() { now_.restore(); }
  Replayed(const Replayed&) = delete;

 private:
  RandomState now_;
};

struct CheckpointBackward final : autograd::NodeWith<0> {
  std::string name() const override { return "CheckpointBackward"; }
  void run(Tensor* grads, Tensor* out) override;
  void release_saved() override { inputs.release(); }

  CheckpointFunction function;
  autograd::SavedTensorList inputs;
  std::vector<bool> wanted;  // inputs that require grad
  RandomState random;
  autocast::Settings casts;
};

// The second run, recorded, as a graph of its own; a pass through it reaches the weights.
void CheckpointBackward::run(Tensor* grads, Tensor* out) {
  TENON_CHECK(in_whole_pass() && !recording(), Error,
              "checkpoint: gradients come by backward() alone, not by grad(), backward() with "
              "inputs or with create_graph");
  std::vector<Tensor> again = inputs.unpack(*this), results, result_grads;
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (again[i].defined()) again[i] = again[i].detach().requires_grad_(wanted[i]);
  }
  {
    const EnableGradGuard record;
    const autocast::SettingsGuard as_before(casts);
    const Replayed replayed(random);
    results = function(again);
  }
  TENON_CHECK(results.size() == n_grads, Error, "checkpoint: the function returned ",
              results.size(), " tensors in its second run, ", n_grads, " in its first");
  std::vector<Tensor> roots;
  for (uint32_t i = 0; i < n_grads; ++i) {
    if (!grads[i].defined() || !results[i].defined() || !results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    result_grads.push_back(grads[i]);
  }
  if (!roots.empty()) autograd::backward(roots, result_grads);
  for (uint32_t i = 0; i < n_edges; ++i) {
    if (edges[i].function && again[i].defined()) out[i] = again[i].grad();
  }
}

}  // namespace

std::vector<Tensor> checkpoint(const CheckpointFunction& function,
                               const std::vector<Tensor>& inputs, bool preserve_rng_state) {
  const bool tracked = std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    return t.defined() && t.requires_grad();
  });
  if (!recording()) return function(inputs);
  if (!tracked) {
    warn("user", "checkpoint: None of the inputs have requires_grad=True. Gradients will be None");
  }
  auto node = core::Ref<CheckpointBackward>::adopt(new CheckpointBackward);
  node->function = function;
  node->casts = autocast::settings();
  if (preserve_rng_state) node->random = RandomState(inputs);
  std::vector<Tensor> results;
  {
    const NoGradGuard no_grad;
    results = function(inputs);
  }
  if (!tracked) return results;
  node->make_edges(inputs.size());
  node->n_grads = static_cast<uint32_t>(results.size());
  node->inputs.save(inputs, *node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node->wanted.push_back(inputs[i].defined() && inputs[i].requires_grad());
    if (node->wanted[i]) autograd::connect(*node, static_cast<uint32_t>(i), inputs[i]);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    results[i] = results[i].detach();  // an input that is returned as it was stays as it is
    autograd::set_history(results[i], *node, static_cast<uint32_t>(i));
  }
  return results;
}

Tensor checkpoint(const std::function<Tensor(const Tensor&)>& function, const Tensor& input,
                  bool preserve_rng_state) {
  const auto of_list = [function](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{function(inputs[0])};
  };
  return checkpoint(CheckpointFunction(of_list), std::vector<Tensor>{input}, preserve_rng_state)[0];
}

Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions,
                             int64_t segments, const Tensor& input, bool preserve_rng_state) {
  const auto n = static_cast<int64_t>(functions.size());
  TENON_CHECK(segments >= 1 && segments <= n, ValueError, "checkpoint_sequential: ", segments,
              " segments of ", n, " functions");
  const auto run = [functions](int64_t begin, int64_t end, Tensor x) {
    for (int64_t i = begin; i < end; ++i) x = functions[static_cast<std::size_t>(i)](x);
    return x;
  };
  const int64_t length = n / segments;
  Tensor x = input;
  for (int64_t k = 0; k + 1 < segments; ++k) {
    const auto part = [run, k, length](const Tensor& t) {
      return run(k * length, (k + 1) * length, t);
    };
    x = checkpoint(std::function<Tensor(const Tensor&)>(part), x, preserve_rng_state);
  }
  return run((segments - 1) * length, n, x);
}

}  // namespace tenon::utils
