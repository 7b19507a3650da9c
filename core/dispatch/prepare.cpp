// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the inferred results to what a kernel gets: device, outputs, cast, expanded and contiguous
// arguments.
#include "core/dispatch/prepare.h"

#include <cstring>

#include "core/dispatch/arguments.h"
#include "core/dispatch/components.h"
#include "core/dispatch/primitives.h"
#include "core/dispatch/small_cast.h"
#include "runtime/device/capture.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/graph.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

[[noreturn]] TENON_COLD void wrong_device(const CallFrame& frame, int arg,
                                          const TensorImpl& tensor) {
  throw TypeError(join(frame.op().name, ": expected all tensors on ", device_of(frame.device).str(),
                       " but found ", tensor.device().str(), " for argument ", arg, " '",
                       frame.op().args[arg].name, "'"));
}

// A 0-dim host tensor beside device tensors becomes one on the device.
TENON_COLD void to_call_device(CallFrame& frame, int i, const TensorImpl& tensor) {
  Impl there = new_tensor(frame.op().name, tensor.dtype, frame.device, 0, nullptr);
  copy(*there, const_cast<TensorImpl&>(tensor));
  frame.replace(i, *frame.keep(std::move(there)));
}

}  // namespace

void find_device(CallFrame& frame) {
  Infer& infer = frame.infer;
  DeviceId device = infer.device;
  ScalarType first = ScalarType::Undefined;
  bool mixed = false;
  DeviceId seen = kHost;
  const TensorImpl* model = nullptr;
  each_argument(frame.op(), frame.in, [&](int, const TensorImpl& tensor) {
    if (model == nullptr)
      model = &tensor;
    else
      mixed |= tensor.device_id != model->device_id;
  });
  if (model != nullptr) {
    first = model->dtype;
    seen = model->device_id;
  }
  if (device.is_none()) {
    device = seen;
    if (TENON_UNLIKELY(mixed)) {
      each_argument(frame.op(), frame.in, [&](int, const TensorImpl& tensor) {
        if (!tensor.device_id.is_host() && (device.is_host() || tensor.ndim() > 0))
          device = tensor.device_id;
      });
    }
  }
  frame.device = device;
  frame.dtype = infer.compute != ScalarType::Undefined ? infer.compute
                : first != ScalarType::Undefined       ? first
                                                       : infer.out[0].dtype;
  if (infer.checked == ScalarType::Undefined) infer.checked = frame.dtype;
  if (TENON_UNLIKELY(mixed) && !(frame.op().flags & kOpCrossDevice)) {
    for (int i = 0; i < frame.op().n_args; ++i) {
      const tn_value value = frame.in[i];
      if (value.tag != TN_TAG_TENSOR) continue;
      const TensorImpl& tensor = *TensorImpl::from_view(value.u.tensor);
      if (tensor.device_id == device) continue;
      if (!tensor.device_id.is_host() || tensor.ndim() != 0) wrong_device(frame, i, tensor);
      to_call_device(frame, i, tensor);
      for (uint32_t k = 0; k < frame.op().n_args; ++k) frame.moved[k] = frame.args[k];
      frame.infer.in = frame.moved;
    }
  }
}

Impl new_result(const Infer& infer, const OutMeta& meta, DeviceId device) {
  const char* op = infer.op.name;
  const int64_t* strides = meta.has_strides ? meta.strides : nullptr;
  if (TENON_LIKELY(!infer.pinned))
    return new_tensor(op, meta.dtype, device, meta.ndim, meta.sizes, strides);
  TENON_CHECK(device.is_host(), TypeError, op,
              ": only memory of the host can be pinned, and the result is on ",
              device_of(device).str());
  return new_pinned(op, meta.dtype, meta.ndim, meta.sizes, strides);
}

namespace {

bool can_cast(ScalarType from, ScalarType to) {
  return static_cast<int>(dtype_class(from)) <= static_cast<int>(dtype_class(to));
}

IntArrayRef meta_sizes(const OutMeta& meta) {
  return {meta.sizes, static_cast<std::size_t>(meta.ndim)};
}

Impl fresh_output(CallFrame& frame, const OutMeta& meta) {
  return new_result(frame.infer, meta, frame.device);
}

// The byte after the last one that a tensor reaches, relative to its storage.
uint64_t end_of(const TensorImpl& tensor) {
  return tensor.view.byte_offset +
         static_cast<uint64_t>(extent(tensor.sizes(), tensor.strides())) * tensor.itemsize();
}

bool same_elements(const TensorImpl& a, const TensorImpl& b) {
  return a.view.byte_offset == b.view.byte_offset && a.dtype == b.dtype && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// Whether writing `out` could disturb an argument that the kernel still reads.
bool disturbs(const CallFrame& frame, const TensorImpl& out, const KernelEntry* entry, int k) {
  bool any = false;
  each_argument(frame.op(), frame.in, [&](int i, const TensorImpl& tensor) {
    if (tensor.storage != out.storage || tensor.numel == 0) return;
    if (same_elements(tensor, out) && entry && i < 8 && (entry->inplace >> (8 * i + k) & 1)) return;
    if (frame.op().args[i].mutates) return;
    if (i == 0 && (frame.op().flags & kOpCrossDevice))
      return;  // copy never reads what it overwrites
    any |= tensor.view.byte_offset < end_of(out) && out.view.byte_offset < end_of(tensor);
  });
  return any;
}

// Its device and dtype can hold the result.
TENON_COLD void check_given(const CallFrame& frame, int k) {
  const OutMeta& meta = frame.infer.out[k];
  const TensorImpl& tensor = *frame.outs[k];
  const char* name = frame.op().name;
  bool cross = frame.op().flags & kOpCrossDevice;
  if (!cross && tensor.device_id != frame.device) {
    throw TypeError(join(name, ": out is on ", tensor.device().str(), " but the result is on ",
                         device_of(frame.device).str()));
  }
  if (tensor.dtype != meta.dtype && !can_cast(meta.dtype, tensor.dtype)) {
    throw TypeError(join(name, ": result type ", dtype_name(meta.dtype), " cannot be cast to the ",
                         frame.form == Form::Inplace ? "in-place" : "out", " dtype ",
                         dtype_name(tensor.dtype)));
  }
}

TENON_COLD void given_output(CallFrame& frame, int k, const KernelEntry* entry) {
  const OutMeta& meta = frame.infer.out[k];
  TensorImpl& tensor = *frame.outs[k];
  const char* name = frame.op().name;
  check_given(frame, k);
  if (tensor.sizes() != meta_sizes(meta)) {
    if (frame.form == Form::Inplace) {
      throw ValueError(join(name, "_: the result of shape ", meta_sizes(meta),
                            " does not fit self of shape ", tensor.sizes()));
    }
    if (tensor.numel != 0) {
      warn_once(
          "out-resized", "user",
          join(name, ": out= of shape ", tensor.sizes(), " is resized to ", meta_sizes(meta)));
    }
    resize(tensor, meta.ndim, meta.sizes);
  }
  if ((tensor.view.flags & TN_TENSOR_OVERLAPPING) && tensor.numel > 1) {
    throw ValueError(join(
        name, ": elements of the written tensor share memory (a stride of 0); clone() it first"));
  }
  if (tensor.dtype == meta.dtype && !disturbs(frame, tensor, entry, k)) {
    frame.targets[k] = &tensor;
    return;
  }
  frame.targets[k] = frame.keep(new_tensor(name, meta.dtype, frame.device, meta.ndim, meta.sizes));
  frame.write_back[k] = &tensor;
}

// Whether result k is one of a layout, made here; one that is strided is made like any other.
TENON_COLD bool output_of_layout(CallFrame& frame, int k) {
  if (frame.result_layout[k] != 0) {
    make_component_output(frame, k);
    return true;
  }
  const TensorImpl* given = frame.form == Form::Functional ? nullptr : frame.outs[k];
  TENON_CHECK(given == nullptr || !given->composite(), TypeError, frame.op().name,
              ": the result is strided, which a tensor of layout ",
              layout_name(given ? given->layout_slot : 0), " cannot hold");
  return false;
}

}  // namespace

void make_outputs(CallFrame& frame, const KernelEntry* entry) {
  if (TENON_UNLIKELY(frame.form != Form::Functional) && entry == nullptr) {
    entry = find_kernel(frame.op(), frame.device.slot, 0, frame.dtype);
    if (entry == nullptr) entry = writing_kernel(frame.op(), frame.device.slot, frame.dtype);
  }
  for (int k = 0; k < frame.op().n_results; ++k) {
    OutMeta& meta = frame.infer.out[k];
    frame.write_back[k] = nullptr;
    frame.targets[k] = nullptr;
    if (TENON_UNLIKELY(frame.layout != 0) && output_of_layout(frame, k)) continue;
    if (frame.form == Form::Functional) {
      frame.outs[k] = nullptr;
      if (!meta.defined || (frame.op().flags & kOpDynamic)) continue;
      frame.targets[k] = frame.outs[k] = fresh_output(frame, meta).leak();
      frame.fresh |= 1u << k;
    } else if (frame.op().flags & kOpDynamic) {
      check_given(frame, k);
      frame.write_back[k] = frame.outs[k];
    } else {
      given_output(frame, k, entry);
    }
  }
}

void protect_outputs(CallFrame& frame, const KernelEntry& entry) {
  if (frame.form == Form::Functional) return;
  for (int k = 0; k < frame.op().n_results; ++k) {
    TensorImpl* tensor = frame.targets[k];
    if (tensor == nullptr || tensor != frame.outs[k] || tensor->composite() ||
        !disturbs(frame, *tensor, &entry, k))
      continue;
    frame.targets[k] = frame.keep(new_tensor(frame.op().name, tensor->dtype, frame.device,
                                             tensor->ndim(), tensor->view.sizes));
    frame.write_back[k] = tensor;
  }
}

void drop_outputs(CallFrame& frame) noexcept {
  for (int k = 0; k < frame.op().n_results; ++k) {
    if (frame.fresh >> k & 1) Impl::adopt(std::exchange(frame.outs[k], nullptr));
  }
}

void forget_outputs(CallFrame& frame) {
  drop_outputs(frame);
  frame.fresh = 0;
  for (int k = 0; k < frame.op().n_results; ++k) {
    frame.targets[k] = frame.write_back[k] = nullptr;
    if (frame.form == Form::Functional) frame.outs[k] = nullptr;
  }
}

void make_contiguous_outputs(CallFrame& frame) {
  for (int k = 0; k < frame.op().n_results; ++k) {
    TensorImpl* tensor = frame.targets[k];
    if (!tensor || tensor->contiguous() || tensor->composite()) continue;
    frame.targets[k] = frame.keep(new_tensor(frame.op().name, tensor->dtype, tensor->device_id,
                                             tensor->ndim(), tensor->view.sizes));
    if (!frame.write_back[k]) frame.write_back[k] = tensor;
  }
}

void finish_outputs(CallFrame& frame) {
  if (TENON_UNLIKELY(frame.layout != 0)) finish_component_outputs(frame);
  for (int k = 0; k < frame.op().n_results; ++k) {
    TensorImpl* given = frame.write_back[k];
    if (TENON_UNLIKELY(given != nullptr)) {
      TensorImpl& made = *frame.targets[k];
      if (given->sizes() != made.sizes()) resize(*given, made.ndim(), made.view.sizes);
      copy(*given, made);
    } else if (frame.form != Form::Functional && frame.outs[k]) {
      frame.outs[k]->bump_version();
    }
  }
  if (TENON_UNLIKELY(frame.lists != nullptr)) {
    for (auto [given, made] : frame.lists->written) copy(*given, *made);
  }
  for (int i = 0; i < frame.op().n_args; ++i) {
    if (TENON_LIKELY(!frame.op().args[i].mutates)) continue;
    if (frame.infer.in[i].tag == TN_TAG_TENSOR) frame.infer.tensor(i).bump_version();
    if (frame.infer.in[i].tag != TN_TAG_TENSOR_LIST) continue;
    for (int k = 0; k < frame.infer.list_size(i); ++k) {
      if (TensorImpl* tensor = frame.infer.list_tensor(i, k)) tensor->bump_version();
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
void expanded_view(CallFrame& frame, int i, const TensorImpl& tensor) {
  const OutMeta& meta = frame.infer.out[0];
  TENON_CHECK(frame.n_views < 8, ValueError, frame.op().name,
              ": more than 8 operands to broadcast");
  int64_t* strides = frame.view_strides[frame.n_views];
  tn_tensor& view = frame.views[frame.n_views++];
  view = tensor.view;
  broadcast_strides(tensor.sizes(), tensor.strides(), meta_sizes(meta), strides);
  view.ndim = meta.ndim;
  view.sizes = meta.sizes;
  view.strides = strides;
  view.flags = (view.flags & ~uint32_t{TN_TENSOR_CONTIGUOUS}) | TN_TENSOR_OVERLAPPING;
  frame.mutable_args()[i].u.tensor = &view;
}

Impl converted(const CallFrame& frame, TensorImpl& tensor, ScalarType dtype) {
  Impl made =
      new_tensor(frame.op().name, dtype, tensor.device_id, tensor.ndim(), tensor.view.sizes);
  copy(*made, tensor);
  return made;
}

// Whether a kernel must be given another tensor in place of this one.
bool unfit(const CallFrame& frame, const TensorImpl& tensor, bool cast, bool contiguous) {
  if (tensor.composite()) return false;
  return (cast && tensor.dtype != frame.infer.compute) || (contiguous && !tensor.contiguous());
}

bool list_fits(const CallFrame& frame, const tn_value& value, bool cast, bool contiguous) {
  for (uint32_t k = 0; k < value.len; ++k) {
    if (value.u.tensors[k] &&
        unfit(frame, *TensorImpl::from_view(value.u.tensors[k]), cast, contiguous))
      return false;
  }
  return true;
}

// What is written is copied back by finish_outputs.
TENON_COLD void convert_list(CallFrame& frame, int i, bool cast, bool contiguous) {
  const tn_value value = frame.in[i];
  if (!frame.lists) frame.lists = std::make_unique<CallFrame::Lists>();
  std::vector<const tn_tensor*> list(value.u.tensors, value.u.tensors + value.len);
  for (const tn_tensor*& p : list) {
    if (!p) continue;
    TensorImpl& tensor = *TensorImpl::from_view(p);
    if (!unfit(frame, tensor, cast, contiguous)) continue;
    frame.lists->tensors.push_back(
        converted(frame, tensor, cast ? frame.infer.compute : tensor.dtype));
    TensorImpl* made = frame.lists->tensors.back().get();
    if (frame.op().args[i].mutates) frame.lists->written.emplace_back(&tensor, made);
    p = &made->view;
  }
  frame.lists->views.push_back(std::move(list));
  frame.mutable_args()[i].u.tensors = frame.lists->views.back().data();
}

// The copy of a contiguous form of an expanded operand.
Impl materialised(const CallFrame& frame, const tn_tensor& expanded, const TensorImpl& tensor) {
  Impl view =
      TensorImpl::make(tensor.dtype, tensor.storage, expanded.byte_offset - tensor.storage->base,
                       expanded.ndim, expanded.sizes, expanded.strides);
  Impl made =
      new_tensor(frame.op().name, tensor.dtype, tensor.device_id, expanded.ndim, expanded.sizes);
  copy(*made, *view);
  return made;
}

void refuse_overlap(const CallFrame& frame, int i, const TensorImpl& tensor) {
  TENON_CHECK(!(tensor.view.flags & TN_TENSOR_OVERLAPPING) || tensor.numel <= 1, ValueError,
              frame.op().name, ": elements of '", frame.op().args[i].name,
              "', which is written, share memory (a stride of 0); clone() it first");
}

// An argument that the kernel writes: it gets a contiguous copy, which finish_outputs copies back.
TENON_COLD void write_through_copy(CallFrame& frame, int i, TensorImpl& tensor) {
  if (!frame.lists) frame.lists = std::make_unique<CallFrame::Lists>();
  TensorImpl* copied = frame.keep(converted(frame, tensor, tensor.dtype));
  frame.lists->written.emplace_back(&tensor, copied);
  frame.replace(i, *copied);
}

}  // namespace

void prepare_args(CallFrame& frame, uint32_t kernel_flags) {
  const bool contiguous = !(kernel_flags & TN_KERNEL_ANY_STRIDES);
  const bool casts =
      frame.infer.compute != ScalarType::Undefined && !(kernel_flags & TN_KERNEL_MIXED_DTYPES);
  // A kernel of a layout gets its strided operands as they are.
  const bool expands =
      frame.infer.broadcasts != 0 && !(kernel_flags & TN_KERNEL_BROADCASTS) && frame.layout == 0;
  for (int i = 0; i < frame.op().n_args; ++i) {
    const tn_value& value = frame.in[i];
    const uint64_t bit = uint64_t{1} << i;
    if (TENON_UNLIKELY(value.tag == TN_TAG_TENSOR_LIST)) {
      const bool cast = casts && (frame.infer.operands & bit);
      for (uint32_t k = 0; frame.op().args[i].mutates && k < value.len; ++k) {
        if (value.u.tensors[k])
          refuse_overlap(frame, i, *TensorImpl::from_view(value.u.tensors[k]));
      }
      if (!list_fits(frame, value, cast, contiguous)) convert_list(frame, i, cast, contiguous);
      continue;
    }
    if (value.tag != TN_TAG_TENSOR) continue;
    TensorImpl* tensor = TensorImpl::from_view(value.u.tensor);
    if (TENON_UNLIKELY(frame.layout != 0) && tensor->composite()) {
      prepare_components(frame, i, *tensor, casts && (frame.infer.operands & bit), contiguous);
      continue;
    }
    if (TENON_UNLIKELY(frame.op().args[i].mutates)) {
      refuse_overlap(frame, i, *tensor);
      if (contiguous && !tensor->contiguous()) write_through_copy(frame, i, *tensor);
      continue;
    }
    if (casts && (frame.infer.operands & bit) && tensor->dtype != frame.infer.compute) {
      if (!expands && cast_on_stack(frame, i, *tensor, frame.infer.compute)) continue;
      tensor = frame.keep(converted(frame, *tensor, frame.infer.compute));
      frame.replace(i, *tensor);
    }
    const OutMeta& meta = frame.infer.out[0];
    if (expands && (frame.infer.broadcasts & bit) &&
        (tensor->ndim() != meta.ndim || !same_dims(tensor->view.sizes, meta.sizes, meta.ndim))) {
      expanded_view(frame, i, *tensor);
      if (contiguous)
        frame.replace(i, *frame.keep(materialised(frame, *frame.in[i].u.tensor, *tensor)));
    } else if (contiguous && !tensor->contiguous()) {
      frame.replace(i, *frame.keep(converted(frame, *tensor, tensor->dtype)));
    }
  }
}

void reserve_random(CallFrame& frame) {
  for (int i = 0; i < frame.op().n_args; ++i) {
    if (frame.op().args[i].type != ArgType::Generator) continue;
    const tn_value& value = frame.in[i];
    if (value.tag == TN_TAG_GENERATOR)
      return;  // a staged call: reserved on the device that it came from
    const Device device = device_of(frame.device);
    GeneratorImpl& generator = value.tag == TN_TAG_NONE ? default_generator(device)
                                                        : *static_cast<GeneratorImpl*>(value.u.ptr);
    if (generator.device().type() != device.type()) {
      throw TypeError(join(frame.op().name, ": expected a generator of ", device.str(),
                           " but found one of ", generator.device().str()));
    }
    uint64_t n = frame.infer.random_count;
    if (n == 0) {
      n = 1;
      for (int d = 0; d < frame.infer.out[0].ndim; ++d)
        n *= static_cast<uint64_t>(frame.infer.out[0].sizes[d]);
    }
    const uint64_t words = frame.infer.draws ? n * frame.op().random_words : 0;
    frame.generator = is_capturing(frame.device) ? reserve_in_capture(generator, words)
                                                 : generator.reserve(words);
    tn_value& arg = frame.mutable_args()[i];
    arg.tag = TN_TAG_GENERATOR;
    arg.len = 0;
    arg.u.generator = &frame.generator;
    return;
  }
}

}  // namespace tenon::core
