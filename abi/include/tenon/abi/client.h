/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* For programs in other languages than C++, or of another compiler: tensors, operators by name,
 * devices. Exported by libtenon_core. Handles are owned by the caller and released with tn_release.
 */
#ifndef TENON_ABI_CLIENT_H_
#define TENON_ABI_CLIENT_H_

#include "tenon/abi/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TN_API
#define TN_API __attribute__((visibility("default")))
#endif

/* A tensor handle is a pointer to its view: read sizes, strides and dtype through it. */
typedef const tn_tensor* tn_handle;

TN_API uint32_t tn_abi_version(void); /* major << 16 | minor */
/* text of this thread's last failure; valid until its next call */
TN_API const char* tn_last_error(void);

TN_API tn_status tn_device_from_name(tn_str name, tn_device* out); /* "cpu", "cuda:1" */
TN_API tn_status tn_dtype_from_name(tn_str name, tn_dtype* out);
TN_API tn_status tn_layout_from_name(tn_str name, uint32_t* out);

TN_API tn_status tn_empty(int32_t ndim, const int64_t* sizes, tn_dtype dtype, tn_device device,
                          tn_handle* out);
/* Copies a row-major host buffer of `bytes` bytes, which must be numel * itemsize. */
TN_API tn_status tn_from_host(int32_t ndim, const int64_t* sizes, tn_dtype dtype, const void* data,
                              uint64_t bytes, tn_device device, tn_handle* out);
/* Waits for the device and writes the elements in row-major order. */
TN_API tn_status tn_to_host(tn_handle tensor, void* data, uint64_t bytes);
TN_API void tn_retain(tn_handle tensor);
TN_API void tn_release(tn_handle tensor);

/* Calls operator "name.overload". Arguments that are left out at the end take their defaults.
 * Tensors in out[] are new handles; a TENSOR_LIST is released with tn_release_value. On failure
 * every out[i] is NONE. */
TN_API tn_status tn_call_op(tn_str op, const tn_value* in, uint32_t n_in, tn_value* out,
                            uint32_t n_out);
TN_API void tn_release_value(tn_value* value);

TN_API tn_status tn_load_plugin(tn_str path);
TN_API tn_status tn_synchronize(tn_device device);

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_CLIENT_H_ */
