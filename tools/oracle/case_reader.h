// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads the case files of tests/oracle: NAME.json with cases, NAME.safetensors with the tensors
// that they refer to.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "tenon/core/tensor_impl.h"

namespace tenon::oracle {

using nlohmann::json;

// A tensor of a safetensors file, row-major; it points into the file's bytes.
struct Stored {
  ScalarType dtype;
  std::vector<int64_t> sizes;
  const char* data;
  uint64_t bytes;
};

// Owns the bytes of one safetensors file. ValueError for a file that is damaged, naming the fault.
class StoredFile {
 public:
  StoredFile() = default;
  explicit StoredFile(const std::string& path);
  StoredFile(StoredFile&&) = default;  // a copy's tensors would point into the original
  StoredFile& operator=(StoredFile&&) = default;
  const Stored& at(const std::string& key) const;  // ValueError if there is none

 private:
  std::string path_;
  std::vector<char> bytes_;
  std::unordered_map<std::string, Stored> tensors_;
};

// Elements in row-major order. `exact` holds them for integers and booleans, `real` for every
// dtype.
struct Values {
  ScalarType dtype;
  std::vector<int64_t> sizes;
  std::vector<double> real;
  std::vector<int64_t> exact;
  std::vector<double> imaginary;  // of complex dtypes alone
};

// The elements of a tensor in any memory, with any strides and of any layout.
Values values_of(core::TensorImpl& t);

// {"complex": [1, -2]}
bool is_complex_number(const json& j);
core::complex<double> complex_number(const json& j);

// JSON's number, or one of the strings "inf", "-inf", "nan".
bool is_number(const json& j);
double number(const json& j);

class CaseFile {
 public:
  // `json_path` ends in .json; the tensors lie beside it. A file without tensors needs no
  // .safetensors.
  explicit CaseFile(const std::string& json_path);
  CaseFile() = default;  // no cases

  const json& cases() const { return cases_; }
  const std::string& path() const { return path_; }

  static bool is_ref(const json& j) { return j.is_object() && j.contains("t"); }
  // {"t": key, "complex": true}: the last dimension, of size 2, holds real and imaginary part.
  Stored stored(const json& ref) const;
  // A new tensor on `device`. A reference with strides gives exactly that view of a
  // flat storage.
  core::Impl tensor(const json& ref, core::DeviceId device = core::kHost) const;
  // As tensor(), row-major and converted.
  core::Impl tensor_as(const json& ref, ScalarType dtype,
                       core::DeviceId device = core::kHost) const;
  Values values(const json& ref) const;

 private:
  std::string path_;
  json cases_;
  StoredFile tensors_;
};

}  // namespace tenon::oracle
