// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What serves a call without a native kernel, step by step: other kernels, float32 for a registered
// dtype, a decomposition, the host, strided copies of a layout; else an error that says why each
// step does not.
#include "core/dispatch/fallback.h"

#include "core/dispatch/arguments.h"
#include "core/dispatch/byte_copy.h"
#include "core/dispatch/component_tensor.h"
#include "core/dispatch/deliver_result.h"
#include "core/dispatch/fallback_counts.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/primitives.h"
#include "core/dispatch/registered_dtype.h"
#include "core/dispatch/run_kernel.h"
#include "runtime/base/in_flight.h"
#include "runtime/device/capture.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

Impl cast_to(const CallFrame& f, Impl t, ScalarType dtype) {
  if (t->dtype == dtype) return t;
  Impl made = new_tensor(f.op().name, dtype, t->device_id, t->ndim(), t->view.sizes);
  copy(*made, *t);
  return made;
}

// A function takes a generator, not a reserved range: one that starts where the range does.
Ref<GeneratorImpl> generator_of(CallFrame& f) {
  for (uint32_t i = 0; i < f.op().n_args; ++i) {
    if (f.in[i].tag != TN_TAG_GENERATOR) continue;
    const tn_generator& range = *f.in[i].u.generator;
    auto g = Ref<GeneratorImpl>::adopt(new GeneratorImpl(device_of(f.device), range));
    f.mutable_args()[i].tag = TN_TAG_OPAQUE;
    f.args[i].u.ptr = g.get();
    return g;
  }
  return {};
}

bool call_decomposition(CallFrame& f, const std::string& reason) {
  if (f.layout != 0 || !can_decompose(f.op(), f.device.slot, f.dtype)) return false;
  if (!f.device.is_host()) count_fallback(f, ServedBy::Decomposition, reason, 0);
  const BoxedFn decomposition = decomposition_of(f.op(), f.dtype);
  if (f.op().by_code != ByCode::None && !isComplexType(f.dtype)) {
    call_by_code(f);
    return true;
  }
  const Ref<GeneratorImpl> generator = generator_of(f);
  OwnedValue out[kMaxOutputs];
  try {
    decomposition(f.in, out);
  } catch (...) {
    rethrow_called(f.op().name);
  }
  for (int k = 0; k < f.op().n_results; ++k) {
    if (f.c.out[k].defined && out[k].tensor) {
      deliver_result(f, k, std::move(out[k].tensor));
    }
  }
  return true;
}

// Of the host alone: those of every device were asked before.
bool host_has_kernel(const CallFrame& f) {
  const KernelEntry* e = cell(f.op(), 0, f.layout).load(std::memory_order_acquire);
  while (e != nullptr && !kernel_fits(f, *e)) e = e->next.load(std::memory_order_acquire);
  return e != nullptr;
}

bool host_serves(const CallFrame& f) {
  if (f.device.is_host()) return false;
  if (f.layout != 0) return host_has_kernel(f);
  return find_kernel(f.op(), 0, 0, f.dtype) || can_decompose(f.op(), 0, f.dtype);
}

uint64_t bytes_of(const TensorImpl& t) {
  if (!t.composite()) return static_cast<uint64_t>(t.numel) * t.itemsize();
  uint64_t bytes = 0;
  for (int k = 0; k < t.components->n; ++k) bytes += bytes_of(*t.components->impl[k]);
  return bytes;
}

Impl copy_to_host(TensorImpl& t) {
  return t.composite() ? copy_composite(t, t.dtype, kHost) : to_host(t);
}

// A result that was computed on the host becomes one of the call's device.
void deliver_from_host(CallFrame& f, int k, TensorImpl& made) {
  if (made.composite()) return deliver_result(f, k, copy_composite(made, made.dtype, f.device));
  if (f.targets[k]) return from_host(*f.targets[k], made);
  if (f.layout == 0 && !(f.op().flags & kOpDynamic)) return;
  Impl there = new_tensor(f.op().name, made.dtype, f.device, made.ndim(), made.view.sizes);
  from_host(*there, made);
  deliver_result(f, k, std::move(there));
}

bool call_on_host(CallFrame& f, const std::string& reason) {
  if (!host_serves(f)) return false;
  refuse_in_capture(f.device, f.op().name, join("it would be computed on the host (", reason, ")"));
  uint64_t bytes = 0;
  std::vector<std::pair<TensorImpl*, Impl>> written;  // on the device, on the host
  Replaced args(f.op(), f.c.in, [&](int i, TensorImpl& t) {
    if (t.device_id.is_host()) return Impl();
    bytes += bytes_of(t);
    Impl host = copy_to_host(t);
    if (f.op().args[i].mutates) written.emplace_back(&t, host);
    return host;
  });
  for (int i = 0; i < f.op().n_args; ++i) {
    if (args.in[i].tag == TN_TAG_DEVICE) args.in[i].u.device = tn_device{TN_CPU, 0};
    // Reserved already, so that the bits are those of a native kernel.
    if (f.in[i].tag == TN_TAG_GENERATOR && f.op().args[i].type == ArgType::Generator)
      args.in[i] = f.in[i];
  }
  count_fallback(f, ServedBy::Staged, reason, bytes);
  TensorImpl* outs[kMaxOutputs] = {};
  call(f.op(), args.in, outs);
  Impl made[kMaxOutputs];
  for (int k = 0; k < f.op().n_results; ++k) made[k] = Impl::adopt(outs[k]);
  for (int k = 0; k < f.op().n_results; ++k) {
    if (made[k]) deliver_from_host(f, k, *made[k]);
  }
  for (const auto& [device, host] : written) from_host(*device, *host);
  return true;
}

std::string native_reason(const CallFrame& f) {
  if (f.layout != 0) return "no kernel for this device and layout";
  KernelEntry* any = cell(f.op(), f.device.slot, 0).load(std::memory_order_acquire);
  if (!any) return "no kernel for this device";
  return join("no kernel for dtype ", dtype_name(f.dtype));
}

// The kernels after one that declined, each with what its own flags promise it: a kernel that knows
// one layout of outputs, or may not write over an argument, never gets what the one before it was
// prepared for.
bool try_further_kernels(CallFrame& f, const KernelEntry& declined) {
  KernelList kernels(f, f.device.slot, declined);
  while (KernelEntry* e = kernels.next()) {
    protect_outputs(f, *e);
    if (try_kernel(f, *e)) return true;
    f.restore_args();
  }
  return false;
}

// For calls with a dtype that a plugin registered: computed in float32. False if there is none in
// this call.
bool call_as_float(CallFrame& f, const std::string& reason) {
  if (f.layout != 0) return false;
  auto known = [](ScalarType t) { return foreign(t) && dtype_ext(t) != nullptr; };
  bool any = false;
  std::vector<std::pair<TensorImpl*, Impl>> mutated;
  Replaced args(f.op(), f.c.in, [&](int i, TensorImpl& t) {
    if (!known(t.dtype)) return Impl();
    any = true;
    Impl floats = new_tensor(f.op().name, kFloat, t.device_id, t.ndim(), t.view.sizes);
    copy(*floats, t);
    if (f.op().args[i].mutates) mutated.emplace_back(&t, floats);
    return floats;
  });
  for (int i = 0; i < f.op().n_args; ++i) {
    if (f.op().args[i].type == ArgType::Generator) args.in[i] = f.in[i];  // reserved already
    if (args.in[i].tag != TN_TAG_DTYPE || !known(dtype_from_abi(args.in[i].u.dtype))) continue;
    any = true;
    args.in[i].u.dtype = abi_dtype(kFloat);
  }
  if (!any) return false;
  count_fallback(f, ServedBy::Cast, reason, 0);
  TensorImpl* outs[kMaxOutputs] = {};
  call(f.op(), args.in, outs);
  for (int k = 0; k < f.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (made) deliver_result(f, k, cast_to(f, std::move(made), f.c.out[k].dtype));
  }
  for (const auto& [given, made] : mutated) copy(*given, *made);
  return true;
}

[[noreturn]] TENON_COLD void nothing_serves(const CallFrame& f, const std::string& native,
                                            bool declined) {
  if (f.layout != 0) no_kernel_for_layouts(f, declined);
  std::string why;
  can_decompose(f.op(), f.device.slot, f.dtype, &why);
  const std::string& device = device_entry(f.device).name;
  std::string key = join(device, ", ", dtype_name(f.dtype));
  std::string absent = cell(f.op(), 0, 0).load() || registered(f.op())
                           ? ""
                           : join("; ", backend_source().why_absent("cpu"));
  throw NotImplementedError(
      join(f.op().name, " has no kernel for ", key, ": native: ", native, "; decomposition: ", why,
           "; staged: ", f.device.is_host() ? "this is the host" : "the host has no kernel either",
           absent));
}

}  // namespace

void fall_back(CallFrame& f, const KernelEntry* declined) {
  f.restore_args();
  if (declined != nullptr && try_further_kernels(f, *declined)) return;
  if (f.layout != 0) forget_outputs(f);
  const std::string native = declined ? "the kernel declined these arguments" : native_reason(f);
  for (auto serves : {call_as_float, call_decomposition, call_on_host, call_densified}) {
    if (serves(f, native)) return;
  }
  nothing_serves(f, native, declined != nullptr);
}

bool has_kernel(const Op& op, DeviceSlot slot, ScalarType dtype) {
  InFlight inside;
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
  bool native = false;
  for (KernelEntry* e = cell(op, slot, 0).load(); e; e = e->next.load()) {
    std::string who = join(std::string_view(e->plugin->name.ptr, e->plugin->name.len), " ",
                           std::string_view(e->plugin->version.ptr, e->plugin->version.len));
    bool takes = e->dtypes.has(dtype);
    native |= takes;
    const std::string why =
        takes ? join(", priority ", e->kernel->priority, ", of the plugin ", e->plugin_priority)
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
