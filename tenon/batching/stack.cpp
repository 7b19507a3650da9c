// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/batching/stack.h"

#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::batching {
namespace {

using autograd::NodeWith;

// Its results are the slices of one tensor.
struct UnstackBackward final : NodeWith<1> {
  std::string name() const override { return "UnstackBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    std::vector<Tensor> parts(grads, grads + n_grads);
    for (Tensor& t : parts) {
      if (!t.defined()) t = zeros(slice.sizes(), slice.options());
    }
    Tensor values;
    {
      const NoGradGuard no_grad;
      values = stack(parts);
    }
    out[0] = stack_recorded(values, parts, *level, false);
  }
  core::Ref<BatchLevel> level;
  autograd::SavedGeometry slice;
};

// Its edges are those of the slices.
struct StackBackward final : NodeWith<0> {
  std::string name() const override { return "StackBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    if (!grads[0].defined()) return;
    TENON_CHECK(!twice || !autograd::recording(), Error,
                "vmap: the gradient of an operator that is called slice by slice cannot be "
                "differentiated again where the operator is differentiated outside of vmap, too");
    autograd::put_list(out, n_edges, recorded_slices(grads[0], *level));
  }
  core::Ref<BatchLevel> level;
  bool twice = false;
};

}  // namespace

std::vector<Tensor> value_slices(const Tensor& t, BatchLevel& level) {
  std::vector<Tensor> out;
  const Tensor slices = is_batched_at(t, level) ? slices_of(t) : Tensor();
  for (int64_t s = 0; s < level.size; ++s)
    out.push_back(slices.defined() ? slices.select(0, s) : t);
  return out;
}

std::vector<Tensor> recorded_slices(const Tensor& t, BatchLevel& level) {
  std::vector<Tensor> out;
  {
    const NoGradGuard no_grad;
    for (const Tensor& s : value_slices(t, level)) out.push_back(s.detach());
  }
  if (!autograd::recording() || !t.requires_grad()) return out;
  auto node = autograd::make_node<UnstackBackward>();
  node->n_grads = static_cast<uint32_t>(level.size);
  node->level = core::Ref<BatchLevel>::share(&level);
  node->slice.save(out[0]);
  autograd::connect(*node, 0, t);
  for (std::size_t s = 0; s < out.size(); ++s)
    autograd::set_history(out[s], *node, static_cast<uint32_t>(s));
  return out;
}

Tensor stack_recorded(const Tensor& values, const std::vector<Tensor>& slices, BatchLevel& level,
                      bool twice) {
  const Tensor out = make_batched(values, 0, level);
  if (!autograd::recording() || !autograd::tracked(slices)) return out;
  auto node = autograd::make_node<StackBackward>();
  node->make_edges(slices.size());
  node->level = core::Ref<BatchLevel>::share(&level);
  node->twice = twice;
  autograd::connect_list(*node, 0, TensorList(slices));
  autograd::set_history(out, *node, 0);
  return out;
}

}  // namespace tenon::batching
