// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/autocast.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/autocast.h"
#include "tenon/autocast_kernels.h"
#include "tenon/call/thread_state.h"
#include "tenon/runtime/error.h"

namespace tenon::autocast {
namespace {

struct Kept {
  Tensor source, cast;
  uint32_t version;
  bool recorded;
};

struct State {
  Settings settings;  // of the device types that were asked for
  std::unordered_map<const core::TensorImpl*, Kept> casts;
  bool keeps_casts = true;
  int nesting = 0;
};
__thread State* t_state __attribute__((tls_model("initial-exec")));
void drop_state() noexcept {
  delete t_state;
  t_state = nullptr;
}
__thread core::ThreadEnd t_state_end __attribute__((tls_model("initial-exec"))) = {drop_state};
State& state() { return thread_state(t_state, t_state_end); }

Setting& setting(DeviceType type) {
  auto& all = state().settings;
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Setting& s) { return s.type == type; });
  if (at != all.end()) return *at;
  all.push_back({type, false, type == kCPU ? kBFloat16 : kHalf});
  return all.back();
}

// The bit of the thread says whether it is on for any device.
void renew_mode() {
  const Settings& all = state().settings;
  const bool any = std::any_of(all.begin(), all.end(), [](const Setting& s) { return s.enabled; });
  autograd::t_mode = any ? autograd::t_mode | autograd::kAutocast
                         : autograd::t_mode & ~uint32_t{autograd::kAutocast};
}

}  // namespace

Settings settings() { return state().settings; }

SettingsGuard::SettingsGuard(const Settings& other) : before_(settings()) {
  state().settings = other;
  renew_mode();
}
SettingsGuard::~SettingsGuard() {
  state().settings.swap(before_);
  renew_mode();
}

bool is_autocast_enabled(DeviceType device_type) {
  return (autograd::t_mode & autograd::kAutocast) && setting(device_type).enabled;
}

void set_autocast_enabled(DeviceType device_type, bool enabled) {
  setting(device_type).enabled = enabled;
  renew_mode();
}

ScalarType get_autocast_dtype(DeviceType device_type) { return setting(device_type).dtype; }

void set_autocast_dtype(DeviceType device_type, ScalarType dtype) {
  TENON_CHECK(isFloatingType(dtype), TypeError, "set_autocast_dtype: ", toString(dtype),
              " is not a floating-point dtype");
  setting(device_type).dtype = dtype;
}

bool is_autocast_cache_enabled() { return state().keeps_casts; }
void set_autocast_cache_enabled(bool enabled) { state().keeps_casts = enabled; }
void clear_cache() { state().casts.clear(); }
int increment_nesting() { return ++state().nesting; }
int decrement_nesting() { return --state().nesting; }

AutocastGuard::AutocastGuard(DeviceType device_type, std::optional<ScalarType> dtype, bool enabled,
                             std::optional<bool> cache_enabled)
    : device_type_(device_type),
      enabled_before_(setting(device_type).enabled),
      cache_before_(is_autocast_cache_enabled()),
      dtype_before_(get_autocast_dtype(device_type)) {
  if (dtype) set_autocast_dtype(device_type, *dtype);
  set_autocast_enabled(device_type, enabled);
  if (cache_enabled) set_autocast_cache_enabled(*cache_enabled);
  increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (decrement_nesting() == 0) clear_cache();
  setting(device_type_).dtype = dtype_before_;
  set_autocast_enabled(device_type_, enabled_before_);
  set_autocast_cache_enabled(cache_before_);
}

namespace {

Tensor cast_of(const Tensor& t, ScalarType to) {
  State& s = state();
  const bool is_weight =
      t.scalar_type() == kFloat && to != kFloat && t.requires_grad() && t.is_leaf() && !t.is_view();
  if (!is_weight || !s.keeps_casts || s.nesting == 0) return t.to(to);
  const bool recorded = autograd::recording();
  const uint32_t version = t.unsafeGetTensorImpl()->version();
  Kept& kept = s.casts[t.unsafeGetTensorImpl()];
  if (!kept.source.defined() || kept.version != version || kept.recorded != recorded ||
      kept.cast.scalar_type() != to)
    kept = {t, t.to(to), version, recorded};
  return kept.cast;
}

bool is_eligible(const Tensor& t, ScalarType to, DeviceType device_type) {
  return t.defined() && t.is_floating_point() && t.scalar_type() != kDouble &&
         t.scalar_type() != to && t.device().type() == device_type;
}

}  // namespace

Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType device_type) {
  return is_eligible(t, to, device_type) ? cast_of(t, to) : t;
}

}  // namespace tenon::autocast

namespace tenon::autograd {

void Autocast::look_at(const Tensor& t) {
  if (!t.defined() || !t.is_floating_point() || t.scalar_type() == kDouble) return;
  const DeviceType type = t.device().type();
  if (!device_ && autocast::setting(type).enabled) device_ = type;
  if (device_ == type) any_float32_ |= t.scalar_type() == kFloat;
}

void Autocast::decide(int id, CastPolicy on_host, CastPolicy on_device) {
  if (!device_) return;
  const CastPolicy policy = *device_ == kCPU ? on_host : on_device;
  if (policy == CastPolicy::none) return;
  const ScalarType lower = autocast::setting(*device_).dtype;
  TENON_CHECK(policy != CastPolicy::banned, TypeError, core::op_at(id).name,
              ": not under autocast, as ", toString(lower),
              " does not hold its values; binary_cross_entropy_with_logits is safe");
  const bool wide = policy == CastPolicy::fp32 || (policy == CastPolicy::promote && any_float32_);
  to_ = wide ? kFloat : lower;
  on_ = true;
  t_mode &= ~uint32_t{kAutocast};
}

bool Autocast::is_eligible(const Tensor& t) const {
  return autocast::is_eligible(t, to_, *device_);
}

Tensor Autocast::operator()(const Tensor& t) const {
  return is_eligible(t) ? autocast::cast_of(t, to_) : t;
}

std::optional<Tensor> Autocast::operator()(const std::optional<Tensor>& t) const {
  return t ? std::optional<Tensor>((*this)(*t)) : std::nullopt;
}

std::vector<Tensor> Autocast::operator()(TensorList list) const {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back((*this)(t));
  return out;
}

}  // namespace tenon::autograd
