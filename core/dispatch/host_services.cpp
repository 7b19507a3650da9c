// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/host_services.h"
#include "tenon/core/dispatch.h"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>

#include "core/dispatch/call_by_name.h"
#include "core/dispatch/frame.h"
#include "core/dispatch/registered_infer.h"
#include "core/registry/registered_op.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/base/settings.h"
#include "runtime/device/device.h"
#include "tenon/core/backend.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "tenon/runtime/threads.h"

namespace tenon::core {
namespace {

std::string_view view(tn_str text) { return {text.ptr, text.len}; }

void host_set_error(tn_call* call, tn_str text) {
  if (!call || !call->context) return;
  try {
    static_cast<CallFrame*>(call->context)->error.assign(text.ptr, text.len);
  } catch (const std::bad_alloc&) {
    // Nothing is thrown into a plugin; the status goes without its words.
  }
}

void host_log(int32_t level, tn_str text) { log(level, view(text)); }

// Runs a service; its exceptions become the status and the text of the call's error.
template <class Body>
tn_status serve(tn_call* call, Body body) {
  try {
    body(*static_cast<CallFrame*>(call->context));
    return TN_OK;
  } catch (const Error& error) {
    host_set_error(call, tn_str{error.msg().data(), error.msg().size()});
    return error.code();
  } catch (...) {
    return TN_ERROR_MEMORY;
  }
}

void check_shape(const char* service, int32_t ndim, const int64_t* sizes) {
  TENON_CHECK(ndim >= 0 && ndim <= kMaxDims, ValueError, service, ": a tensor has at most ",
              kMaxDims, " dimensions, got ", ndim);
  TENON_CHECK(ndim == 0 || sizes, ValueError, service, ": argument 'sizes' is null");
}

void give_output(CallFrame& frame, tn_call* call, uint32_t i, Impl tensor) {
  frame.targets[i] = tensor.get();
  if (frame.form == Form::Functional) {
    frame.outs[i] = tensor.leak();
    frame.fresh |= 1u << i;
  } else {
    frame.keep(std::move(tensor));
  }
  call->out[i].tag = TN_TAG_TENSOR;
  call->out[i].u.tensor = &frame.targets[i]->view;
}

void check_output(const CallFrame& frame, const char* service, uint32_t i) {
  TENON_CHECK(i < frame.op().n_results, ValueError, service, ": there is no output ", i,
              "; the op has ", frame.op().n_results);
}

tn_status host_alloc_out(tn_call* call, uint32_t i, int32_t ndim, const int64_t* sizes,
                         tn_dtype dtype) {
  return serve(call, [&](CallFrame& frame) {
    check_output(frame, "alloc_out", i);
    TENON_CHECK(!frame.targets[i], ValueError, "alloc_out: output ", i, " is sized already");
    check_shape("alloc_out", ndim, sizes);
    give_output(frame, call, i,
                new_tensor(frame.op().name, dtype_from_abi(dtype), frame.device, ndim, sizes));
  });
}

// The output's component, not there yet.
TensorImpl& open_component(CallFrame& frame, const char* service, uint32_t i, uint32_t component) {
  check_output(frame, service, i);
  TENON_CHECK(frame.targets[i] && frame.targets[i]->composite(), ValueError, service, ": output ",
              i, " is strided");
  TensorImpl& tensor = *frame.targets[i];
  TENON_CHECK(component < static_cast<uint32_t>(tensor.components->n), ValueError, service,
              ": layout ", layout_name(tensor.layout_slot), " has no component ", component);
  TENON_CHECK(!tensor.components->impl[component], ValueError, service, ": component ", component,
              " of output ", i, " is there already");
  return tensor;
}

void set_checked(const char* service, TensorImpl& tensor, uint32_t component, Impl part) {
  const bool values = component + 1 == static_cast<uint32_t>(tensor.components->n);
  TENON_CHECK(!values || part->dtype == tensor.dtype, ValueError, service,
              ": the values of a tensor of dtype ", dtype_name(tensor.dtype), " cannot be ",
              dtype_name(part->dtype));
  tensor.set_component(static_cast<int>(component), std::move(part));
}

tn_status host_alloc_component(tn_call* call, uint32_t i, uint32_t component, int32_t ndim,
                               const int64_t* sizes, tn_dtype dtype) {
  return serve(call, [&](CallFrame& frame) {
    TensorImpl& tensor = open_component(frame, "alloc_component", i, component);
    check_shape("alloc_component", ndim, sizes);
    set_checked("alloc_component", tensor, component,
                new_tensor(frame.op().name, dtype_from_abi(dtype), frame.device, ndim, sizes));
  });
}

tn_status host_share_component(tn_call* call, uint32_t i, uint32_t component,
                               const tn_tensor* tensor) {
  return serve(call, [&](CallFrame& frame) {
    check_output(frame, "share_component", i);
    TENON_CHECK(tensor, ValueError, "share_component: argument 'tensor' is null");
    TensorImpl& from = *TensorImpl::from_any_view(tensor);
    TENON_CHECK(!from.composite(), ValueError, "share_component: a component is strided");
    if (!frame.targets[i]) return give_output(frame, call, i, from.alias(false));
    TensorImpl& impl = open_component(frame, "share_component", i, component);
    TENON_CHECK(from.device_id == impl.device_id, ValueError, "share_component: the output is on ",
                impl.device().str(), ", the tensor on ", from.device().str());
    // Memory is shared, geometry is not: its owner may resize the tensor.
    set_checked("share_component", impl, component, from.alias(false));
  });
}

tn_status host_set_layout_flags(tn_call* call, uint32_t i, uint32_t flags) {
  return serve(call, [&](CallFrame& frame) {
    check_output(frame, "set_layout_flags", i);
    TENON_CHECK(frame.targets[i] && frame.targets[i]->composite(), ValueError,
                "set_layout_flags: output ", i, " is strided");
    frame.targets[i]->view.flags = flags & ~0u << TN_LAYOUT_FLAG;
  });
}

int32_t host_num_threads() { return num_threads(); }
const tn_ext* host_get_ext(uint32_t) { return nullptr; }

tn_status host_call_op(tn_call* call, tn_str name, const tn_value* in, uint32_t n_in, tn_value* out,
                       uint32_t n_out) {
  try {
    call_by_name(Caller::Kernel, view(name), in, n_in, out, n_out);
    return TN_OK;
  } catch (const Error& error) {
    host_set_error(call, tn_str{error.msg().data(), error.msg().size()});
    return error.code();
  } catch (const std::bad_alloc&) {
    return TN_ERROR_MEMORY;
  } catch (...) {
    return TN_ERROR;
  }
}

void host_release(tn_value* value) { release_value(*value); }

const tn_device_api* host_get_device_api(tn_str name, int32_t* type) {
  DeviceSlot slot = device_slot_from_name(view(name));
  if (slot < 0 || !device_entry(slot).api) return nullptr;
  if (type) *type = device_entry(slot).abi_type;
  return device_entry(slot).api;
}

// Nothing but its size is read before it is known to be there.
void check_schema(const tn_schema* schema) {
  constexpr std::size_t kMinSize = offsetof(tn_schema, infer), kMaxSize = 1 << 16;
  TENON_CHECK(schema && reinterpret_cast<uintptr_t>(schema) % alignof(tn_schema) == 0, ValueError,
              "register_op: the schema is null, or at an address that is not a multiple of ",
              alignof(tn_schema));
  TENON_CHECK(schema->struct_size >= kMinSize && schema->struct_size <= kMaxSize, ValueError,
              "register_op: the schema says that it has ", schema->struct_size, " bytes; expected ",
              kMinSize, " to ", kMaxSize);
}

tn_status host_register_op(const tn_schema* schema) {
  try {
    check_schema(schema);
    register_op(*schema);
    return TN_OK;
  } catch (const Error& error) {
    log(TN_LOG_ERROR, error.msg());
    return error.code();
  } catch (const std::exception&) {
    return TN_ERROR_MEMORY;
  }
}

// Values are kept for as long as the process lives: plugins ask for a handful.
struct KeptSettings {
  LeafMutex lock;
  std::set<std::string> values;
};
KeptSettings& g_kept_settings = *new KeptSettings;

tn_status host_get_setting(tn_str name, tn_str* value) {
  try {
    std::string v = setting(view(name));
    if (v.empty()) return TN_DECLINED;
    std::lock_guard hold(g_kept_settings.lock);
    const std::string& text = *g_kept_settings.values.insert(std::move(v)).first;
    *value = tn_str{text.data(), text.size()};
    return TN_OK;
  } catch (const std::bad_alloc&) {
    return TN_ERROR_MEMORY;
  }
}

const tn_host g_host = {sizeof(tn_host),
                        TN_ABI_MAJOR,
                        TN_ABI_MINOR,
                        host_set_error,
                        host_log,
                        host_alloc_out,
                        parallel_for,
                        host_num_threads,
                        host_get_ext,
                        host_call_op,
                        host_release,
                        host_get_device_api,
                        host_alloc_component,
                        host_register_op,
                        host_get_setting,
                        host_share_component,
                        host_set_layout_flags};

}  // namespace

int register_op(const tn_schema& schema) { return add_registered_op(schema, &infer_registered); }

const tn_host& host_table() { return g_host; }

}  // namespace tenon::core
