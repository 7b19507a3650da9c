// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <c10/util/hash.h>

#include "tenon/autograd/own_nodes.h"

template <>
struct std::hash<tenon::autograd::Edge> {
  std::size_t operator()(const tenon::autograd::Edge& e) const noexcept {
    return c10::hash_combine(std::hash<const void*>()(e.function.get()), e.input_nr);
  }
};
