// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// First and second derivatives through the values of sparse tensors, against central differences.
#include "tenon/gradcheck.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using autograd::gradcheck;
using autograd::gradgradcheck;
using test::ints;

using Function = std::function<Tensor(const Tensor& sparse, const Tensor& dense)>;

struct Case {
  const char* name;
  Function f;
};

Tensor sparse_of(const Tensor& values) {
  return sparse_coo_tensor(ints({2, 1, 0, 1, 0, 2, 3, 2}, {2, 4}), values, {3, 4});
}

struct SparseGradients : testing::TestWithParam<Case> {};

TEST_P(SparseGradients, First) {
  const Tensor values = tensor({0.5, -1.25, 2., 0.75}).to(kDouble).requires_grad_();
  const Tensor dense = (arange(0, 12, TensorOptions(kDouble)).reshape({3, 4}) / 7 - 0.8).requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{GetParam().f(sparse_of(in[0]), in[1]).to_dense()};
  };
  EXPECT_TRUE(gradcheck(f, {values, dense}));
  EXPECT_TRUE(gradgradcheck(f, {values, dense}));
}

const Case kCases[] = {
    {"mm", [](const Tensor& s, const Tensor& d) { return s.mm(d.t()); }},
    {"mm_from_the_left", [](const Tensor& s, const Tensor& d) { return d.t().mm(s); }},
    {"addmm", [](const Tensor& s, const Tensor& d) { return addmm(d.slice(1, 0, 3), s, d.t(), 0.5, 2); }},
    {"values",
     [](const Tensor& s, const Tensor& d) { return s.coalesce().values() * d.slice(0, 0, 1).slice(1, 0, 3); }},
};
INSTANTIATE_TEST_SUITE_P(Of, SparseGradients, testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace tenon
