// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The picture of a training: loss curve, confusion matrix and the digits it got wrong, as SVG.
#pragma once

#include <string>
#include <vector>

#include "data.h"
#include "train.h"

namespace digits {

// std::runtime_error if the file cannot be written.
void draw(const std::string& path, const std::vector<Epoch>& history, const Judgment& judgment,
          const Images& test);

}  // namespace digits
