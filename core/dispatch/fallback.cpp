// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The rungs below a native kernel: decomposition, staging through the host, and an error that says why each refused.
// Every use is counted; see fallback_counts().
#include <map>
#include <mutex>
#include <tuple>

#include "core/base/in_flight.h"
#include "core/base/leaf_mutex.h"
#include "core/base/settings.h"
#include "core/device/capture.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/byte_copy.h"
#include "core/dispatch/fallback.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/primitives.h"
#include "core/dispatch/registered_dtype.h"
#include "core/dispatch/run_kernel.h"
#include "tenon/core/backend_source.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/error.h"
#include "tenon/core/log.h"

namespace tenon::core {
namespace {

struct Counts {
  LeafMutex mutex;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::pair<uint64_t, uint64_t>> map;
};
Counts& g_counts = *new Counts;  // never destroyed: tensors may outlive statics
std::atomic<int> g_policy{-1};

constexpr const char* kPolicies[] = {"allow", "warn", "forbid", "forbid-staging"};  // as Fallback

Fallback policy_from_setting() {
  return static_cast<Fallback>(choice_setting("FALLBACK", kPolicies, 4, static_cast<int>(Fallback::Allow)));
}

// What a fallback would do, for an error that forbids it.
const char* way_of(std::string_view rung) {
  if (rung == "staged") return "staged through the host";
  if (rung == "cast") return "computed in float32";
  if (rung == "densified") return "computed on strided copies";
  return "decomposed";
}

[[noreturn]] TENON_COLD void forbidden(const CallFrame& f, std::string_view rung, const std::string& reason) {
  const bool staged = rung == "staged";
  std::string why;
  if (staged) can_decompose(f.op(), f.slot, f.dtype, &why);
  const char* way = way_of(rung);
  const std::string more = why.empty() ? "" : "; no decomposition: " + why;
  throw NotImplementedError(
      join(f.op().name, ": would be ", way, " on ", device_entry(f.slot).name, " (", reason, more,
           "), which is forbidden by setting (TENON_FALLBACK=", kPolicies[static_cast<int>(fallback())],
           "): give the device a kernel for it, call it on tensors of the host, or ",
           staged ? "set warn" : "set forbid-staging"));
}

}  // namespace

void count_fallback(const CallFrame& f, const char* rung, const std::string& reason, uint64_t bytes) {
  const std::string& device = device_entry(f.slot).name;
  const Fallback policy = fallback();
  const bool staged = std::string_view(rung) == "staged";
  if (policy == Fallback::Forbid || (policy == Fallback::ForbidStaging && staged)) forbidden(f, rung, reason);
  {
    Counts& c = g_counts;
    std::lock_guard lock(c.mutex);
    auto& entry = c.map[{f.op().name, device, rung, reason}];
    ++entry.first;
    entry.second += bytes;
  }
  if (policy == Fallback::Warn) {
    std::string key = join(f.op().name, "@", device, "/", rung);
    warn_once(key, "fallback", join(f.op().name, " on ", device, " is served by ", rung, ": ", reason));
  }
}

void deliver(CallFrame& f, int k, Impl made, ScalarType dtype) {
  if (made->dtype != dtype) {
    Impl cast = new_tensor(f.op().name, dtype, made->slot, made->index, made->ndim(), made->view.sizes);
    copy(*cast, *made);
    made = std::move(cast);
  }
  if (!f.targets[k]) {  // dynamic: the result is what was made
    if (f.form == Form::Functional) {
      f.outs[k] = made.leak();
      f.fresh |= 1u << k;
    } else {
      f.targets[k] = f.keep(std::move(made));
    }
    return;
  }
  TensorImpl& target = *f.targets[k];
  const bool owned = made->use_count() == 1 && made->storage->use_count() == 1 && made->sizes() == target.sizes();
  TensorImpl* given = f.write_back[k];
  if (owned && given && (made->dtype == target.dtype || given->dtype == target.dtype)) {
    f.targets[k] = f.keep(std::move(made));  // copied into what was given at the end of the call
    return;
  }
  if (owned && f.outs[k] == &target && (f.fresh >> k & 1) && made->dtype == target.dtype &&
      made->strides() == target.strides() && made->storage->bytes == target.storage->bytes) {
    Impl::adopt(std::exchange(f.outs[k], made.leak()));
    f.targets[k] = f.outs[k];
    return;
  }
  copy(target, *made);
}

namespace {

// A function takes a generator, not a reserved range: one that starts where the range does.
Ref<GeneratorImpl> generator_of(CallFrame& f) {
  for (uint32_t i = 0; i < f.op().n_args; ++i) {
    if (f.in[i].tag != TN_TAG_GENERATOR) continue;
    const tn_generator& range = *f.in[i].u.generator;
    Device device(device_entry(f.slot).type, static_cast<DeviceIndex>(f.index));
    auto g = Ref<GeneratorImpl>::adopt(new GeneratorImpl(device, range));
    f.mutable_args()[i].tag = TN_TAG_OPAQUE;
    f.args[i].u.ptr = g.get();
    return g;
  }
  return {};
}

bool decompose(CallFrame& f, const std::string& reason) {
  if (!can_decompose(f.op(), f.slot, f.dtype)) return false;
  if (f.slot != 0) count_fallback(f, "decomposition", reason, 0);
  if (f.op().by_code != ByCode::None) {
    call_by_code(f);
    return true;
  }
  const Ref<GeneratorImpl> generator = generator_of(f);
  OwnedValue out[kMaxOutputs];
  try {
    f.op().decomposition.load(std::memory_order_acquire)(f.in, out);
  } catch (...) {
    rethrow_called(f.op().name);
  }
  for (int k = 0; k < f.op().n_results; ++k) {
    if (f.c.out[k].defined && out[k].tensor) {
      const ScalarType dtype = out[k].tensor->dtype;
      deliver(f, k, std::move(out[k].tensor), dtype);
    }
  }
  return true;
}

struct StagedArgs {
  tn_value in[kMaxArgs];
  std::vector<Impl> host;
  std::vector<std::vector<const tn_tensor*>> lists;
  std::vector<std::pair<TensorImpl*, TensorImpl*>> mutated;  // device, host
  uint64_t bytes = 0;

  const tn_tensor* stage(TensorImpl& t) {
    if (t.slot == 0) return &t.view;
    host.push_back(to_host(t));
    bytes += static_cast<uint64_t>(t.numel) * t.itemsize();
    return &host.back()->view;
  }
};

bool stage(CallFrame& f, const std::string& reason) {
  if (f.slot == 0 || !find_kernel(f.op(), 0, 0, f.dtype)) {
    if (f.slot == 0 || !can_decompose(f.op(), 0, f.dtype)) return false;
  }
  refuse_in_capture(f.slot, f.index, f.op().name, join("it would be computed on the host (", reason, ")"));
  StagedArgs s;
  for (int i = 0; i < f.op().n_args; ++i) {
    s.in[i] = f.c.in[i];
    if (s.in[i].tag == TN_TAG_TENSOR) {
      TensorImpl& t = f.c.tensor(i);
      s.in[i].u.tensor = s.stage(t);
      if (f.op().args[i].mutates && t.slot != 0) s.mutated.emplace_back(&t, s.host.back().get());
    } else if (s.in[i].tag == TN_TAG_TENSOR_LIST) {
      std::vector<const tn_tensor*> list(s.in[i].u.tensors, s.in[i].u.tensors + s.in[i].len);
      for (const tn_tensor*& p : list) {
        if (!p) continue;
        TensorImpl& t = *TensorImpl::from_view(p);
        p = s.stage(t);
        if (f.op().args[i].mutates && t.slot != 0) s.mutated.emplace_back(&t, s.host.back().get());
      }
      s.lists.push_back(std::move(list));
      s.in[i].u.tensors = s.lists.back().data();
    } else if (s.in[i].tag == TN_TAG_DEVICE) {
      s.in[i].u.device = tn_device{TN_CPU, 0};
    } else if (f.op().args[i].type == ArgType::Generator && f.in[i].tag == TN_TAG_GENERATOR) {
      s.in[i] = f.in[i];  // reserved already, so that the bits are those of a native kernel
    }
  }
  count_fallback(f, "staged", reason, s.bytes);
  TensorImpl* outs[kMaxOutputs];
  call(f.op(), s.in, outs);
  Impl made[kMaxOutputs];
  for (int k = 0; k < f.op().n_results; ++k) made[k] = Impl::adopt(outs[k]);
  for (int k = 0; k < f.op().n_results; ++k) {
    if (!made[k]) continue;
    if (f.targets[k]) {
      from_host(*f.targets[k], *made[k]);
    } else if (f.op().flags & kOpDynamic) {
      Impl there = new_tensor(f.op().name, made[k]->dtype, f.slot, f.index, made[k]->ndim(), made[k]->view.sizes);
      from_host(*there, *made[k]);
      deliver(f, k, std::move(there), made[k]->dtype);
    }
  }
  for (auto [device, host] : s.mutated) from_host(*device, *host);
  return true;
}

std::string native_reason(const CallFrame& f) {
  KernelEntry* any = cell(f.op(), f.slot, 0).load(std::memory_order_acquire);
  if (!any) return "no kernel for this device";
  return join("no kernel for dtype ", dtype_name(f.dtype));
}

// The kernels of the cell behind one that declined, each with what its own flags promise it: a kernel that knows one
// layout of outputs, or may not write over an argument, never gets what the one before it was prepared for.
bool try_further_kernels(CallFrame& f, const KernelEntry& declined) {
  KernelEntry* e = declined.next.load(std::memory_order_acquire);
  for (; e != nullptr; e = e->next.load(std::memory_order_acquire)) {
    if (!e->dtypes.has(f.dtype) || !knows_dtypes(f, *e)) continue;
    protect_outputs(f, *e);
    if (!(e->flags & TN_KERNEL_ANY_STRIDES)) make_contiguous_outputs(f);
    prepare_args(f, e->flags);
    if (run_kernel(f, *e)) return true;
    f.restore_args();
  }
  return false;
}

// For calls with a dtype that a plugin registered: computed in float32. False if there is none in this call.
bool call_as_float(CallFrame& f, const std::string& reason) {
  auto known = [](ScalarType t) { return foreign(t) && dtype_ext(t) != nullptr; };
  bool any = false;
  std::vector<std::pair<TensorImpl*, Impl>> mutated;
  Replaced args(f.op(), f.c.in, [&](int i, TensorImpl& t) {
    if (!known(t.dtype)) return Impl();
    any = true;
    Impl floats = new_tensor(f.op().name, kFloat, t.slot, t.index, t.ndim(), t.view.sizes);
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
  count_fallback(f, "cast", reason, 0);
  TensorImpl* outs[kMaxOutputs] = {};
  call(f.op(), args.in, outs);
  for (int k = 0; k < f.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (made) deliver(f, k, std::move(made), f.c.out[k].dtype);
  }
  for (const auto& [given, made] : mutated) copy(*given, *made);
  return true;
}

}  // namespace

void climb(CallFrame& f, const KernelEntry* declined) {
  f.restore_args();
  if (declined != nullptr && try_further_kernels(f, *declined)) return;
  const std::string native = declined ? "the kernel declined these arguments" : native_reason(f);
  if (call_as_float(f, native) || decompose(f, native) || stage(f, native)) return;
  std::string why;
  can_decompose(f.op(), f.slot, f.dtype, &why);
  const std::string& device = device_entry(f.slot).name;
  std::string key = join(device, ", ", dtype_name(f.dtype));
  std::string absent =
      cell(f.op(), 0, 0).load() || registered(f.op()) ? "" : join("; ", backend_source().why_absent("cpu"));
  throw NotImplementedError(
      join(f.op().name, " has no kernel for ", key, ": native: ", native, "; decomposition: ", why,
           "; staged: ", f.slot == 0 ? "this is the host" : "the host has no kernel either", absent));
}

void set_fallback(Fallback f) { g_policy.store(static_cast<int>(f), std::memory_order_relaxed); }

Fallback fallback() {
  int p = g_policy.load(std::memory_order_relaxed);
  if (p < 0) g_policy.store(p = static_cast<int>(policy_from_setting()), std::memory_order_relaxed);
  return static_cast<Fallback>(p);
}

std::vector<FallbackCount> fallback_counts() {
  Counts& c = g_counts;
  std::lock_guard lock(c.mutex);
  std::vector<FallbackCount> out;
  for (const auto& [key, value] : c.map) {
    const auto& [op, device, rung, reason] = key;
    out.push_back({op, device, rung, reason, value.first, value.second});
  }
  return out;
}

std::string fallback_summary() {
  uint64_t calls = 0, bytes = 0, ops = 0;
  for (const FallbackCount& c : fallback_counts()) {
    ++ops;
    calls += c.calls;
    bytes += c.bytes;
  }
  return calls ? join(calls, " calls of ", ops, " ops fell back (", bytes, " bytes staged); `fallback_counts` has them")
               : "";
}

void reset_fallback_counts() {
  Counts& c = g_counts;
  std::lock_guard lock(c.mutex);
  c.map.clear();
}

bool has_kernel(const Op& op, int slot, ScalarType dtype) {
  InFlight inside;
  return find_kernel(op, slot, 0, dtype) != nullptr;
}

std::vector<Rung> explain(const Op& op, int slot, ScalarType dtype) {
  InFlight inside;
  std::vector<Rung> out;
  if (op.kind == OpKind::View) return {{"view", true, "served by core: no kernel is needed"}};
  if (op.kind == OpKind::Composite) return {{"composite", true, "a function over other ops"}};
  if (op.flags & kOpNoKernel) return {{"core", true, "allocation only"}};
  if (!op_takes(op, dtype)) return {{"row", false, join("the row takes ", op.dtypes)}};
  first_use(slot);
  bool native = false;
  for (KernelEntry* e = cell(op, slot, 0).load(); e; e = e->next.load()) {
    std::string who = join(std::string_view(e->plugin->name.ptr, e->plugin->name.len), " ",
                           std::string_view(e->plugin->version.ptr, e->plugin->version.len));
    bool takes = e->dtypes.has(dtype);
    native |= takes;
    const std::string why = takes ? join(", priority ", e->kernel->priority, ", of the plugin ", e->plugin_priority)
                                  : " has no kernel for this dtype";
    out.push_back({"native", takes, join("plugin ", who, why)});
  }
  if (out.empty()) out.push_back({"native", false, "no plugin has a kernel for this device"});
  std::string why = op.by_code == ByCode::None ? "a function of tenon/ops" : "one call of a primitive";
  bool decomposes = can_decompose(op, slot, dtype, &why);
  out.push_back({"decomposition", decomposes, why});
  bool host = slot != 0 && (find_kernel(op, 0, 0, dtype) || can_decompose(op, 0, dtype));
  out.push_back({"staged", host,
                 slot == 0 ? "this is the host"
                 : host    ? "through the host"
                           : "the host has no kernel"});
  return out;
}

}  // namespace tenon::core
