// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What serves a call without a native kernel, step by step: other kernels, float32 for a registered
// dtype, a decomposition, the host, strided copies of a layout; else an error that says why each
// step does not.
#include "core/dispatch/fallback.h"

#include "core/dispatch/arguments.h"
#include "core/dispatch/byte_copy.h"
#include "core/dispatch/component_tensor.h"
#include "core/dispatch/converted_dtype.h"
#include "core/dispatch/deliver_result.h"
#include "core/dispatch/densify.h"
#include "core/dispatch/fallback_counts.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/primitives.h"
#include "core/dispatch/run_kernel.h"
#include "runtime/base/in_flight.h"
#include "runtime/device/capture.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

Impl cast_to(const CallFrame& frame, Impl tensor, ScalarType dtype) {
  if (tensor->dtype == dtype) return tensor;
  Impl made =
      new_tensor(frame.op().name, dtype, tensor->device_id, tensor->ndim(), tensor->view.sizes);
  copy(*made, *tensor);
  return made;
}

// A function takes a generator, not a reserved range: one that starts where the range does.
Ref<GeneratorImpl> generator_of(CallFrame& frame) {
  for (uint32_t i = 0; i < frame.op().n_args; ++i) {
    if (frame.in[i].tag != TN_TAG_GENERATOR) continue;
    const tn_generator& range = *frame.in[i].u.generator;
    auto generator = Ref<GeneratorImpl>::adopt(new GeneratorImpl(device_of(frame.device), range));
    frame.mutable_args()[i].tag = TN_TAG_OPAQUE;
    frame.args[i].u.ptr = generator.get();
    return generator;
  }
  return {};
}

bool call_decomposition(CallFrame& frame, const std::string& reason) {
  if (frame.layout != 0 || !can_decompose(frame.op(), frame.device.slot, frame.dtype)) return false;
  if (!frame.device.is_host()) count_fallback(frame, ServedBy::Decomposition, reason, 0);
  const BoxedFn decomposition = decomposition_of(frame.op(), frame.dtype);
  if (frame.op().by_code != ByCode::None && !isComplexType(frame.dtype)) {
    call_by_code(frame);
    return true;
  }
  const Ref<GeneratorImpl> generator = generator_of(frame);
  OwnedValue out[kMaxOutputs];
  try {
    decomposition(frame.in, out);
  } catch (...) {
    rethrow_called(frame.op().name);
  }
  for (int k = 0; k < frame.op().n_results; ++k) {
    if (frame.infer.out[k].defined && out[k].tensor) {
      deliver_result(frame, k, std::move(out[k].tensor));
    }
  }
  return true;
}

// Of the host alone: those of every device were asked before.
bool host_has_kernel(const CallFrame& frame) {
  const KernelEntry* entry = cell(frame.op(), 0, frame.layout).load(std::memory_order_acquire);
  while (entry != nullptr && !kernel_fits(frame, *entry))
    entry = entry->next.load(std::memory_order_acquire);
  return entry != nullptr;
}

bool host_serves(const CallFrame& frame) {
  if (frame.device.is_host()) return false;
  if (frame.layout != 0) return host_has_kernel(frame);
  return find_kernel(frame.op(), 0, 0, frame.dtype) || can_decompose(frame.op(), 0, frame.dtype);
}

uint64_t bytes_of(const TensorImpl& tensor) {
  if (!tensor.composite()) return static_cast<uint64_t>(tensor.numel) * tensor.itemsize();
  uint64_t bytes = 0;
  for (int k = 0; k < tensor.components->n; ++k) bytes += bytes_of(*tensor.components->impl[k]);
  return bytes;
}

Impl copy_to_host(TensorImpl& tensor) {
  return tensor.composite() ? copy_composite(tensor, tensor.dtype, kHost) : to_host(tensor);
}

// A result that was computed on the host becomes one of the call's device.
void deliver_from_host(CallFrame& frame, int k, TensorImpl& made) {
  if (made.composite())
    return deliver_result(frame, k, copy_composite(made, made.dtype, frame.device));
  if (frame.targets[k]) return from_host(*frame.targets[k], made);
  if (frame.layout == 0 && !(frame.op().flags & kOpDynamic)) return;
  Impl there = new_tensor(frame.op().name, made.dtype, frame.device, made.ndim(), made.view.sizes);
  from_host(*there, made);
  deliver_result(frame, k, std::move(there));
}

bool call_on_host(CallFrame& frame, const std::string& reason) {
  if (!host_serves(frame)) return false;
  refuse_in_capture(frame.device, frame.op().name,
                    join("it would be computed on the host (", reason, ")"));
  uint64_t bytes = 0;
  std::vector<std::pair<TensorImpl*, Impl>> written;  // on the device, on the host
  Replaced args(frame.op(), frame.infer.in, [&](int i, TensorImpl& tensor) {
    if (tensor.device_id.is_host()) return Impl();
    bytes += bytes_of(tensor);
    Impl host = copy_to_host(tensor);
    if (frame.op().args[i].mutates) written.emplace_back(&tensor, host);
    return host;
  });
  for (int i = 0; i < frame.op().n_args; ++i) {
    if (args.in[i].tag == TN_TAG_DEVICE) args.in[i].u.device = tn_device{TN_CPU, 0};
    // Reserved already, so that the bits are those of a native kernel.
    if (frame.in[i].tag == TN_TAG_GENERATOR && frame.op().args[i].type == ArgType::Generator)
      args.in[i] = frame.in[i];
  }
  count_fallback(frame, ServedBy::Staged, reason, bytes);
  TensorImpl* outs[kMaxOutputs] = {};
  call(frame.op(), args.in, outs);
  Impl made[kMaxOutputs];
  for (int k = 0; k < frame.op().n_results; ++k) made[k] = Impl::adopt(outs[k]);
  for (int k = 0; k < frame.op().n_results; ++k) {
    if (made[k]) deliver_from_host(frame, k, *made[k]);
  }
  for (const auto& [device, host] : written) from_host(*device, *host);
  return true;
}

std::string native_reason(const CallFrame& frame) {
  if (frame.layout != 0) return "no kernel for this device and layout";
  KernelEntry* any = cell(frame.op(), frame.device.slot, 0).load(std::memory_order_acquire);
  if (!any) return "no kernel for this device";
  return join("no kernel for dtype ", dtype_name(frame.dtype));
}

// The kernels after one that declined, each with what its own flags promise it: a kernel that knows
// one layout of outputs, or may not write over an argument, never gets what the one before it was
// prepared for.
bool try_further_kernels(CallFrame& frame, const KernelEntry& declined) {
  KernelList kernels(frame, frame.device.slot, declined);
  while (KernelEntry* entry = kernels.next()) {
    protect_outputs(frame, *entry);
    if (try_kernel(frame, *entry)) return true;
    frame.restore_args();
  }
  return false;
}

// For calls with a dtype that is converted: computed in another. False if there is none in this
// call.
bool call_in_another_dtype(CallFrame& frame, const std::string& reason) {
  if (frame.layout != 0) return false;
  bool any = false;
  std::vector<std::pair<TensorImpl*, Impl>> mutated;
  Replaced args(frame.op(), frame.infer.in, [&](int i, TensorImpl& tensor) {
    if (!can_convert(tensor.dtype)) return Impl();
    any = true;
    Impl numbers = new_tensor(frame.op().name, computing_dtype(tensor.dtype), tensor.device_id,
                              tensor.ndim(), tensor.view.sizes);
    copy(*numbers, tensor);
    if (frame.op().args[i].mutates) mutated.emplace_back(&tensor, numbers);
    return numbers;
  });
  for (int i = 0; i < frame.op().n_args; ++i) {
    if (frame.op().args[i].type == ArgType::Generator)
      args.in[i] = frame.in[i];  // reserved already
    if (args.in[i].tag != TN_TAG_DTYPE) continue;
    const ScalarType dtype = dtype_from_abi(args.in[i].u.dtype);
    if (!can_convert(dtype)) continue;
    any = true;
    args.in[i].u.dtype = abi_dtype(computing_dtype(dtype));
  }
  if (!any) return false;
  count_fallback(frame, ServedBy::Cast, reason, 0);
  TensorImpl* outs[kMaxOutputs] = {};
  call(frame.op(), args.in, outs);
  for (int k = 0; k < frame.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (made) deliver_result(frame, k, cast_to(frame, std::move(made), frame.infer.out[k].dtype));
  }
  for (const auto& [given, made] : mutated) copy(*given, *made);
  return true;
}

[[noreturn]] TENON_COLD void nothing_serves(const CallFrame& frame, const std::string& native,
                                            bool declined) {
  if (frame.layout != 0) no_kernel_for_layouts(frame, declined);
  std::string why;
  can_decompose(frame.op(), frame.device.slot, frame.dtype, &why);
  const std::string& device = device_entry(frame.device).name;
  std::string key = join(device, ", ", dtype_name(frame.dtype));
  std::string absent = cell(frame.op(), 0, 0).load() || registered(frame.op())
                           ? ""
                           : join("; ", backend_source().why_absent("cpu"));
  throw NotImplementedError(join(
      frame.op().name, " has no kernel for ", key, ": native: ", native, "; decomposition: ", why,
      "; staged: ", frame.device.is_host() ? "this is the host" : "the host has no kernel either",
      absent));
}

}  // namespace

void fall_back(CallFrame& frame, const KernelEntry* declined) {
  frame.restore_args();
  if (declined != nullptr && try_further_kernels(frame, *declined)) return;
  if (frame.layout != 0) forget_outputs(frame);
  const std::string native =
      declined ? "the kernel declined these arguments" : native_reason(frame);
  for (auto serves : {call_in_another_dtype, call_decomposition, call_on_host, call_densified}) {
    if (serves(frame, native)) return;
  }
  nothing_serves(frame, native, declined != nullptr);
}

bool has_kernel(const Op& op, DeviceSlot slot, ScalarType dtype) {
  InFlight inside;
  if (op.flags & kOpOnDemand) first_call(op, slot);
  return find_kernel(op, slot, 0, dtype) != nullptr;
}

std::vector<Candidate> explain(const Op& op, DeviceSlot slot, ScalarType dtype) {
  InFlight inside;
  std::vector<Candidate> out;
  if (op.kind == OpKind::View)
    return {{ServedBy::View, true, "served by core: no kernel is needed"}};
  if (op.kind == OpKind::Composite)
    return {{ServedBy::Composite, true, "a function over other ops"}};
  if (op.flags & kOpNoKernel) return {{ServedBy::Core, true, "allocation only"}};
  if (!op_takes(op, dtype))
    return {{ServedBy::None, false, join("the operator takes ", op.dtypes)}};
  first_use(slot);
  if (op.flags & kOpOnDemand) first_call(op, slot);
  bool native = false;
  for (KernelEntry* entry = cell(op, slot, 0).load(); entry; entry = entry->next.load()) {
    std::string who =
        join(std::string_view(entry->plugin->name.ptr, entry->plugin->name.len), " ",
             std::string_view(entry->plugin->version.ptr, entry->plugin->version.len));
    bool takes = entry->dtypes.has(dtype);
    native |= takes;
    const std::string why = takes ? join(", priority ", entry->kernel->priority, ", of the plugin ",
                                         entry->plugin_priority)
                                  : " has no kernel for this dtype";
    out.push_back({ServedBy::Native, takes, join("plugin ", who, why)});
  }
  if (out.empty())
    out.push_back({ServedBy::Native, false, "no plugin has a kernel for this device"});
  std::string why =
      op.by_code == ByCode::None ? "a function of tenon/ops" : "one call of a primitive";
  bool decomposes = can_decompose(op, slot, dtype, &why);
  out.push_back({ServedBy::Decomposition, decomposes, why});
  bool host = !is_host_slot(slot) &&
              (find_kernel(op, kHostSlot, 0, dtype) || can_decompose(op, kHostSlot, dtype));
  out.push_back({ServedBy::Staged, host,
                 is_host_slot(slot) ? "this is the host"
                 : host             ? "through the host"
                                    : "the host has no kernel"});
  return out;
}

}  // namespace tenon::core
