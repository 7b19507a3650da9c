// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tensor cut into pieces on several devices, and back. Both are recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::autograd {

// Cuts one tensor along `dim` into a piece for each device: of `chunk_sizes` if they are given,
// else of equal size, where the last may be smaller and there are fewer pieces than devices if the
// tensor has fewer elements there. ValueError: no devices; another number of sizes than of devices.
class TENON_API Scatter {
 public:
  explicit Scatter(std::vector<Device> devices,
                   std::optional<std::vector<int64_t>> chunk_sizes = std::nullopt, int64_t dim = 0);
  std::vector<Tensor> apply(std::vector<Tensor> inputs) const;

 private:
  std::vector<Device> devices_;
  std::optional<std::vector<int64_t>> chunk_sizes_;
  int64_t dim_;
};

// Joins tensors of any devices along `dim`, on one device. Tensors without dimensions are joined to
// a vector.
class TENON_API Gather {
 public:
  explicit Gather(Device destination_device, int64_t dim = 0)
      : destination_device_(destination_device), dim_(dim) {}
  std::vector<Tensor> apply(std::vector<Tensor> inputs) const;  // one tensor

 private:
  Device destination_device_;
  int64_t dim_;
};

}  // namespace tenon::autograd
