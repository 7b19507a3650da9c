// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The nets of models.h with few channels, in evaluation mode and double precision. Formulas fill
// their parameters and inputs; make_models.py has the same ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit.h"
#include "tenon/nn.h"

namespace tenon::test::models {

// Integers from 0 to 10006 that look random and are the same on every machine.
Tensor residues(IntArrayRef sizes, int64_t seed);

// Weights have the range of He's initialization, factors and variances lie around one.
void fill(nn::Module& net);

// A net under test.
struct Fixture {
  std::shared_ptr<nn::Module> net;
  Tensor input;
  std::function<Tensor(const Tensor&)> forward;
  // Records the net with an example of its input.
  std::function<jit::Module(const Tensor&)> traced;
  // Whether training mode is compared, too: the net has batch normalization and no dropout.
  bool train = false;
};

// By the names that expected.json has.
const std::vector<std::pair<std::string, std::function<Fixture()>>>& fixtures();

}  // namespace tenon::test::models
