// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/compat/type_properties.h"

#include <map>
#include <mutex>
#include <ostream>
#include <tuple>

#include "runtime/base/leaf_mutex.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

struct Table {
  core::LeafMutex mutex;
  std::map<std::tuple<DeviceType, Layout, ScalarType>, DeprecatedTypeProperties*> known;
};
Table& table() {
  static Table* const t = new Table;  // programs keep references, also in statics
  return *t;
}

}  // namespace

DeprecatedTypeProperties& getDeprecatedTypeProperties(DeviceType device, Layout layout,
                                                      ScalarType dtype) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  DeprecatedTypeProperties*& at = t.known[{device, layout, dtype}];
  if (!at) at = new DeprecatedTypeProperties(device, layout, dtype);
  return *at;
}

Backend DeprecatedTypeProperties::backend() const {
  for (int i = 0; i < static_cast<int>(Backend::Undefined); ++i) {
    const auto b = static_cast<Backend>(i);
    if (backendToDeviceType(b) == device_ && layout_from_backend(b) == layout_) return b;
  }
  return Backend::Undefined;
}

std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t) {
  return out << t.toString();
}
std::string DeprecatedTypeProperties::toString() const { return type_string(options()); }

DeprecatedTypeProperties& DeprecatedTypeProperties::toBackend(Backend b) const {
  return getDeprecatedTypeProperties(b, dtype_);
}
DeprecatedTypeProperties& DeprecatedTypeProperties::toScalarType(ScalarType dtype) const {
  return getDeprecatedTypeProperties(device_, layout_, dtype);
}
DeprecatedTypeProperties& DeprecatedTypeProperties::cpu() const {
  return getDeprecatedTypeProperties(DeviceType::CPU, layout_, dtype_);
}
DeprecatedTypeProperties& DeprecatedTypeProperties::cuda() const {
  return getDeprecatedTypeProperties(DeviceType::CUDA, layout_, dtype_);
}

TensorOptions DeprecatedTypeProperties::options(DeviceIndex index) const {
  return TensorOptions().dtype(dtype_).device(Device(device_, index)).layout(layout_);
}
TensorOptions DeprecatedTypeProperties::options(std::optional<Device> device) const {
  if (!device) return options();
  TENON_CHECK(device->type() == device_, ValueError, "options: the device of ", toString(),
              " cannot be ", device->str());
  return options(device->index());
}

Tensor DeprecatedTypeProperties::copy(const Tensor& src, bool non_blocking,
                                      std::optional<Device> device) const {
  const Tensor moved = src.to(options(device).layout(src.layout()), non_blocking, /*copy=*/true);
  if (moved.layout() == layout_) return moved;
  return layout_ == kSparse ? moved.to_sparse() : moved.to_dense();
}

}  // namespace tenon
