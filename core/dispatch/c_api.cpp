// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// abi/client.h, nothing else. A handle is the address of a TensorImpl's view; the handle owns one
// reference.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "core/dispatch/call_by_name.h"
#include "tenon/abi/client.h"
#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/thread_end.h"

namespace {

using namespace tenon;
using core::Impl;
using core::TensorImpl;

// This thread's: a literal, or `t_own_text`.
__thread const char* t_error __attribute__((tls_model("initial-exec")));
__thread char* t_own_text __attribute__((tls_model("initial-exec")));

void drop_text() noexcept {
  std::free(std::exchange(t_own_text, nullptr));
  t_error = nullptr;
}
__thread core::ThreadEnd t_text_end __attribute__((tls_model("initial-exec"))) = {drop_text};
__thread bool t_text_ends __attribute__((tls_model("initial-exec")));

tn_status failed(tn_status code, const char* text) noexcept {
  if (!t_text_ends) t_text_ends = core::at_thread_end(t_text_end);
  std::free(t_own_text);
  t_own_text = t_text_ends ? strdup(text) : nullptr;
  t_error = t_own_text != nullptr ? t_own_text : "no memory was left for the error's text";
  return code;
}

// Rule 7 of base.h: nothing is thrown across the boundary.
template <class Body>
tn_status guarded(Body body) noexcept {
  try {
    t_error = nullptr;
    body();
    return TN_OK;
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(TN_ERROR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(TN_ERROR, error.what());
  } catch (...) {
    return failed(TN_ERROR, "an exception of an unknown type");
  }
}

std::string text(tn_str s) {
  TENON_CHECK(s.ptr || s.len == 0, ValueError, "a text is a null pointer with length ", s.len);
  return std::string(s.ptr ? s.ptr : "", s.len);
}

template <class T>
T& checked(T* p, const char* function, const char* name) {
  TENON_CHECK(p, ValueError, function, ": argument '", name, "' is null");
  return *p;
}

TensorImpl& impl(tn_handle h, const char* function) {
  return *TensorImpl::from_view(&checked(h, function, "tensor"));
}

Impl make(const char* function, int32_t ndim, const int64_t* sizes, tn_dtype dtype,
          tn_device device) {
  TENON_CHECK(ndim >= 0 && ndim <= core::kMaxDims, ValueError, function,
              ": ndim must be from 0 to ", core::kMaxDims, ", got ", ndim);
  TENON_CHECK(ndim == 0 || sizes, ValueError, function, ": argument 'sizes' is null");
  const core::DeviceId id = core::device_id(core::device_from_abi(device));
  return core::new_tensor(function, core::dtype_from_abi(dtype), id, ndim, sizes);
}

uint64_t byte_count(const TensorImpl& tensor) {
  return static_cast<uint64_t>(tensor.numel) * tensor.itemsize();
}

void check_bytes(const char* function, const TensorImpl& tensor, const void* data, uint64_t bytes) {
  uint64_t expected = byte_count(tensor);
  TENON_CHECK(bytes == expected, ValueError, function, ": the tensor has ", expected,
              " bytes, the buffer ", bytes);
  TENON_CHECK(data || bytes == 0, ValueError, function, ": argument 'data' is null");
}

// A row-major host tensor over the caller's buffer, for the duration of a copy.
Impl borrowed(const TensorImpl& like, void* data, uint64_t bytes) {
  auto storage = core::Storage::wrap(core::kHost, data, bytes, nullptr, nullptr);
  return TensorImpl::make(like.dtype, storage, 0, like.ndim(), like.view.sizes);
}

}  // namespace

extern "C" {

uint32_t tn_abi_version(void) { return TN_ABI_MAJOR << 16 | TN_ABI_MINOR; }

const char* tn_last_error(void) { return t_error != nullptr ? t_error : ""; }

tn_status tn_device_from_name(tn_str name, tn_device* out) {
  return guarded([&] {
    checked(out, "tn_device_from_name", "out") =
        core::abi_device(core::resolve(Device(text(name))));
  });
}

tn_status tn_dtype_from_name(tn_str name, tn_dtype* out) {
  return guarded([&] {
    checked(out, "tn_dtype_from_name", "out") = core::abi_dtype(core::dtype_from_name(text(name)));
  });
}

tn_status tn_layout_from_name(tn_str name, uint32_t* out) {
  return guarded([&] {
    checked(out, "tn_layout_from_name", "out") = core::abi_layout(core::usable_layout(text(name)));
  });
}

tn_status tn_empty(int32_t ndim, const int64_t* sizes, tn_dtype dtype, tn_device device,
                   tn_handle* out) {
  return guarded([&] {
    checked(out, "tn_empty", "out") = &make("tn_empty", ndim, sizes, dtype, device).leak()->view;
  });
}

tn_status tn_from_host(int32_t ndim, const int64_t* sizes, tn_dtype dtype, const void* data,
                       uint64_t bytes, tn_device device, tn_handle* out) {
  return guarded([&] {
    checked(out, "tn_from_host", "out");
    Impl tensor = make("tn_from_host", ndim, sizes, dtype, device);
    check_bytes("tn_from_host", *tensor, data, bytes);
    if (tensor->device_id.is_host()) {
      if (bytes) std::memcpy(tensor->host_data(), data, bytes);
    } else if (bytes) {
      core::copy(*tensor, *borrowed(*tensor, const_cast<void*>(data), bytes));
      core::synchronize(tensor->device_id);  // the caller's buffer is its own again
    }
    *out = &tensor.leak()->view;
  });
}

tn_status tn_to_host(tn_handle tensor, void* data, uint64_t bytes) {
  return guarded([&] {
    TensorImpl& t = impl(tensor, "tn_to_host");
    check_bytes("tn_to_host", t, data, bytes);
    core::synchronize(t.device_id);
    if (bytes == 0) return;
    if (t.device_id.is_host() && t.contiguous()) {
      std::memcpy(data, t.host_data(), bytes);
    } else {
      core::copy(*borrowed(t, data, bytes), t);
      core::synchronize(t.device_id);
    }
  });
}

void tn_retain(tn_handle tensor) {
  if (tensor) TensorImpl::from_view(tensor)->retain();
}

void tn_release(tn_handle tensor) {
  if (tensor) Impl::adopt(TensorImpl::from_view(tensor)).reset();
}

tn_status tn_call_op(tn_str op, const tn_value* in, uint32_t n_in, tn_value* out, uint32_t n_out) {
  return guarded([&] {
    TENON_CHECK(in || n_in == 0, ValueError, "tn_call_op: argument 'in' is null");
    TENON_CHECK(out || n_out == 0, ValueError, "tn_call_op: argument 'out' is null");
    core::call_by_name(core::Caller::Program, text(op), in, n_in, out, n_out);
  });
}

void tn_release_value(tn_value* value) {
  if (value) core::release_value(*value);
}

tn_status tn_load_plugin(tn_str path) {
  return guarded([&] { core::backend_source().open_file(text(path)); });
}

tn_status tn_synchronize(tn_device device) {
  return guarded([&] { core::synchronize(core::device_id(core::device_from_abi(device))); });
}

}  // extern "C"
