// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the inferred results to what a kernel gets: device, outputs, cast, expanded and contiguous
// arguments.
#include "core/dispatch/prepare.h"

#include <cstring>

#include "core/dispatch/arguments.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/primitives.h"
#include "core/dispatch/small_cast.h"
#include "runtime/device/capture.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/graph.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

[[noreturn]] TENON_COLD void wrong_device(const CallFrame& f, int arg, const TensorImpl& t) {
  throw TypeError(join(f.op().name, ": expected all tensors on ", device_of(f.device).str(),
                       " but found ", t.device().str(), " for argument ", arg, " '",
                       f.op().args[arg].name, "'"));
}

// A 0-dim host tensor beside device tensors becomes one on the device.
TENON_COLD void to_call_device(CallFrame& f, int i, const TensorImpl& t) {
  Impl there = new_tensor(f.op().name, t.dtype, f.device, 0, nullptr);
  copy(*there, const_cast<TensorImpl&>(t));
  f.replace(i, *f.keep(std::move(there)));
}

}  // namespace

void find_device(CallFrame& f) {
  Infer& c = f.c;
  DeviceId device = c.device;
  ScalarType first = ScalarType::Undefined;
  bool mixed = false;
  DeviceId seen = kHost;
  const TensorImpl* model = nullptr;
  each_argument(f.op(), f.in, [&](int, const TensorImpl& t) {
    if (model == nullptr)
      model = &t;
    else
      mixed |= t.device_id != model->device_id;
  });
  if (model != nullptr) {
    first = model->dtype;
    seen = model->device_id;
  }
  if (device.is_none()) {
    device = seen;
    if (TENON_UNLIKELY(mixed)) {
      each_argument(f.op(), f.in, [&](int, const TensorImpl& t) {
        if (!t.device_id.is_host() && (device.is_host() || t.ndim() > 0)) device = t.device_id;
      });
    }
  }
  f.device = device;
  f.dtype = c.compute != ScalarType::Undefined ? c.compute
            : first != ScalarType::Undefined   ? first
                                               : c.out[0].dtype;
  if (c.checked == ScalarType::Undefined) c.checked = f.dtype;
  if (TENON_UNLIKELY(mixed) && !(f.op().flags & kOpCrossDevice)) {
    for (int i = 0; i < f.op().n_args; ++i) {
      const tn_value v = f.in[i];
      if (v.tag != TN_TAG_TENSOR) continue;
      const TensorImpl& t = *TensorImpl::from_view(v.u.tensor);
      if (t.device_id == device) continue;
      if (!t.device_id.is_host() || t.ndim() != 0) wrong_device(f, i, t);
      to_call_device(f, i, t);
      for (uint32_t k = 0; k < f.op().n_args; ++k) f.moved[k] = f.args[k];
      f.c.in = f.moved;
    }
  }
}

namespace {

bool can_cast(ScalarType from, ScalarType to) {
  return static_cast<int>(dtype_class(from)) <= static_cast<int>(dtype_class(to));
}

IntArrayRef meta_sizes(const OutMeta& o) { return {o.sizes, static_cast<std::size_t>(o.ndim)}; }

Impl fresh_output(CallFrame& f, const OutMeta& o) {
  return new_tensor(f.op().name, o.dtype, f.device, o.ndim, o.sizes,
                    o.has_strides ? o.strides : nullptr);
}

// The byte after the last one that a tensor reaches, relative to its storage.
uint64_t end_of(const TensorImpl& t) {
  return t.view.byte_offset + static_cast<uint64_t>(extent(t.sizes(), t.strides())) * t.itemsize();
}

bool same_elements(const TensorImpl& a, const TensorImpl& b) {
  return a.view.byte_offset == b.view.byte_offset && a.dtype == b.dtype && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// Whether writing `out` could disturb an argument that the kernel still reads.
bool disturbs(const CallFrame& f, const TensorImpl& out, const KernelEntry* e, int k) {
  bool any = false;
  each_argument(f.op(), f.in, [&](int i, const TensorImpl& t) {
    if (t.storage != out.storage || t.numel == 0) return;
    if (same_elements(t, out) && e && i < 8 && (e->inplace >> (8 * i + k) & 1)) return;
    if (f.op().args[i].mutates) return;
    if (i == 0 && (f.op().flags & kOpCrossDevice)) return;  // copy never reads what it overwrites
    any |= t.view.byte_offset < end_of(out) && out.view.byte_offset < end_of(t);
  });
  return any;
}

// Its device and dtype can hold the result.
TENON_COLD void check_given(const CallFrame& f, int k) {
  const OutMeta& o = f.c.out[k];
  const TensorImpl& t = *f.outs[k];
  const char* name = f.op().name;
  bool cross = f.op().flags & kOpCrossDevice;
  if (!cross && t.device_id != f.device) {
    throw TypeError(join(name, ": out is on ", t.device().str(), " but the result is on ",
                         device_of(f.device).str()));
  }
  if (t.dtype != o.dtype && !can_cast(o.dtype, t.dtype)) {
    throw TypeError(join(name, ": result type ", dtype_name(o.dtype), " cannot be cast to the ",
                         f.form == Form::Inplace ? "in-place" : "out", " dtype ",
                         dtype_name(t.dtype)));
  }
}

TENON_COLD void given_output(CallFrame& f, int k, const KernelEntry* e) {
  const OutMeta& o = f.c.out[k];
  TensorImpl& t = *f.outs[k];
  const char* name = f.op().name;
  check_given(f, k);
  if (t.sizes() != meta_sizes(o)) {
    if (f.form == Form::Inplace) {
      throw ValueError(join(name, "_: the result of shape ", meta_sizes(o),
                            " does not fit self of shape ", t.sizes()));
    }
    if (t.numel != 0) {
      warn_once("out-resized", "user",
                join(name, ": out= of shape ", t.sizes(), " is resized to ", meta_sizes(o)));
    }
    resize(t, o.ndim, o.sizes);
  }
  if ((t.view.flags & TN_TENSOR_OVERLAPPING) && t.numel > 1) {
    throw ValueError(join(
        name, ": elements of the written tensor share memory (a stride of 0); clone() it first"));
  }
  if (t.dtype == o.dtype && !disturbs(f, t, e, k)) {
    f.targets[k] = &t;
    return;
  }
  f.targets[k] = f.keep(new_tensor(name, o.dtype, f.device, o.ndim, o.sizes));
  f.write_back[k] = &t;
}

// Whether result k is one of a layout, made here; one that is strided is made like any other.
TENON_COLD bool output_of_layout(CallFrame& f, int k) {
  if (f.result_layout[k] != 0) {
    make_component_output(f, k);
    return true;
  }
  const TensorImpl* given = f.form == Form::Functional ? nullptr : f.outs[k];
  TENON_CHECK(given == nullptr || !given->composite(), TypeError, f.op().name,
              ": the result is strided, which a tensor of layout ",
              layout_name(given ? given->layout_slot : 0), " cannot hold");
  return false;
}

}  // namespace

void make_outputs(CallFrame& f, const KernelEntry* e) {
  if (TENON_UNLIKELY(f.form != Form::Functional) && e == nullptr) {
    e = find_kernel(f.op(), f.device.slot, 0, f.dtype);
    if (e == nullptr) e = writing_kernel(f.op(), f.device.slot, f.dtype);
  }
  for (int k = 0; k < f.op().n_results; ++k) {
    OutMeta& o = f.c.out[k];
    f.write_back[k] = nullptr;
    f.targets[k] = nullptr;
    if (TENON_UNLIKELY(f.layout != 0) && output_of_layout(f, k)) continue;
    if (f.form == Form::Functional) {
      f.outs[k] = nullptr;
      if (!o.defined || (f.op().flags & kOpDynamic)) continue;
      f.targets[k] = f.outs[k] = fresh_output(f, o).leak();
      f.fresh |= 1u << k;
    } else if (f.op().flags & kOpDynamic) {
      check_given(f, k);
      f.write_back[k] = f.outs[k];
    } else {
      given_output(f, k, e);
    }
  }
}

void protect_outputs(CallFrame& f, const KernelEntry& e) {
  if (f.form == Form::Functional) return;
  for (int k = 0; k < f.op().n_results; ++k) {
    TensorImpl* t = f.targets[k];
    if (t == nullptr || t != f.outs[k] || t->composite() || !disturbs(f, *t, &e, k)) continue;
    f.targets[k] = f.keep(new_tensor(f.op().name, t->dtype, f.device, t->ndim(), t->view.sizes));
    f.write_back[k] = t;
  }
}

void drop_outputs(CallFrame& f) noexcept {
  for (int k = 0; k < f.op().n_results; ++k) {
    if (f.fresh >> k & 1) Impl::adopt(std::exchange(f.outs[k], nullptr));
  }
}

void forget_outputs(CallFrame& f) {
  drop_outputs(f);
  f.fresh = 0;
  for (int k = 0; k < f.op().n_results; ++k) {
    f.targets[k] = f.write_back[k] = nullptr;
    if (f.form == Form::Functional) f.outs[k] = nullptr;
  }
}

void make_contiguous_outputs(CallFrame& f) {
  for (int k = 0; k < f.op().n_results; ++k) {
    TensorImpl* t = f.targets[k];
    if (!t || t->contiguous() || t->composite()) continue;
    f.targets[k] =
        f.keep(new_tensor(f.op().name, t->dtype, t->device_id, t->ndim(), t->view.sizes));
    if (!f.write_back[k]) f.write_back[k] = t;
  }
}

void finish_outputs(CallFrame& f) {
  if (TENON_UNLIKELY(f.layout != 0)) finish_component_outputs(f);
  for (int k = 0; k < f.op().n_results; ++k) {
    TensorImpl* given = f.write_back[k];
    if (TENON_UNLIKELY(given != nullptr)) {
      TensorImpl& made = *f.targets[k];
      if (given->sizes() != made.sizes()) resize(*given, made.ndim(), made.view.sizes);
      copy(*given, made);
    } else if (f.form != Form::Functional && f.outs[k]) {
      f.outs[k]->bump_version();
    }
  }
  if (TENON_UNLIKELY(f.lists != nullptr)) {
    for (auto [given, made] : f.lists->written) copy(*given, *made);
  }
  for (int i = 0; i < f.op().n_args; ++i) {
    if (TENON_LIKELY(!f.op().args[i].mutates)) continue;
    if (f.c.in[i].tag == TN_TAG_TENSOR) f.c.tensor(i).bump_version();
    if (f.c.in[i].tag != TN_TAG_TENSOR_LIST) continue;
    for (int k = 0; k < f.c.list_size(i); ++k) {
      if (TensorImpl* t = f.c.list_tensor(i, k)) t->bump_version();
    }
  }
}

namespace {

bool same_dims(const int64_t* a, const int64_t* b, int n) {
  for (int d = 0; d < n; ++d) {
    if (a[d] != b[d]) return false;
  }
  return true;
}

// Strides of 0 where the argument has size 1 and the output has not, and for leading dimensions.
void expanded_view(CallFrame& f, int i, const TensorImpl& t) {
  const OutMeta& o = f.c.out[0];
  TENON_CHECK(f.n_views < 8, ValueError, f.op().name, ": more than 8 operands to broadcast");
  int64_t* strides = f.view_strides[f.n_views];
  tn_tensor& v = f.views[f.n_views++];
  v = t.view;
  broadcast_strides(t.sizes(), t.strides(), meta_sizes(o), strides);
  v.ndim = o.ndim;
  v.sizes = o.sizes;
  v.strides = strides;
  v.flags = (v.flags & ~uint32_t{TN_TENSOR_CONTIGUOUS}) | TN_TENSOR_OVERLAPPING;
  f.mutable_args()[i].u.tensor = &v;
}

Impl converted(const CallFrame& f, TensorImpl& t, ScalarType dtype) {
  Impl made = new_tensor(f.op().name, dtype, t.device_id, t.ndim(), t.view.sizes);
  copy(*made, t);
  return made;
}

// Whether a kernel must be given another tensor in place of this one.
bool unfit(const CallFrame& f, const TensorImpl& t, bool cast, bool contiguous) {
  if (t.composite()) return false;
  return (cast && t.dtype != f.c.compute) || (contiguous && !t.contiguous());
}

bool list_fits(const CallFrame& f, const tn_value& v, bool cast, bool contiguous) {
  for (uint32_t k = 0; k < v.len; ++k) {
    if (v.u.tensors[k] && unfit(f, *TensorImpl::from_view(v.u.tensors[k]), cast, contiguous))
      return false;
  }
  return true;
}

// What is written is copied back by finish_outputs.
TENON_COLD void convert_list(CallFrame& f, int i, bool cast, bool contiguous) {
  const tn_value v = f.in[i];
  if (!f.lists) f.lists = std::make_unique<CallFrame::Lists>();
  std::vector<const tn_tensor*> list(v.u.tensors, v.u.tensors + v.len);
  for (const tn_tensor*& p : list) {
    if (!p) continue;
    TensorImpl& t = *TensorImpl::from_view(p);
    if (!unfit(f, t, cast, contiguous)) continue;
    f.lists->tensors.push_back(converted(f, t, cast ? f.c.compute : t.dtype));
    TensorImpl* made = f.lists->tensors.back().get();
    if (f.op().args[i].mutates) f.lists->written.emplace_back(&t, made);
    p = &made->view;
  }
  f.lists->views.push_back(std::move(list));
  f.mutable_args()[i].u.tensors = f.lists->views.back().data();
}

// The copy of a contiguous form of an expanded operand.
Impl materialised(const CallFrame& f, const tn_tensor& v, const TensorImpl& t) {
  Impl view = TensorImpl::make(t.dtype, t.storage, v.byte_offset - t.storage->base, v.ndim, v.sizes,
                               v.strides);
  Impl made = new_tensor(f.op().name, t.dtype, t.device_id, v.ndim, v.sizes);
  copy(*made, *view);
  return made;
}

void refuse_overlap(const CallFrame& f, int i, const TensorImpl& t) {
  TENON_CHECK(!(t.view.flags & TN_TENSOR_OVERLAPPING) || t.numel <= 1, ValueError, f.op().name,
              ": elements of '", f.op().args[i].name,
              "', which is written, share memory (a stride of 0); clone() it first");
}

// An argument that the kernel writes: it gets a contiguous copy, which finish_outputs copies back.
TENON_COLD void write_through_copy(CallFrame& f, int i, TensorImpl& t) {
  if (!f.lists) f.lists = std::make_unique<CallFrame::Lists>();
  TensorImpl* copied = f.keep(converted(f, t, t.dtype));
  f.lists->written.emplace_back(&t, copied);
  f.replace(i, *copied);
}

}  // namespace

void prepare_args(CallFrame& f, uint32_t kernel_flags) {
  const bool contiguous = !(kernel_flags & TN_KERNEL_ANY_STRIDES);
  const bool casts =
      f.c.compute != ScalarType::Undefined && !(kernel_flags & TN_KERNEL_MIXED_DTYPES);
  // A kernel of a layout gets its strided operands as they are.
  const bool expands =
      f.c.broadcasts != 0 && !(kernel_flags & TN_KERNEL_BROADCASTS) && f.layout == 0;
  for (int i = 0; i < f.op().n_args; ++i) {
    const tn_value& v = f.in[i];
    const uint64_t bit = uint64_t{1} << i;
    if (TENON_UNLIKELY(v.tag == TN_TAG_TENSOR_LIST)) {
      const bool cast = casts && (f.c.operands & bit);
      for (uint32_t k = 0; f.op().args[i].mutates && k < v.len; ++k) {
        if (v.u.tensors[k]) refuse_overlap(f, i, *TensorImpl::from_view(v.u.tensors[k]));
      }
      if (!list_fits(f, v, cast, contiguous)) convert_list(f, i, cast, contiguous);
      continue;
    }
    if (v.tag != TN_TAG_TENSOR) continue;
    TensorImpl* t = TensorImpl::from_view(v.u.tensor);
    if (TENON_UNLIKELY(f.layout != 0) && t->composite()) {
      prepare_components(f, i, *t, casts && (f.c.operands & bit), contiguous);
      continue;
    }
    if (TENON_UNLIKELY(f.op().args[i].mutates)) {
      refuse_overlap(f, i, *t);
      if (contiguous && !t->contiguous()) write_through_copy(f, i, *t);
      continue;
    }
    if (casts && (f.c.operands & bit) && t->dtype != f.c.compute) {
      if (!expands && cast_on_stack(f, i, *t, f.c.compute)) continue;
      t = f.keep(converted(f, *t, f.c.compute));
      f.replace(i, *t);
    }
    const OutMeta& o = f.c.out[0];
    if (expands && (f.c.broadcasts & bit) &&
        (t->ndim() != o.ndim || !same_dims(t->view.sizes, o.sizes, o.ndim))) {
      expanded_view(f, i, *t);
      if (contiguous) f.replace(i, *f.keep(materialised(f, *f.in[i].u.tensor, *t)));
    } else if (contiguous && !t->contiguous()) {
      f.replace(i, *f.keep(converted(f, *t, t->dtype)));
    }
  }
}

void reserve_random(CallFrame& f) {
  for (int i = 0; i < f.op().n_args; ++i) {
    if (f.op().args[i].type != ArgType::Generator) continue;
    const tn_value& v = f.in[i];
    if (v.tag == TN_TAG_GENERATOR)
      return;  // a staged call: reserved on the device that it came from
    const Device device = device_of(f.device);
    GeneratorImpl& g =
        v.tag == TN_TAG_NONE ? default_generator(device) : *static_cast<GeneratorImpl*>(v.u.ptr);
    if (g.device().type() != device.type()) {
      throw TypeError(join(f.op().name, ": expected a generator of ", device.str(),
                           " but found one of ", g.device().str()));
    }
    uint64_t n = f.c.random_count;
    if (n == 0) {
      n = 1;
      for (int d = 0; d < f.c.out[0].ndim; ++d) n *= static_cast<uint64_t>(f.c.out[0].sizes[d]);
    }
    const uint64_t words = f.c.draws ? n * f.op().random_words : 0;
    f.generator = is_capturing(f.device) ? reserve_in_capture(g, words) : g.reserve(words);
    tn_value& arg = f.mutable_args()[i];
    arg.tag = TN_TAG_GENERATOR;
    arg.len = 0;
    arg.u.generator = &f.generator;
    return;
  }
}

}  // namespace tenon::core
