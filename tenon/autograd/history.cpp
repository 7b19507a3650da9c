// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How calls change histories: results, views, in-place writes.
#include <algorithm>
#include <cstring>

#include "tenon/autograd/formulas/layout.h"
#include "tenon/autograd/generated.h"
#include "tenon/core/error.h"

namespace tenon::autograd {
namespace {

// A float or complex dtype; registered ones are asked by class.
bool differentiable(ScalarType t) {
  constexpr uint32_t kFloats = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 15;
  auto id = static_cast<uint8_t>(t);
  return id < 32 ? kFloats >> id & 1 : isFloatingType(t);
}

struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t) : sizes(t.sizes().vec()), strides(t.strides().vec()), offset(t.storage_offset()) {}
};

// The gradient of a base after a write through a view: the slice goes through the write's node, the rest stays.
struct CopySlices final : NodeWith<0> {
  CopySlices(const Tensor& b, const Tensor& v, core::Ref<Node> f)
      : base(b), view(v), options(b.options()), fn(std::move(f)) {
    make_edges(fn->n_edges > 0 ? fn->n_edges : 1);
    for (uint32_t i = 1; i < fn->n_edges; ++i) edges[i] = fn->edges[i];
    edges[0] = gradient_edge(b);
  }
  const char* name() const override { return "CopySlices"; }
  void release_saved() override {
    fn->release_saved();
    fn->released = true;
  }
  void apply(Tensor* grads, Tensor* out) override {
    if (!grads[0].defined()) return;
    Tensor result = empty_strided(base.sizes, base.strides, options);
    result.copy_(grads[0]);
    Tensor slice = result.as_strided(view.sizes, view.strides, view.offset - base.offset);
    Tensor inner[1] = {slice.clone()};
    std::vector<Tensor> parts(fn->n_edges);
    fn->apply(inner, parts.data());
    if (fn->n_edges > 0 && parts[0].defined())
      slice.copy_(parts[0]);
    else
      slice.zero_();
    for (uint32_t i = 1; i < fn->n_edges; ++i) out[i] = std::move(parts[i]);
    if (edges[0].function) out[0] = result;
  }
  Geometry base, view;
  TensorOptions options;
  core::Ref<Node> fn;
};

// retain_grad follows a tensor to its new history.
void move_retained(AutogradMeta& m, core::TensorImpl* impl, Node& to, uint32_t output_nr) {
  if (!m.retains_grad || !m.grad_fn || !m.grad_fn->hooks) return;
  auto& list = m.grad_fn->hooks->retained;
  const auto gone = std::remove_if(list.begin(), list.end(), [&](const auto& e) { return e.second == impl; });
  if (gone == list.end()) return;
  list.erase(gone, list.end());
  to.hooks_for_write().retained.emplace_back(output_nr, impl);
}

// Stands where an in-place op without a derivative wrote.
struct NoDerivative final : NodeWith<1> {
  explicit NoDerivative(int op) : id(op) {}
  const char* name() const override { return "NoDerivative"; }
  void apply(Tensor*, Tensor*) override { derivative_missing(core::op_at(id).name, "self"); }
  int id;
};

}  // namespace

bool base_tracked(const core::TensorImpl& t) { return t.base && (t.base->flags & core::kTracked); }

void set_history(const Tensor& t, Node& node, uint32_t output_nr) {
  core::TensorImpl* impl = t.unsafeGetTensorImpl();
  if (!impl || !differentiable(impl->dtype)) return;
  AutogradMeta& m = make_meta(t);
  move_retained(m, impl, node, output_nr);
  m.grad_fn = core::Ref<Node>::share(&node);
  m.output_nr = output_nr;
  impl->flags |= core::kTracked;
}

void set_view(const Tensor& view, const Tensor& of) {
  core::TensorImpl &v = *view.unsafeGetTensorImpl(), &source = *of.unsafeGetTensorImpl();
  if (TENON_UNLIKELY(source.composite())) return;  // its result shares parts of it, not its geometry
  v.base = source.base ? source.base : core::Impl::share(&source);
  v.base_version = v.version();
  v.flags |= core::kIsView | (source.flags & (core::kInference | core::kRefusesWrites));
  if (!recording()) v.flags |= core::kRefusesWrites;
}

void check_inplace(int id, const Tensor& self) {
  core::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (!impl) undefined_argument(id, 0);
  if (!recording()) return;
  const bool of_tracked = base_tracked(*impl);
  if (!self.requires_grad() && !of_tracked) return;
  const char* op = core::op_at(id).name;
  const bool itself = self.requires_grad() && self.is_leaf();
  if (itself || (of_tracked && Tensor(impl->base).is_leaf())) {
    throw Error(core::join(op, "_: ", itself ? "" : "a view of ",
                           "a leaf that requires grad cannot be the target of an in-place operation"));
  }
  if (impl->flags & core::kRefusesWrites) {
    throw Error(
        core::join(op,
                   "_: this view was made without recording or is one of several results; its base requires grad, "
                   "so it cannot be the target of an in-place operation"));
  }
}

void rebase_history(const Tensor& self, const core::Ref<Node>& node) {
  core::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (!impl->base) {
    set_history(self, *node, 0);
    return;
  }
  const Tensor base(impl->base);
  auto slices = core::Ref<Node>::adopt(new CopySlices(base, self, node));
  set_history(base, *slices, 0);
  impl->base_version = impl->version() - 1;  // the view's own grad_fn is made anew from its base
  impl->flags |= core::kTracked;
}

void forget_history(int id, const Tensor& self) {
  if (!recording() || !self.requires_grad()) return;
  auto node = core::Ref<NoDerivative>::adopt(new NoDerivative(id));
  connect(*node, 0, self);
  rebase_history(self, node);
}

void refuse_tracked(int id, const char* arg, const Tensor& t) {
  if (recording() && t.requires_grad()) {
    throw Error(core::join(core::op_at(id).name, ": out= does not support differentiation but argument ", arg,
                           " requires grad"));
  }
}

void refuse_recorded(int id, const char* arg, TensorList list) {
  if (!recording() || !tracked(list)) return;
  throw Error(core::join(core::op_at(id).name, ": a tensor of '", arg,
                         "' requires grad, and what is written there is not recorded: call it under NoGradGuard"));
}

void refuse_tracked(int id, const char* arg, const std::optional<Tensor>& t) {
  if (t) refuse_tracked(id, arg, *t);
}

core::TensorImpl* out_impl(Tensor& out) {
  if (!out.defined()) out = empty({0});
  return out.unsafeGetTensorImpl();
}

void write_inplace(int id, const Tensor& self, const Tensor& value) {
  const char* op = core::op_at(id).name;
  TENON_CHECK(value.sizes() == self.sizes(), ValueError, op, "_: the result of shape ", core::text(value.sizes()),
              " does not fit self of shape ", core::text(self.sizes()));
  bool fits = core::dtype_class(value.scalar_type()) <= core::dtype_class(self.scalar_type());
  TENON_CHECK(fits, TypeError, op, "_: result type ", dtype_name(value.scalar_type()),
              " cannot be cast to the in-place dtype ", dtype_name(self.scalar_type()));
  self.copy_(value);
}

TensorOptions options_of_out(TensorOptions given, const Tensor& out) {
  if (!out.defined()) return given;
  if (!given.has_dtype()) given = given.dtype(out.scalar_type());
  if (!given.has_device()) given = given.device(out.device());
  return given;
}

void write_out(int id, Tensor& out, const Tensor& value) {
  const char* op = core::op_at(id).name;
  if (!out.defined()) out = empty({0}, value.options());
  bool fits = core::dtype_class(value.scalar_type()) <= core::dtype_class(out.scalar_type());
  TENON_CHECK(fits, TypeError, op, ": result type ", dtype_name(value.scalar_type()),
              " cannot be cast to the out dtype ", dtype_name(out.scalar_type()));
  TENON_CHECK(out.device() == value.device(), TypeError, op, ": out is on ", out.device().str(),
              " but the result is on ", value.device().str());
  if (out.sizes() != value.sizes()) out.resize_(value.sizes());
  out.copy_(value);
}

Tensor reduce_grad(Tensor grad, const SavedGeometry& to) {
  if (!grad.defined()) return grad;
  if (grad.sizes() != to.sizes()) grad = grad.sum_to_size(to.sizes());
  if (grad.scalar_type() != to.scalar_type()) grad = grad.to(to.scalar_type());
  if (TENON_LIKELY(to.layout() == kStrided)) return grad;
  return formulas::at_elements(grad, to);
}

void put_list(Tensor* out, uint32_t n, std::vector<Tensor> grads) {
  for (uint32_t i = 0; i < n && i < grads.size(); ++i) out[i] = std::move(grads[i]);
}

void derivative_missing(const char* op, const char* arg) {
  throw NotImplementedError(core::join("the derivative of ", op, " for argument ", arg, " is not implemented"));
}

}  // namespace tenon::autograd

namespace tenon {

using autograd::AutogradMeta;
using autograd::meta;

bool Tensor::view_requires_grad() const {
  return autograd::base_tracked(*impl_) && impl_->version() != impl_->base_version && grad_fn() != nullptr;
}

core::Ref<autograd::Node> Tensor::grad_fn() const {
  if (!impl_) return {};
  if (autograd::base_tracked(*impl_) && impl_->version() != impl_->base_version) {
    // Somebody wrote to the base since: the path to it is new.
    impl_->base_version = impl_->version();
    EnableGradGuard grad;
    Tensor fresh = Tensor(impl_->base).as_strided(sizes(), strides(), storage_offset());
    if (AutogradMeta* f = meta(fresh); f && f->grad_fn) autograd::set_history(*this, *f->grad_fn, f->output_nr);
  }
  AutogradMeta* m = meta(*this);
  return m ? m->grad_fn : core::Ref<autograd::Node>();
}

}  // namespace tenon
