// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Factorizations are not unique: signs, phases and orders differ. A case names the equations that
// its factors fulfill, and which results may come in another order.
#pragma once

#include <string>
#include <vector>

#include "results.h"

namespace tenon::oracle {

// Whether the formula is one of those of matrices.
bool is_matrix_formula(const std::string& name);

// What is wrong with the factors, by equations in double precision; empty if nothing is.
std::string judge_matrices(const json& c, const Arguments& args,
                           const std::vector<Result>& results);

// The results with what the case calls unordered in torch's order, and the columns of eigenvectors
// likewise.
std::vector<Result> in_order(const CaseFile& file, const json& c, std::vector<Result> results);

// The part of matrices that the case compares: "hermitian", "lower" or "upper".
void take_part(Values& matrices, const std::string& part);

}  // namespace tenon::oracle
