// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/combined.h"

#include <cmath>
#include <numeric>

#include "tenon/ops.h"

namespace tenon::data::datasets::detail {

std::vector<std::size_t> bounds_of_parts(const std::vector<std::size_t>& lengths,
                                         std::size_t size) {
  std::vector<std::size_t> begins;
  std::size_t sum = 0;
  bool ok = true;
  for (std::size_t n : lengths) {
    begins.push_back(sum);
    ok = ok && !__builtin_add_overflow(sum, n, &sum);
  }
  TENON_CHECK(ok && sum == size, ValueError, "random_split: the lengths add up to ", sum,
              ", but the dataset has ", size, " examples");
  return begins;
}

std::vector<std::size_t> lengths_of_shares(const std::vector<double>& shares, std::size_t size) {
  double sum = 0;
  bool ok = true;
  for (double s : shares) {
    ok = ok && s >= 0 && s <= 1;
    sum += s;
  }
  TENON_CHECK(ok && std::abs(sum - 1) < 1e-6, ValueError,
              "random_split: expected shares between 0 and 1 that add up to 1, got a sum of ", sum);
  std::vector<std::size_t> lengths;
  std::size_t left = size;
  for (double s : shares) {
    const auto n = std::min(left, static_cast<std::size_t>(s * static_cast<double>(size)));
    lengths.push_back(n);
    left -= n;
  }
  for (std::size_t i = 0; left > 0; ++i, --left) ++lengths[i % lengths.size()];
  return lengths;
}

std::vector<std::size_t> permutation(std::size_t n, const std::optional<Generator>& generator) {
  const Tensor order = randperm(static_cast<int64_t>(n), generator, kLong);
  const auto* at = order.const_data_ptr<int64_t>();
  return {at, at + n};
}

std::size_t part_of(std::size_t index, const std::vector<std::size_t>& ends) {
  const auto at = std::upper_bound(ends.begin(), ends.end(), index);
  TENON_CHECK(at != ends.end(), IndexError, "ConcatDataset: index ", index, " is out of range for ",
              ends.back(), " examples");
  return static_cast<std::size_t>(at - ends.begin());
}

}  // namespace tenon::data::datasets::detail
