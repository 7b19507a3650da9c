// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of stores, and what all stores do with them.
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "tenon/distributed/types.h"

namespace tenon::distributed {

using Bytes = std::vector<uint8_t>;

inline Bytes to_bytes(const std::string& s) { return Bytes(s.begin(), s.end()); }
inline std::string to_string(const Bytes& b) { return std::string(b.begin(), b.end()); }

// The sum of an integer in decimal, 0 if null, and another; ValueError if it is none or too large.
int64_t sum_of(const std::string& key, const Bytes* value, int64_t summand);

// "'a', 'b'"; of a long list the first ten.
std::string names_of(const std::vector<std::string>& keys);

[[noreturn]] void throw_timeout(const std::string& what, const std::vector<std::string>& missing,
                                std::chrono::milliseconds timeout);

// The point in time; of a timeout too large for the clock its end.
std::chrono::steady_clock::time_point deadline_of(std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
