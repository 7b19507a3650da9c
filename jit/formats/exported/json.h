// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reading of the JSON in exported programs: bounded in size and depth, every access checked. Errors
// are ValueErrors that say what was expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ivalue.h"

namespace tenon::jit::formats {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;
inline constexpr int kMaxJsonDepth = 400;

// `skip_metadata`: members of that name are left out; they hold places in Python, and most bytes.
Json parse_json(std::string_view text, bool skip_metadata = false);

const Json& member(const Json& object, const char* key);
// Null if the member is absent or null.
const Json* find_member(const Json& object, const char* key);
const std::string& text_of(const Json& v, const char* what);
int64_t integer_of(const Json& v, const char* what);
bool boolean_of(const Json& v, const char* what);
double real_of(const Json& v, const char* what);  // "Infinity", "-Infinity" and "NaN", too
const Json& list_of(const Json& v, const char* what);
const Json& object_of(const Json& v, const char* what);

// {"as_int": 3}: an object of one member.
struct Tagged {
  const std::string& tag;
  const Json& value;
};
Tagged tagged(const Json& v, const char* what);

// torch's files number dtypes, layouts and memory formats in a way of their own.
// NotImplementedError names what Tenon has no counterpart for.
ScalarType dtype_of(const Json& v);
int number_of_dtype(ScalarType t);  // NotImplementedError for one that torch's files do not have
int64_t layout_of(const Json& v);   // as programs see it: 0 strided, 1 sparse
int64_t memory_format_of(const Json& v);  // likewise
std::string device_name_of(const Json& v);

// A size, stride or number of elements that is known: {"as_int": 3} or 3.
int64_t plain_int(const Json& v, const char* what);
std::vector<int64_t> plain_ints(const Json& v, const char* what);

}  // namespace tenon::jit::formats
