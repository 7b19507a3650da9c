// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/device_batches.h"

namespace tenon::data::detail {

DeviceCopies::DeviceCopies(std::optional<Device> device) {
  if (device && !device->is_cpu()) stream_ = stream_from_pool(*device);
}

Tensor DeviceCopies::begin(const Tensor& t) const {
  if (!t.defined()) return t;
  const StreamGuard on(*stream_);
  return t.to(stream_->device(), /*non_blocking=*/true);
}

Event DeviceCopies::mark() const {
  Event copied(stream_->device_type());
  copied.record(*stream_);
  return copied;
}

void DeviceCopies::wait(const Event& copied) const {
  copied.block(current_stream(stream_->device()));
}

void DeviceCopies::hand_over(const Tensor& t) const {
  if (t.defined()) t.record_stream(current_stream(stream_->device()));
}

}  // namespace tenon::data::detail
