// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/sgd.h"

#include "tenon/optim/batches.h"
#include "tenon/optim/layouts.h"

namespace tenon {
namespace optim {

SGDOptions::SGDOptions(double lr) : lr_(lr) {}

void SGDOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("momentum", momentum());
  visitor.field("dampening", dampening());
  visitor.field("weight_decay", weight_decay());
  visitor.field("nesterov", nesterov());
}

void SGDOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(momentum() >= 0, "momentum", momentum());
  TENON_OPTIM_CHECK(weight_decay() >= 0, "weight_decay", weight_decay());
  TENON_OPTIM_CHECK(!nesterov() || (momentum() > 0 && dampening() == 0), "nesterov",
                    "true; it needs a momentum and zero dampening");
}

void SGDParamState::fields(FieldVisitor& visitor) {
  visitor.field("momentum_buffer", momentum_buffer());
}

namespace {

void add_scaled(Tensor& to, const Tensor& elements, double factor) {
  if (to.layout() != kStrided) {
    to.add_(elements, factor);
    return;
  }
  const Tensor sums = elements.coalesce();
  add_elements(to, sums._indices(), sums._values() * factor);
}

// Of a gradient with a layout of its own. The momentum has that layout, too: it grows to the
// elements that have ever had a gradient.
void step_by_elements(Tensor& param, const Tensor& grad, SGDParamState* state,
                      const SGDOptions& o) {
  TENON_CHECK(o.weight_decay() == 0, ValueError,
              "SGD: weight_decay is not possible with a gradient of layout ",
              toString(grad.layout()), ", of shape ", grad.sizes(),
              ": it would change what the gradient leaves out");
  if (o.momentum() == 0) {
    add_scaled(param, grad, -o.lr());
    return;
  }
  Tensor& buffer = state->momentum_buffer();
  if (!buffer.defined()) {
    buffer = grad.coalesce().clone();
  } else if (buffer.layout() == kStrided) {
    buffer.mul_(o.momentum());
    add_scaled(buffer, grad, 1 - o.dampening());
  } else {
    buffer = (buffer * o.momentum()).add(grad, 1 - o.dampening()).coalesce();
  }
  if (buffer.layout() == kStrided) {
    param.add_(buffer, o.nesterov() ? -o.lr() * o.momentum() : -o.lr());
  } else {
    add_scaled(param, buffer, o.nesterov() ? -o.lr() * o.momentum() : -o.lr());
  }
  if (o.nesterov()) add_scaled(param, grad, -o.lr());
}

// Momentum buffers that the step is about to write: those that it did not reach are taken away
// again.
class FreshBuffers {
 public:
  FreshBuffers() = default;
  FreshBuffers(const FreshBuffers&) = delete;
  ~FreshBuffers() {
    for (Tensor* t : unwritten_) *t = Tensor();
  }
  void add(Tensor& buffer, Tensor memory) {
    unwritten_.push_back(&buffer);
    buffer = std::move(memory);
  }
  void keep(ArrayRef<Tensor> written) {
    const auto is_written = [&](const Tensor* t) {
      return std::any_of(written.begin(), written.end(),
                         [&](const Tensor& w) { return w.is_alias_of(*t); });
    };
    unwritten_.erase(std::remove_if(unwritten_.begin(), unwritten_.end(), is_written),
                     unwritten_.end());
  }

 private:
  std::vector<Tensor*> unwritten_;
};

}  // namespace

void SGD::update_all(ArrayRef<Item> items, const OptimizerOptions& options) {
  const auto& o = static_cast<const SGDOptions&>(options);
  Batches batches;
  FreshBuffers fresh;
  for (const Item& item : items) {
    if (item.grad.layout() != kStrided) {
      if (o.momentum() != 0 && !item.state) item.state = first_state(item.param);
      step_by_elements(item.param, item.grad, static_cast<SGDParamState*>(item.state.get()), o);
      continue;
    }
    if (o.momentum() == 0) {
      batches.add(item.param, item.grad, {});
      continue;
    }
    if (!item.state) item.state = first_state(item.param);
    Tensor& buffer = static_cast<SGDParamState&>(*item.state).momentum_buffer();
    if (buffer.defined() && buffer.layout() != kStrided) buffer = buffer.to_dense();
    const bool first = !buffer.defined();
    if (first) fresh.add(buffer, tenon::empty_like(item.param));
    batches.add(item.param, item.grad, {buffer}, first);
  }
  // The overload whose rate is a number.
  constexpr decltype(&decomp::_fused_sgd_) update_fused = tenon::_fused_sgd_;
  for (const Batch& b : batches) {
    (b.fused ? update_fused : decomp::_fused_sgd_)(b.params, b.grads, b.states[0], o.weight_decay(),
                                                   o.momentum(), o.lr(), o.dampening(),
                                                   o.nesterov(), false, b.first);
    if (b.first) fresh.keep(b.states[0]);
  }
}

}  // namespace optim
}  // namespace tenon
