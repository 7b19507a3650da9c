// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the boundary costs, with a kernel of tests/null that does nothing: a frame of four values
// filled and handed over (abi_kernel_4), the same with the views rebuilt and the kernel found in a
// table as core has it (abi_lookup_4), and the whole of core::call around it, for a result that
// exists already (abi_call_4).
#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "bench/harness.h"
#include "tenon/abi/plugin.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"

namespace {

namespace core = tenon::core;

// As a loader finds it; nothing is registered.
const tn_kernel& kernel_of(std::string_view op) {
  void* library = dlopen(BENCH_NULL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  auto entry =
      library ? reinterpret_cast<tn_plugin_entry_fn>(dlsym(library, TN_PLUGIN_ENTRY)) : nullptr;
  if (!entry) throw std::runtime_error(dlerror());
  const tn_plugin& plugin = *entry();
  for (const tn_kernel* const* k = plugin.kernels; k != plugin.kernels_end; ++k) {
    if (std::string_view((*k)->op.ptr, (*k)->op.len) == op) return **k;
  }
  throw std::runtime_error("the null plugin has no such kernel");
}

tn_value boxed(const core::Impl& t) {
  tn_value v;
  v.tag = TN_TAG_TENSOR;
  v.len = 0;
  v.u.tensor = &t->view;
  return v;
}

struct Operands {
  core::Impl out, self, other;
  explicit Operands(core::DeviceId device)
      : out(make(device)), self(make(device)), other(make(device)) {}
  static core::Impl make(core::DeviceId device) {
    const int64_t one = 1;
    return core::new_tensor("bench", tenon::kFloat, device, 1, &one);
  }
};

// The frame as core/dispatch/run_kernel.cpp fills it.
inline void hand_over(const tn_kernel& kernel, const tn_value* in, tn_value* out) {
  tn_call call;
  call.struct_size = sizeof call;
  call.n_in = 3;
  call.n_out = 1;
  call.in = in;
  call.out = out;
  call.stream = nullptr;
  call.workspace = nullptr;
  call.workspace_bytes = 0;
  call.state = kernel.state;
  call.device_error = nullptr;
  call.context = &call;
  call.correlation = 0;
  call.flags = TN_CALL_UNIFORM;
  call.op = 0;
  bench::keep(kernel.run(&call));
}

auto kernel_call() {
  return [&kernel = kernel_of("sub.Tensor"), t = Operands(core::kHost)] {
    const tn_value in[3] = {boxed(t.self), boxed(t.other), {TN_TAG_I64, 0, {1}}};
    tn_value out[1] = {boxed(t.out)};
    hand_over(kernel, in, out);
  };
}

// As in core/registry/cells.h.
struct Entry {
  const tn_kernel* kernel;
  core::DtypeMask dtypes;
  std::atomic<Entry*> next{nullptr};
};
struct Table {
  std::atomic<Entry*> cells[core::kMaxDevices][core::kMaxLayouts][2048] = {};
};

// What another owner of tensors would have to do: each view is written field by field.
tn_value viewed(const core::TensorImpl& t, tn_tensor& view) {
  view.data = t.view.data;
  view.device = t.view.device;
  view.ndim = t.view.ndim;
  view.dtype = t.view.dtype;
  view.sizes = t.view.sizes;
  view.strides = t.view.strides;
  view.byte_offset = t.view.byte_offset;
  view.layout = t.view.layout;
  view.flags = t.view.flags;
  view.storage = t.view.storage;
  tn_value v;
  v.tag = TN_TAG_TENSOR;
  v.len = 0;
  v.u.tensor = &view;
  return v;
}

auto lookup_call() {
  const core::Op& op = *core::find_op("sub.Tensor");
  auto entry = std::make_shared<Entry>();
  entry->kernel = &kernel_of("sub.Tensor");
  entry->dtypes = core::parse_dtype_mask("all");
  auto table = std::make_shared<Table>();
  table->cells[0][0][op.index] = entry.get();
  return [&op, entry, table, t = Operands(core::kHost)] {
    tn_tensor views[3];
    const tn_value in[3] = {
        viewed(*t.self, views[0]), viewed(*t.other, views[1]), {TN_TAG_I64, 0, {1}}};
    tn_value out[1] = {viewed(*t.out, views[2])};
    const Entry* e =
        table->cells[t.self->device_id.slot][0][op.index].load(std::memory_order_acquire);
    while (e && !e->dtypes.has(t.self->dtype)) e = e->next.load(std::memory_order_acquire);
    if (e) hand_over(*e->kernel, in, out);
  };
}

auto whole_call() {
  return
      [&op = *core::find_op("sub.Tensor"), t = Operands(core::device_id(tenon::Device("null")))] {
        const tn_value in[3] = {boxed(t.self), boxed(t.other), {TN_TAG_I64, 0, {1}}};
        core::TensorImpl* out = t.out.get();
        core::call(op, in, &out, core::Form::Out);
        bench::keep(out);
      };
}

}  // namespace

void abi_rows(bench::Suite& s) {
  s.row(
      "small", "abi_kernel_4", [] { return kernel_call(); },
      "frame of four values, kernel that does nothing");
  s.row(
      "small", "abi_lookup_4", [] { return lookup_call(); },
      "the same with its views and the kernel's cell");
  s.row(
      "small", "abi_call_4", [] { return whole_call(); }, "core::call of it, on the device null");
}
