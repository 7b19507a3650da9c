// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Views in place: the tensor itself takes the geometry of its view.
#include "op_ids.gen.h"
#include "tenon/call/generated.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

// A tensor with a history records the view even when nothing records: its gradient has the new
// shape.
template <class View>
Tensor& apply_view(int id, const Tensor& self, std::initializer_list<tn_value> rest, View view) {
  tn_value in[4] = {autograd::box(id, 0, self)};
  std::copy(rest.begin(), rest.end(), in + 1);
  core::TensorImpl* written = self.unsafeGetTensorImpl();
  const autograd::OperatorScope scope(id, core::Form::Inplace, in, &written);
  autograd::check_inplace(id, self);
  const bool keeps_history = self.requires_grad() && !self.is_leaf();
  Tensor v;
  {
    AutoGradMode record(keeps_history || GradMode::is_enabled());
    v = view();
  }
  core::TensorImpl& t = *self.unsafeGetTensorImpl();
  const core::TensorImpl& to = *v.unsafeGetTensorImpl();
  const bool current = t.base && t.base_version == t.version();
  if (keeps_history) autograd::set_history(self, *v.grad_fn(), v.output_nr());
  if (t.batched()) std::swap(t.batch, v.unsafeGetTensorImpl()->batch);
  if (t.composite())
    self.set_data(v);
  else
    t.set_geometry(to.ndim(), to.view.sizes, to.view.strides, to.byte_offset());
  t.bump_version();
  if (current) t.base_version = t.version();
  return const_cast<Tensor&>(self);
}

}  // namespace

namespace op_id = core::op_id;
using autograd::box;

Tensor& Tensor::t_() const {
  return apply_view(op_id::t, *this, {}, [&] { return t(); });
}
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  return apply_view(op_id::transpose_int, *this, {box(dim0), box(dim1)},
                    [&] { return transpose(dim0, dim1); });
}
Tensor& Tensor::squeeze_() const {
  return apply_view(op_id::squeeze, *this, {}, [&] { return squeeze(); });
}
Tensor& Tensor::squeeze_(int64_t dim) const {
  return apply_view(op_id::squeeze_dim, *this, {box(dim)}, [&] { return squeeze(dim); });
}
Tensor& Tensor::squeeze_(IntArrayRef dim) const {
  return apply_view(op_id::squeeze_dims, *this, {box(dim)}, [&] { return squeeze(dim); });
}
Tensor& Tensor::unsqueeze_(int64_t dim) const {
  return apply_view(op_id::unsqueeze, *this, {box(dim)}, [&] { return unsqueeze(dim); });
}
Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride,
                            std::optional<int64_t> storage_offset) const {
  return apply_view(op_id::as_strided, *this, {box(size), box(stride), box(storage_offset)},
                    [&] { return as_strided(size, stride, storage_offset); });
}

}  // namespace tenon
