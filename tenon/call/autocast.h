// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the generated public functions do under at::autocast (ops/autocast.tsv). Private to
// libtenon.
#pragma once

#include <optional>
#include <vector>

#include "tenon/call/generated.h"

namespace tenon::autocast {

// All settings of a thread, for a run of the same call later.
struct Setting {
  DeviceType type;
  bool enabled = false;
  ScalarType dtype;
};
using Settings = std::vector<Setting>;
Settings settings();
class SettingsGuard {
 public:
  explicit SettingsGuard(const Settings& other);
  ~SettingsGuard();
  SettingsGuard(const SettingsGuard&) = delete;

 private:
  Settings before_;
};

}  // namespace tenon::autocast

namespace tenon::autograd {

enum class CastPolicy : uint8_t { none, lower_precision_fp, fp32, promote, banned };

// The arguments of one call: which dtype they are cast to, if to any. While it lives, no other call
// is changed, if this one is.
class Autocast {
 public:
  // The tensors among the arguments of an operator, and what it does with those of the host and of
  // other devices. TypeError if it is banned.
  template <class... Arguments>
  Autocast(int id, CastPolicy on_host, CastPolicy on_device, const Arguments&... tensors) {
    (look_at(tensors), ...);
    decide(id, on_host, on_device);
  }
  ~Autocast() {
    if (on_) t_mode |= kAutocast;
  }
  Autocast(const Autocast&) = delete;
  explicit operator bool() const { return on_; }

  Tensor operator()(const Tensor& t) const;
  std::optional<Tensor> operator()(const std::optional<Tensor>& t) const;
  std::vector<Tensor> operator()(TensorList list) const;
  // Indices.
  ArrayRef<std::optional<Tensor>> operator()(ArrayRef<std::optional<Tensor>> list) const {
    return list;
  }

 private:
  void look_at(const Tensor& t);
  void look_at(const std::optional<Tensor>& t) {
    if (t) look_at(*t);
  }
  void look_at(TensorList list) {
    for (const Tensor& t : list) look_at(t);
  }
  void look_at(ArrayRef<std::optional<Tensor>>) {}
  void decide(int id, CastPolicy on_host, CastPolicy on_device);
  bool is_eligible(const Tensor& t) const;

  std::optional<DeviceType> device_;  // of the first tensor that may be cast
  bool any_float32_ = false;          // among those of that device
  ScalarType to_ = ScalarType::Undefined;
  bool on_ = false;
};

// Whether the arguments of a call are cast.
template <class... Arguments>
TENON_COLD bool is_cast(int id, CastPolicy on_host, CastPolicy on_device,
                        const Arguments&... tensors) {
  return static_cast<bool>(Autocast(id, on_host, on_device, tensors...));
}

}  // namespace tenon::autograd
