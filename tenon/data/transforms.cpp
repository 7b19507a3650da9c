// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/transforms.h"

#include "tenon/data/datasets.h"
#include "tenon/ops.h"

namespace tenon::data {

datasets::TensorDataset::TensorDataset(const std::vector<Tensor>& tensors)
    : TensorDataset(stack(tensors)) {}

namespace transforms {

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  data.reserve(examples.size());
  targets.reserve(examples.size());
  for (auto& e : examples) {
    data.push_back(std::move(e.data));
    targets.push_back(std::move(e.target));
  }
  return {stack(data), stack(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  data.reserve(examples.size());
  for (auto& e : examples) data.push_back(std::move(e.data));
  return stack(data);
}

namespace detail {

Tensor channel_column(ArrayRef<double> values) {
  return tensor(values, kFloat32).view({static_cast<int64_t>(values.size()), 1, 1});
}
Tensor normalized(const Tensor& input, const Tensor& mean, const Tensor& stddev) {
  return (input - mean) / stddev;
}

}  // namespace detail
}  // namespace transforms
}  // namespace tenon::data
