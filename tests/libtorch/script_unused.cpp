// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// <torch/script.h> in a program that loads nothing: no symbol of libtenon_jit is needed.
#include <torch/script.h>

int main() {
  const torch::jit::IValue three(torch::full({1}, 3));
  return three.toTensor().item<int64_t>() == 3 ? 0 : 1;
}
