// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Several requests in one run.
#pragma once

#include <optional>
#include <vector>

#include "request.h"

namespace serve {

// The inputs of requests of one group, one after the other along dimension 0.
std::vector<tenon::IValue> joined_inputs(const std::vector<Request>& requests);

// The result of each request: what has its rows of every tensor in the result. None if the result
// has a tensor whose dimension 0 is not that of the inputs, or something other than tensors.
std::optional<std::vector<tenon::IValue>> split_result(const tenon::IValue& result,
                                                       const std::vector<Request>& requests);

}  // namespace serve
