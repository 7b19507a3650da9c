// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Mixed precision: while autocast is on for a device type, operators on its tensors cast their
// arguments, products and convolutions to a dtype of 16 bits, what needs range or precision to
// float32. ops/autocast.tsv lists the operators; calls in place and with out= are not changed, and
// neither are arguments of float64. All of this is per thread.
//
//   autocast::AutocastGuard mixed(kCUDA);
//   auto loss = mse_loss(net(x), y);
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon::autocast {

TENON_API bool is_autocast_enabled(DeviceType device_type);
TENON_API void set_autocast_enabled(DeviceType device_type, bool enabled);
// bfloat16 on the CPU and float16 elsewhere, unless it was set; TypeError for a dtype that is not
// floating point.
TENON_API ScalarType get_autocast_dtype(DeviceType device_type);
TENON_API void set_autocast_dtype(DeviceType device_type, ScalarType dtype);

// Casts of leaves that require grad, of float32 to the device's dtype, are kept until the outermost
// guard ends, so that a weight is cast once; one that was written since is cast again.
TENON_API bool is_autocast_cache_enabled();
TENON_API void set_autocast_cache_enabled(bool enabled);
TENON_API void clear_cache();
// Of guards; both return the new depth.
TENON_API int increment_nesting();
TENON_API int decrement_nesting();

// Turns it on, or off, for a scope; the cache goes with the outermost scope.
class TENON_API AutocastGuard {
 public:
  explicit AutocastGuard(DeviceType device_type, std::optional<ScalarType> dtype = std::nullopt,
                         bool enabled = true, std::optional<bool> cache_enabled = std::nullopt);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType device_type_;
  bool enabled_before_, cache_before_;
  ScalarType dtype_before_;
};

}  // namespace tenon::autocast
