// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/saved.h"

#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {

void SavedTensor::refuse_inference(const Node& owner) {
  throw Error(core::join(
      owner.name(),
      ": Inference tensors cannot be saved for backward. Use a clone() that is made outside of "
      "InferenceMode"));
}

void SavedTensor::save_output(const Tensor& t, uint32_t output_nr) {
  if (!t.defined()) return;
  core::TensorImpl& impl = *t.unsafeGetTensorImpl();
  tensor_ = Tensor(impl.alias(false));
  version_ = impl.version();
  output_nr_ = output_nr;
  is_output_ = true;
  tracked_ = impl.flags & core::kTracked;
  if (TENON_UNLIKELY(g_saved_tensors_hooks.load(std::memory_order_relaxed) != 0)) pack();
}

// Of an output, whose history is its node.
Tensor SavedTensor::with_history(Tensor t, Node& owner) const {
  AutogradMeta& m = make_meta(t);
  m.grad_fn = core::Ref<Node>::share(&owner);
  m.output_nr = output_nr_;
  t.unsafeGetTensorImpl()->flags |= core::kTracked;
  return t;
}

Tensor SavedTensor::unpack(Node& owner) const {
  if (!tensor_.defined()) {
    if (owner.released) {
      throw Error(core::join(
          owner.name(),
          ": this graph was already walked and its buffers are freed; pass retain_graph to go "
          "backward a second time"));
    }
    return {};
  }
  if (TENON_UNLIKELY(tensor_.unsafeGetTensorImpl()->flags & core::kPacked))
    return unpack_packed(owner);
  uint32_t now = tensor_.unsafeGetTensorImpl()->version();
  if (TENON_UNLIKELY(now != version_)) {
    throw Error(core::join(
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: saved by ",
        owner.name(), " at version ", version_, ", now ", now, " (shape ", tensor_.sizes(),
        "); clone() what is modified by an in-place operation"));
  }
  if (!is_output_ || !tracked_) return tensor_;
  if (TENON_UNLIKELY(owner.slices)) return view_of_slices(owner, tensor_);
  return with_history(Tensor(tensor_.unsafeGetTensorImpl()->alias(false)), owner);
}

std::optional<Tensor> SavedTensor::unpack_optional(Node& owner) const {
  // An absent optional argument and a released one look the same; only the second is an error.
  if (!tensor_.defined() && !owner.released) return std::nullopt;
  return unpack(owner);
}

void SavedTensorList::save(TensorList list, const Node& owner) {
  items_.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) items_[i].save(list[i], owner);
}

void SavedTensorList::save(ArrayRef<std::optional<Tensor>> list, const Node& owner) {
  items_.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) items_[i].save(list[i], owner);
}

std::vector<Tensor> SavedTensorList::unpack(Node& owner) const {
  std::vector<Tensor> out;
  if (items_.empty() && owner.released) out.push_back(SavedTensor().unpack(owner));
  for (const SavedTensor& s : items_) out.push_back(s.unpack(owner));
  return out;
}

void SavedGeometry::save(const Tensor& t) {
  const core::TensorImpl& impl = *t.unsafeGetTensorImpl();
  n_ = static_cast<std::size_t>(impl.ndim());
  int64_t* to = inline_;
  if (TENON_UNLIKELY(n_ > kInline || impl.composite())) rare_ = std::make_unique<Rare>();
  if (n_ > kInline) {
    rare_->sizes.resize(n_);
    to = rare_->sizes.data();
  }
  for (std::size_t i = 0; i < n_; ++i) to[i] = impl.view.sizes[i];
  dtype_ = impl.dtype;
  device_ = impl.device_id;
  layout_ = static_cast<Layout>(impl.layout_slot);
  if (TENON_UNLIKELY(impl.composite())) rare_->pattern = Tensor(impl.alias(false));
}

void SavedListGeometry::save(TensorList list) {
  items_.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) items_[i].save(list[i]);
}

int64_t SavedGeometry::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes()) n *= s;
  return n;
}

TensorOptions SavedGeometry::options() const {
  return TensorOptions(dtype_).device(core::device_of(device_)).layout(layout_);
}

}  // namespace tenon::autograd
