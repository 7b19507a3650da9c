// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hostile calls: arguments that a program can pass and no sensible one does.
#pragma once

#include <string>

#include "tests/fuzz/fuzz.h"

namespace tenon::fuzz {

// Small, negative, or so large that sums and products of two do not fit 64 bits.
int64_t odd_int(Random& r);
double odd_real(Random& r);  // also NaN, infinities, and beyond the range of float
// Names that operators take, empty, long, not UTF-8, with a zero byte.
std::string odd_text(Random& r);

// One call each. They return what is wrong with the answer.
std::string call_c(Random& r);
std::string call_client(Random& r);  // the functions of client.h but tn_call_op
std::string call_cpp(Random& r);

// Whether a valid call still gets the right answer.
std::string good_call();
// Prints the call to standard error if TENON_FUZZ_SHOW is set: for --only.
void show(const std::string& call);

}  // namespace tenon::fuzz
