// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What tests of modules share.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::test {

inline std::vector<Device> cpus(std::size_t n) { return std::vector<Device>(n, Device(kCPU)); }

// What a module prints.
template <class M>
std::string printed(const M& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace tenon::test
