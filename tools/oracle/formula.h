// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Results that are not unique: a case says by a formula what they fulfill.
#pragma once

#include <string>
#include <vector>

#include "results.h"

namespace tenon::oracle {

// Whether `check` leaves output i to its formula: only its shape and dtype are compared.
bool is_free(const json& check, std::size_t i);

// What is wrong with the free outputs by the formula; empty if nothing is.
std::string judge_formula(const json& check, const std::vector<Result>& results);

}  // namespace tenon::oracle
