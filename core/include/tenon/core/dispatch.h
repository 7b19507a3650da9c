// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calling an op, and what happens when its device has no kernel for it.
#pragma once

#include "tenon/core/infer.h"

namespace tenon::core {

// One call without autograd. in[] has every argument of the operator. outs[]: Functional: filled
// with new tensors, which the caller owns (null where an output_mask refuses). Inplace: outs[0] is
// argument 0. Out: all are given; core resizes them. Throws what the operator or the kernel
// refuses, or that nothing serves the call; then nothing was written.
TENON_API void call(const Op& op, const tn_value* in, TensorImpl** outs,
                    Form form = Form::Functional);

// dst = src: any dtypes, any devices, src broadcast to dst. Counts as a write to dst.
TENON_API void copy(TensorImpl& dst, TensorImpl& src, bool non_blocking = false);
// The one element, read back from the device.
TENON_API Scalar item(TensorImpl& t);

// What happens when a device has no native kernel; every use of a fallback is counted. Forbid
// refuses decompositions and staging, ForbidStaging only that a call leaves the device.
enum class Fallback : uint8_t { Allow, Warn, Forbid, ForbidStaging };
TENON_API void set_fallback(Fallback f);
TENON_API Fallback fallback();

// What serves a call: core itself, a kernel of the device, or a step of the fallback chain, in its
// order. None: the operator does not take the dtype.
enum class ServedBy : uint8_t {
  View,
  Composite,
  Core,
  Native,
  Cast,
  Decomposition,
  Staged,
  Densified,
  None
};
TENON_API const char* toString(ServedBy by) noexcept;  // "native", "decomposition", ...

struct FallbackCount {
  std::string op, device;
  ServedBy by;
  std::string reason;
  uint64_t calls, bytes;
};
TENON_API std::vector<FallbackCount> fallback_counts();
TENON_API std::string fallback_summary();  // one line; empty if there was none
TENON_API void reset_fallback_counts();

// What could serve an operator on a device with a dtype, first choice first, and why or why not.
struct Candidate {
  ServedBy by;
  bool serves;
  std::string reason;  // "libtenon_cpu 0.1.0", "no kernel for dtype bfloat16", ...
};
TENON_API std::vector<Candidate> explain(const Op& op, DeviceSlot slot, ScalarType dtype);
// Whether a plugin has a kernel of the operator there, which may still decline; opens what serves
// the device.
TENON_API bool has_kernel(const Op& op, DeviceSlot slot, ScalarType dtype);

// Whether there is a kernel of the operator for the layout, on some device.
TENON_API bool layout_serves(int layout_slot, const Op& op) noexcept;

// What becomes of a call that no kernel of its layout serves: Forbid is an error, Allow makes its
// tensors strided.
enum class Densify : uint8_t { Forbid, Warn, Allow };
TENON_API void set_densify(Densify d);
TENON_API Densify densify();

// Kernel calls, for the profiler: one observer at a time; null turns it off. Called after each
// kernel.
using KernelObserver = void (*)(void* context, const Op& op, DeviceSlot slot, int64_t begin_ns,
                                int64_t end_ns);
TENON_API void set_kernel_observer(KernelObserver f, void* context);

// Every nth native call on a device is run again on the reference device and compared; 0 turns it
// off.
TENON_API void set_shadow(uint32_t every_nth, std::string_view reference_device);
TENON_API uint64_t shadow_mismatches() noexcept;

TENON_API void set_deterministic(bool on);
TENON_API bool deterministic() noexcept;

}  // namespace tenon::core
