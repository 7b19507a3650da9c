// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A handler of warnings that keeps them.
#pragma once

#include <string>
#include <vector>

#include "tenon/runtime/log.h"

namespace tenon::test {

inline std::vector<std::string> heard;
inline void hear(const WarningMessage& w) {
  heard.push_back(std::string(w.category) + ": " + std::string(w.message));
}

}  // namespace tenon::test
