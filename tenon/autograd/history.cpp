// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How calls change histories: results, views, in-place writes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include "tenon/autograd/fork.h"
#include "tenon/autograd/formulas/layout.h"
#include "tenon/batching/level.h"
#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {
namespace {

// A float or complex dtype. Those that kernels compute in are told by their numbers.
bool differentiable(ScalarType t) {
  constexpr uint32_t kFloats = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 15;
  if (core::converted_dtype(t)) return isFloatingType(t) || isComplexType(t);
  return kFloats >> static_cast<uint8_t>(t) & 1;
}

struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t)
      : sizes(t.sizes().vec()), strides(t.strides().vec()), offset(t.storage_offset()) {}
};

// The gradient of a base after a write through a view: the slice goes through the write's node, the
// rest stays.
struct CopySlices final : NodeWith<0> {
  // Edge `of_self` of the write's node leads to the view.
  CopySlices(const Tensor& b, const Tensor& v, core::Ref<Node> f, uint32_t of_self)
      : base(b), view(v), options(b.options()), fn(std::move(f)), at(of_self) {
    make_edges(std::max(fn->n_edges, at + 1));
    for (uint32_t i = 0; i < fn->n_edges; ++i) edges[i] = fn->edges[i];
    edges[at] = gradient_edge(b);
    fn->slices = this;
  }
  ~CopySlices() override { fn->slices = nullptr; }
  std::string name() const override { return "CopySlices"; }
  void release_saved() override {
    fn->release_saved();
    fn->released = true;
  }
  void run(Tensor* grads, Tensor* out) override {
    if (!grads[0].defined()) return;
    const Tensor plain = empty_strided(base.sizes, base.strides, options);
    Tensor result = batching::writable_for(plain, TensorList(grads, 1));
    result.copy_(grads[0]);
    Tensor slice = result.as_strided(view.sizes, view.strides, view.offset - base.offset);
    Tensor inner[1] = {slice.clone()};
    std::vector<Tensor> parts(fn->n_edges);
    fn->run(inner, parts.data());
    if (at < fn->n_edges && parts[at].defined())
      slice.copy_(parts[at]);
    else
      slice.zero_();
    for (uint32_t i = 0; i < fn->n_edges; ++i) out[i] = std::move(parts[i]);
    out[at] = edges[at].function ? result : Tensor();
  }
  Geometry base, view;
  TensorOptions options;
  core::Ref<Node> fn;
  uint32_t at;
};

// retain_grad follows a tensor to its new history.
void move_retained(AutogradMeta& m, core::TensorImpl* impl, Node& to, uint32_t output_nr) {
  if (!m.retains_grad || !m.grad_fn || !m.grad_fn->hooks) return;
  auto& list = m.grad_fn->hooks->retained;
  const auto gone =
      std::remove_if(list.begin(), list.end(), [&](const auto& e) { return e.second == impl; });
  if (gone == list.end()) return;
  list.erase(gone, list.end());
  to.hooks_for_write().retained.emplace_back(output_nr, impl);
}

// The node of an in-place op whose result is piecewise constant in self (comparisons, logic).
struct ZeroBackward final : NodeWith<1> {
  std::string name() const override { return "ZeroBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    if (grads[0].defined()) out[0] = zeros_like(grads[0]);
  }
};

[[noreturn]] void refuse_inference_write(std::string_view caller) {
  throw Error(core::join(
      caller,
      ": Inplace update to inference tensor outside InferenceMode is not allowed; clone() it and "
      "write to the clone"));
}

bool refuses_writes(const core::TensorImpl& t) {
  return TENON_UNLIKELY(t.flags & core::kInference) && !(t_mode & kInferenceMode);
}

// Histories of views that are rebuilt after a write to their base: guards grad_fn and base_version.
std::mutex g_views[16];  // fork: before_fork of accumulate.cpp takes them
std::mutex& lock_of_view(const void* p) {
  return g_views[reinterpret_cast<std::uintptr_t>(p) / 64 % 16];
}

bool is_current(const core::TensorImpl& view) {
  return __atomic_load_n(&view.base_version, __ATOMIC_ACQUIRE) == view.version();
}

// The path from a view to its base, which was written since. Other threads read what is set here
// once base_version says so.
void renew_history(const Tensor& view) {
  core::TensorImpl& impl = *view.unsafeGetTensorImpl();
  TENON_CHECK(!(impl.flags & core::kInferenceView), Error,
              "A view was created in inference mode and its base or another view of its base has "
              "been modified inplace: it has no gradient; make the view again outside of "
              "InferenceMode");
  const uint32_t version = impl.version();
  const ModeGuard record((t_mode | kGradMode) & ~uint32_t{kInferenceMode});
  const Tensor fresh =
      Tensor(impl.base).as_strided(view.sizes(), view.strides(), view.storage_offset());
  if (const AutogradMeta* f = meta(fresh); f && f->grad_fn) {
    AutogradMeta& m = make_meta(view);
    move_retained(m, &impl, *f->grad_fn, f->output_nr);
    m.grad_fn = f->grad_fn;
    m.output_nr = f->output_nr;
  }
  __atomic_store_n(&impl.base_version, version, __ATOMIC_RELEASE);
}

}  // namespace

void each_view_lock(const std::function<void(std::mutex&)>& f) {
  for (std::mutex& m : g_views) f(m);
}

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
  if (TENON_UNLIKELY(source.composite()))
    return;  // its result shares parts of it, not its geometry
  if (TENON_UNLIKELY(source.flags & core::kInference)) return;  // never part of a recording
  v.base = source.base ? source.base : core::Impl::share(&source);
  v.base_version = v.version();
  v.flags |= core::kIsView | (source.flags & (core::kRefusesWrites | core::kInferenceView));
  if (!recording()) v.flags |= core::kRefusesWrites;
  if (t_mode & kInferenceMode) v.flags |= core::kInferenceView;
}

void check_inplace(int id, const Tensor& self) {
  core::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (!impl) undefined_argument(id, 0);
  if (refuses_writes(*impl)) refuse_inference_write(core::join(core::op_at(id).name, "_"));
  if (!recording()) return;
  if (!self.requires_grad() && !base_tracked(*impl)) return;
  check_written(core::join(core::op_at(id).name, "_").c_str(), self);
}

void check_written(const char* caller, const Tensor& self) {
  const core::TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (refuses_writes(impl)) refuse_inference_write(caller);
  const bool of_tracked = base_tracked(impl);
  if (!self.requires_grad() && !of_tracked) return;
  const bool itself = self.requires_grad() && self.is_leaf();
  if (!itself && (impl.flags & core::kInferenceView)) {
    throw Error(core::join(caller,
                           ": A view was created in inference mode and is being modified inplace "
                           "while its base requires grad; make the view outside of InferenceMode"));
  }
  if (itself || (of_tracked && Tensor(impl.base).is_leaf())) {
    throw Error(
        core::join(caller, ": ", itself ? "" : "a view of ",
                   "a leaf Variable that requires grad is being used in an in-place operation"));
  }
  if (impl.flags & core::kRefusesWrites) {
    throw Error(core::join(caller,
                           ": this view was made without recording or is one of several results; "
                           "its base requires grad, "
                           "so it cannot be the target of an in-place operation"));
  }
}

Tensor copy_before_write(const Tensor& self) {
  const Edge past = gradient_edge(self);
  Tensor copy;
  {
    NoGradGuard no_grad;
    copy = self.clone();
  }
  if (past.function) set_history(copy, *past.function, past.input_nr);
  return copy;
}

void rebase_history(const Tensor& self, const core::Ref<Node>& node, uint32_t at) {
  core::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (!impl->base) {
    set_history(self, *node, 0);
    return;
  }
  const Tensor base(impl->base);
  auto slices = core::Ref<Node>::adopt(new CopySlices(base, self, node, at));
  set_history(base, *slices, 0);
  impl->base_version = impl->version() - 1;  // the view's own grad_fn is rebuilt from its base
  impl->flags |= core::kTracked;
}

// Not through the node itself: the pass would run it once more, after its saved tensors are gone.
Tensor view_of_slices(const Node& node, const Tensor& saved) {
  auto& slices = static_cast<CopySlices&>(*node.slices);
  const core::TensorImpl& t = *saved.unsafeGetTensorImpl();
  const Geometry &b = slices.base, &v = slices.view;
  if (t.batched()) {  // the elements are where they were, and their history is that of the base
    const Edge through = edge_through_slices(node, TensorOptions(t.dtype).device(t.device()));
    Tensor same(t.alias(false));
    set_history(same, *through.function, through.input_nr);
    return same;
  }
  core::Impl whole =
      core::TensorImpl::make(t.dtype, t.storage, static_cast<uint64_t>(b.offset) * t.itemsize(),
                             static_cast<int>(b.sizes.size()), b.sizes.data(), b.strides.data());
  whole->counter = t.counter;
  const Tensor base(std::move(whole));
  set_history(base, slices, 0);
  const ModeGuard record((t_mode | kGradMode) & ~uint32_t{kInferenceMode});
  return base.as_strided(v.sizes, v.strides, v.offset);
}

Edge edge_through_slices(const Node& node, const TensorOptions& options) {
  auto& slices = static_cast<CopySlices&>(*node.slices);
  const Geometry &b = slices.base, &v = slices.view;
  const Tensor base = empty_strided(b.sizes, b.strides, options);
  set_history(base, slices, 0);
  const ModeGuard record((t_mode | kGradMode) & ~uint32_t{kInferenceMode});
  return gradient_edge(base.as_strided(v.sizes, v.strides, v.offset - b.offset));
}

void zero_history(const Tensor& self) {
  if (!recording() || !self.requires_grad()) return;
  auto node = core::Ref<ZeroBackward>::adopt(new ZeroBackward);
  connect(*node, 0, self);
  rebase_history(self, node);
}

void refuse_tracked(int id, const char* arg, const Tensor& t) {
  if (recording() && t.requires_grad()) {
    const char* op = core::op_at(id).name;
    core::throw_of(op, Error(core::join(op,
                                        ": out= does not support differentiation: functions with "
                                        "out=... arguments don't support automatic "
                                        "differentiation, but one of the arguments requires grad: ",
                                        arg)));
  }
}

void refuse_recorded(int id, const char* arg, TensorList list) {
  if (!recording() || !tracked(list)) return;
  const char* op = core::op_at(id).name;
  core::throw_of(
      op,
      Error(core::join(op, ": a tensor of '", arg,
                       "' requires grad, and what is written there is not recorded: call it under "
                       "NoGradGuard")));
}

void refuse_tracked(int id, const char* arg, const std::optional<Tensor>& t) {
  if (t) refuse_tracked(id, arg, *t);
}

void check_out(int id, const char* arg, const Tensor& out) {
  if (out.defined() && refuses_writes(*out.unsafeGetTensorImpl()))
    refuse_inference_write(core::join(core::op_at(id).name, ": argument ", arg));
  refuse_tracked(id, arg, out);
}

core::TensorImpl* out_impl(Tensor& out) {
  if (!out.defined()) out = empty({0});
  return out.unsafeGetTensorImpl();
}

void write_inplace(int id, const Tensor& self, const Tensor& value) {
  const char* op = core::op_at(id).name;
  check_inplace(id, self);
  TENON_CHECK(value.sizes() == self.sizes(), ValueError, op, "_: the result of shape ",
              value.sizes(), " does not fit self of shape ", self.sizes());
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
  throw NotImplementedError(
      core::join("the derivative for '", op, ": ", arg, "' is not implemented."));
}

}  // namespace tenon::autograd

namespace tenon {

using autograd::AutogradMeta;
using autograd::meta;

// A view that was made under InferenceMode has no history; after a write its base's would be asked
// for, which grad_fn refuses.
bool Tensor::view_requires_grad() const {
  if (impl_->flags & core::kInferenceView)
    return autograd::base_tracked(*impl_) && !autograd::is_current(*impl_);
  return autograd::base_tracked(*impl_) && grad_fn() != nullptr;
}

// Several threads may read one view after a write to its base: the first makes the new path to the
// base, and the others see it once base_version says so.
core::Ref<autograd::Node> Tensor::grad_fn() const {
  if (!impl_) return {};
  if (autograd::base_tracked(*impl_) && !autograd::is_current(*impl_)) {
    std::lock_guard<std::mutex> lock(autograd::lock_of_view(impl_.get()));
    if (!autograd::is_current(*impl_)) autograd::renew_history(*this);
  }
  AutogradMeta* m = meta(*this);
  return m ? m->grad_fn : core::Ref<autograd::Node>();
}

}  // namespace tenon
