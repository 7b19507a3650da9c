// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/saved_tensors_hooks.h"

#include <vector>

#include "tenon/call/generated.h"
#include "tenon/call/thread_state.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {

std::atomic<int> g_saved_tensors_hooks{0};

namespace {

using Hooks = graph::SavedTensorsHooks;

struct HookStack {
  std::vector<std::shared_ptr<const Hooks>> pairs;
  std::string disabled;  // why; empty if they are not
};
__thread HookStack* t_hooks __attribute__((tls_model("initial-exec")));
void drop_hooks() noexcept {
  if (t_hooks) g_saved_tensors_hooks -= static_cast<int>(t_hooks->pairs.size());
  delete t_hooks;
  t_hooks = nullptr;
}
__thread core::ThreadEnd t_hooks_end __attribute__((tls_model("initial-exec"))) = {drop_hooks};
HookStack& hook_stack() { return thread_state(t_hooks, t_hooks_end); }

// Hangs on the tensor that stands for a packed one.
struct PackedTensor final : core::AutogradSlot {
  std::shared_ptr<const Hooks> hooks;
  std::shared_ptr<void> data;
  Edge history;  // of the saved tensor
  std::vector<int64_t> sizes;
};

}  // namespace

void SavedTensor::pack() {
  if (!t_hooks || t_hooks->pairs.empty() || !tensor_.defined()) return;
  auto slot = std::make_unique<PackedTensor>();
  slot->hooks = t_hooks->pairs.back();
  slot->sizes = tensor_.sizes().vec();
  if (!is_output_ && tensor_.requires_grad()) slot->history = gradient_edge(tensor_);
  {
    const NoGradGuard no_grad;
    slot->data = slot->hooks->pack(tensor_.detach());
  }
  TENON_CHECK(tensor_.unsafeGetTensorImpl()->version() == version_, Error,
              "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
              "to pack hook can not be modified by in-place operations");
  tensor_ = tenon::empty({0});
  tensor_.unsafeGetTensorImpl()->autograd = slot.release();
  tensor_.unsafeGetTensorImpl()->flags |= core::kPacked;
}

Tensor SavedTensor::unpack_packed(Node& owner) const {
  const auto& packed = static_cast<const PackedTensor&>(*tensor_.unsafeGetTensorImpl()->autograd);
  Tensor t;
  {
    const NoGradGuard no_grad;
    t = packed.hooks->unpack(packed.data.get());
    TENON_CHECK(t.defined(), TypeError, owner.name(),
                ": Output of saved tensor unpack_hook expected to be a Tensor but got an undefined "
                "one");
    TENON_CHECK(t.sizes() == IntArrayRef(packed.sizes), ValueError, owner.name(),
                ": saved tensor unpack_hook returned a tensor of shape ", t.sizes(), ", expected ",
                IntArrayRef(packed.sizes));
    t = t.detach();
  }
  if (is_output_ && tracked_) {
    if (!owner.slices) return with_history(t, owner);
    const Edge through = edge_through_slices(owner, t.options());
    set_history(t, *through.function, through.input_nr);
  } else if (packed.history.function) {
    set_history(t, *packed.history.function, packed.history.input_nr);
  }
  return t;
}

namespace graph {

void push_saved_tensors_hooks(SavedTensorsHooks hooks) {
  HookStack& all = hook_stack();
  TENON_CHECK(all.disabled.empty(), Error, all.disabled);
  all.pairs.push_back(std::make_shared<const Hooks>(std::move(hooks)));
  ++g_saved_tensors_hooks;
}

void pop_saved_tensors_hooks() {
  HookStack& all = hook_stack();
  TENON_CHECK(!all.pairs.empty(), Error, "pop_saved_tensors_hooks: this thread has no hooks");
  all.pairs.pop_back();
  --g_saved_tensors_hooks;
}

disable_saved_tensors_hooks::disable_saved_tensors_hooks(std::string message) {
  HookStack& all = hook_stack();
  TENON_CHECK(all.pairs.empty(), Error,
              "disable_saved_tensors_hooks: hooks of this thread are set: ", message);
  before_ = std::exchange(all.disabled, std::move(message));
}

disable_saved_tensors_hooks::~disable_saved_tensors_hooks() { hook_stack().disabled.swap(before_); }

}  // namespace graph
}  // namespace tenon::autograd
