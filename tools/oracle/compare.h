// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Comparisons. Each returns a text of the first difference, or an empty string.
#pragma once

#include <string>

#include "case_reader.h"
#include "tenon/core/op.h"

namespace tenon::oracle {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

// |ours - truth| <= atol + rtol * |truth|; NaN equals NaN, infinities by sign. Shapes must agree;
// integers and booleans are exact. The dtype of `truth` does not matter unless it is exact.
std::string compare_values(const Values& ours, const Values& truth, Tolerance tol);

// Indices may select any element that is equal to the expected one (max, sort, topk, max_pool ...).
class EqualValueRule {
 public:
  // Inactive when the op has no such output, or promises a stable order.
  EqualValueRule(const core::Op& op, const tn_value* in);
  bool covers(int output) const { return output == output_; }
  std::string compare(const Values& ours, const Values& truth) const;

 private:
  std::string compare_slice(const Values& ours, const Values& truth, int64_t base) const;
  int output_ = -1;
  bool distinct_ = false;
  int64_t outer_ = 1, length_ = 1,
          inner_ = 1;  // of the input around the dimension that is chosen from
  Values input_;
};

}  // namespace tenon::oracle
