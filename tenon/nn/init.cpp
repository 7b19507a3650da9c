// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace init {

namespace {

int64_t fan(const Tensor& tensor, FanModeType mode) {
  const auto both = _calculate_fan_in_and_fan_out(tensor);
  return mode.is<enumtype::kFanIn>() ? std::get<0>(both) : std::get<1>(both);
}

void check_rank(const char* name, const Tensor& tensor, int64_t low, int64_t high) {
  TENON_CHECK(tensor.dim() >= low && tensor.dim() <= high, ValueError, name,
              ": expected a tensor of ", low, low == high ? "" : " or more", " dimensions",
              high < 64 && low != high ? core::join(", at most ", high) : "", ", got ",
              tensor.dim());
}

// Makes the columns of a [rows, columns] matrix (rows >= columns) orthonormal, in order. A second
// pass against the earlier columns removes what rounding left of them.
void orthonormalize(std::vector<double>& a, int64_t rows, int64_t columns) {
  auto at = [&](int64_t r, int64_t c) -> double& {
    return a[static_cast<std::size_t>(r * columns + c)];
  };
  for (int64_t c = 0; c < columns; ++c) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < c; ++k) {
        double dot = 0;
        for (int64_t r = 0; r < rows; ++r) dot += at(r, k) * at(r, c);
        for (int64_t r = 0; r < rows; ++r) at(r, c) -= dot * at(r, k);
      }
    }
    double norm = 0;
    for (int64_t r = 0; r < rows; ++r) norm += at(r, c) * at(r, c);
    norm = std::sqrt(norm);
    for (int64_t r = 0; r < rows; ++r) at(r, c) /= norm;
  }
}

}  // namespace

std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  TENON_CHECK(tensor.dim() >= 2, ValueError,
              "fan in and fan out need a tensor of 2 or more dimensions, got ", tensor.dim());
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

double calculate_gain(NonlinearityType nonlinearity, double param) {
  switch (nonlinearity.name()) {
    case enumtype::Name::Tanh:
      return 5.0 / 3.0;
    case enumtype::Name::ReLU:
      return std::sqrt(2.0);
    case enumtype::Name::LeakyReLU:
      return std::sqrt(2.0 / (1 + param * param));
    case enumtype::Name::SELU:
      return 0.75;
    default:
      return 1;
  }
}

Tensor constant_(Tensor tensor, Scalar value) {
  NoGradGuard no_grad;
  return tensor.fill_(value);
}
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }

Tensor eye_(Tensor matrix) {
  check_rank("eye_", matrix, 2, 2);
  NoGradGuard no_grad;
  matrix.zero_();
  matrix.diagonal().fill_(1);
  return matrix;
}

Tensor dirac_(Tensor tensor) {
  check_rank("dirac_", tensor, 3, 5);
  NoGradGuard no_grad;
  tensor.zero_();
  const int64_t channels = std::min(tensor.size(0), tensor.size(1));
  Tensor middle = tensor;
  for (int64_t d = tensor.dim() - 1; d >= 2; --d) middle = middle.select(d, tensor.size(d) / 2);
  if (channels > 0) middle.diagonal().fill_(1);
  return tensor;
}

Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}

Tensor orthogonal_(Tensor tensor, double gain) {
  check_rank("orthogonal_", tensor, 2, 64);
  if (tensor.numel() == 0) return tensor;
  NoGradGuard no_grad;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const bool wide = rows < columns;
  const Tensor drawn =
      tenon::randn({wide ? columns : rows, wide ? rows : columns}, TensorOptions().dtype(kDouble));
  const double* begin = drawn.data_ptr<double>();
  std::vector<double> values(begin, begin + drawn.numel());
  orthonormalize(values, drawn.size(0), drawn.size(1));
  std::copy(values.begin(), values.end(), drawn.data_ptr<double>());
  const Tensor q = wide ? drawn.t() : drawn;
  tensor.copy_((q * gain).reshape(tensor.sizes()));
  return tensor;
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  check_rank("sparse_", tensor, 2, 2);
  NoGradGuard no_grad;
  tensor.normal_(0, std);
  const int64_t rows = tensor.size(0);
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  for (int64_t column = 0; column < tensor.size(1); ++column) {
    const Tensor index =
        tenon::randperm(rows, TensorOptions().dtype(kLong).device(tensor.device()));
    tensor.select(1, column).index_fill_(0, index.narrow(0, 0, zeros), 0);
  }
  return tensor;
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const auto [in, out] = _calculate_fan_in_and_fan_out(tensor);
  return normal_(std::move(tensor), 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const auto [in, out] = _calculate_fan_in_and_fan_out(tensor);
  const double bound = std::sqrt(3.0) * gain * std::sqrt(2.0 / static_cast<double>(in + out));
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double std =
      calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan(tensor, mode)));
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double std =
      calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan(tensor, mode)));
  const double bound = std::sqrt(3.0) * std;
  return uniform_(std::move(tensor), -bound, bound);
}

}  // namespace init
}  // namespace nn
}  // namespace tenon
