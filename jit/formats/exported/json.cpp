// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

[[noreturn]] void expected(const char* what, const char* kind, const Json& got) {
  throw ValueError(core::join(what, " must be ", kind, ", not ", got.type_name()));
}

// Python's JSON has numbers that JSON has not, and torch 2.6 writes them so; later versions write
// texts, which these become.
std::string with_texts_for_infinities(std::string_view text) {
  static constexpr std::string_view kNumbers[] = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      out += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    const auto* number =
        quoted ? std::end(kNumbers)
               : std::find_if(std::begin(kNumbers), std::end(kNumbers),
                              [&](auto n) { return text.compare(i, n.size(), n) == 0; });
    if (number == std::end(kNumbers)) {
      out += text[i];
      continue;
    }
    out.append("\"").append(*number).append("\"");
    i += number->size() - 1;
  }
  return out;
}

bool mentions_infinities(std::string_view text) {
  return text.find("Infinity") != text.npos || text.find("NaN") != text.npos;
}

}  // namespace

Json parse_json(std::string_view text, bool skip_metadata) {
  TENON_CHECK(text.size() <= kMaxJsonBytes, ValueError, "the JSON has ", text.size(),
              " bytes, more than ", kMaxJsonBytes);
  const auto filter = [skip_metadata](int depth, Json::parse_event_t event, Json& v) {
    TENON_CHECK(depth <= kMaxJsonDepth, ValueError, "the JSON is nested more than ", kMaxJsonDepth,
                " deep");
    return !(skip_metadata && event == Json::parse_event_t::key && v == "metadata");
  };
  try {
    return mentions_infinities(text) ? Json::parse(with_texts_for_infinities(text), filter)
                                     : Json::parse(text, filter);
  } catch (const Json::exception& e) {
    throw ValueError(core::join("the JSON is damaged: ", e.what()));
  }
}

const Json& object_of(const Json& v, const char* what) {
  if (!v.is_object()) expected(what, "an object", v);
  return v;
}

const Json* find_member(const Json& object, const char* key) {
  const auto it = object_of(object, key).find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

const Json& member(const Json& object, const char* key) {
  TENON_CHECK(object.is_object(), ValueError, "there must be an object with the member '", key,
              "', not ", object.type_name());
  const auto it = object.find(key);
  TENON_CHECK(it != object.end(), ValueError, "the member '", key, "' is missing");
  return *it;
}

const std::string& text_of(const Json& v, const char* what) {
  if (!v.is_string()) expected(what, "a text", v);
  return v.get_ref<const std::string&>();
}

int64_t integer_of(const Json& v, const char* what) {
  if (!v.is_number_integer()) expected(what, "an integer", v);
  TENON_CHECK(!v.is_number_unsigned() || v.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX),
              ValueError, what, " is too large: ", v.get<uint64_t>());
  return v.get<int64_t>();
}

bool boolean_of(const Json& v, const char* what) {
  if (!v.is_boolean()) expected(what, "a boolean", v);
  return v.get<bool>();
}

double real_of(const Json& v, const char* what) {
  if (v.is_number()) return v.get<double>();
  if (v == "Infinity") return std::numeric_limits<double>::infinity();
  if (v == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (v == "NaN") return std::numeric_limits<double>::quiet_NaN();
  expected(what, "a number", v);
}

const Json& list_of(const Json& v, const char* what) {
  if (!v.is_array()) expected(what, "a list", v);
  return v;
}

Tagged tagged(const Json& v, const char* what) {
  if (!v.is_object() || v.size() != 1) expected(what, "an object with one member", v);
  return {v.begin().key(), v.begin().value()};
}

namespace {
// The numbers of torch's files.
constexpr std::pair<int, ScalarType> kDtypeNumbers[] = {{1, kUInt8},
                                                        {2, kInt8},
                                                        {3, kInt16},
                                                        {4, kInt32},
                                                        {5, kInt64},
                                                        {6, kHalf},
                                                        {7, kFloat},
                                                        {8, kDouble},
                                                        {9, kComplexHalf},
                                                        {10, kComplexFloat},
                                                        {11, kComplexDouble},
                                                        {12, kBool},
                                                        {13, kBFloat16},
                                                        {28, kUInt16},
                                                        {29, kFloat8_e4m3fn},
                                                        {30, kFloat8_e5m2},
                                                        {31, kFloat8_e4m3fnuz},
                                                        {32, kFloat8_e5m2fnuz},
                                                        {33, kFloat8_e8m0fnu},
                                                        {34, kUInt32},
                                                        {35, kUInt64}};
}  // namespace

ScalarType dtype_of(const Json& v) {
  const int64_t n = integer_of(v, "a dtype");
  for (const auto& [number, dtype] : kDtypeNumbers) {
    if (number == n) return dtype;
  }
  throw ValueError(core::join("there is no dtype of number ", n));
}

int number_of_dtype(ScalarType t) {
  for (const auto& [number, dtype] : kDtypeNumbers) {
    if (dtype == t) return number;
  }
  throw NotImplementedError(
      core::join("exported programs have no number for the dtype ", dtype_name(t)));
}

int64_t layout_of(const Json& v) {
  const int64_t n = integer_of(v, "a layout");
  if (n == 7) return 0;
  if (n == 1) return 1;
  static const char* const kNames[] = {"unknown",    "",           "sparse_csr", "sparse_csc",
                                       "sparse_bsr", "sparse_bsc", "mkldnn"};
  TENON_CHECK(n >= 0 && n < 7, ValueError, "there is no layout of number ", n);
  throw NotImplementedError(core::join("layout ", kNames[n], " is not supported"));
}

int64_t memory_format_of(const Json& v) {
  static constexpr MemoryFormat kFormats[] = {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast,
                                              MemoryFormat::ChannelsLast3d, MemoryFormat::Preserve};
  const int64_t n = integer_of(v, "a memory format");
  TENON_CHECK(n >= 1 && n <= 4, ValueError, "there is no memory format of number ", n);
  return static_cast<int64_t>(kFormats[n - 1]);
}

std::string device_name_of(const Json& v) {
  const std::string& type = text_of(member(v, "type"), "the type of a device");
  const Json* index = find_member(v, "index");
  const int64_t at = index ? integer_of(*index, "the index of a device") : -1;
  return at < 0 || type == "cpu" ? type : core::join(type, ":", at);
}

int64_t plain_int(const Json& v, const char* what) {
  if (!v.is_object()) return integer_of(v, what);
  const Tagged t = tagged(v, what);
  TENON_CHECK(t.tag == "as_int", ValueError, what, " must be a known number, not ", t.tag);
  return integer_of(t.value, what);
}

std::vector<int64_t> plain_ints(const Json& v, const char* what) {
  std::vector<int64_t> out;
  for (const Json& each : list_of(v, what)) out.push_back(plain_int(each, what));
  return out;
}

}  // namespace tenon::jit::formats
