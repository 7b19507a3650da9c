// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cell.h"

namespace tenon::check {

// Runs the out= form into views with gaps and margins, all filled with one byte: the elements must be those of
// `expected`, every other byte must keep its value. Returns what is wrong.
std::string out_stays_inside(const Cell& cell, const std::vector<oracle::Result>& expected);

}  // namespace tenon::check
