// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <tenon/tenon.h>

#include <cstdio>

int main() {
  tenon::Tensor x = tenon::ones({2, 3}, tenon::requires_grad());
  tenon::Tensor y = (x * 3 + 1).sum();
  y.backward();
  double sum = y.item<double>(), slope = x.grad().sum().item<double>();
  std::printf("sum %g, slope %g\n", sum, slope);
  return sum == 24 && slope == 18 ? 0 : 1;
}
