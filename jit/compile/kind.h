// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a compiled program is made for.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/ivalue.h"
#include "tenon/nn/module.h"

namespace tenon::jit::compiled {

struct ArgumentsKind {
  std::vector<int64_t> key;    // dtypes, devices, ranks, modes, lengths of lists, numbers
  std::vector<int64_t> sizes;  // of all tensors
  bool operator==(const ArgumentsKind& o) const { return key == o.key && sizes == o.sizes; }
};
// False: not of programs.
bool find_kind(const std::vector<IValue>& arguments, const nn::Module* module, ArgumentsKind& kind);

}  // namespace tenon::jit::compiled
