// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of files. Types that kernels do not compute in are held in one that has all their values:
// uint16 in int32, uint32 and uint64 in int64 (numbers from 2^63 on wrap), integers of 2 and 4 bits
// in int8 and uint8, floats of 8, 6 and 4 bits in float32.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/proto/model.pb.h"
#include "tenon/core/float8.h"
#include "tenon/tensor.h"

namespace tenon::onnx {

// Nothing for strings and unknown types.
std::optional<ScalarType> dtype_of(int32_t onnx_type);
std::string name_of_type(int32_t onnx_type);  // "float8e4m3fn"; "type 99" if unknown

// Floats of few bits.
using core::decode;
using core::SmallFloat;
const SmallFloat* small_float(int32_t onnx_type);  // null for other types
// The nearest, ties to even. Beyond the largest: that one if `saturate`, else NaN or infinity.
float round_to(const SmallFloat& f, float x, bool saturate);

// The folder of the model, from which tensors with external data are read: names with "..", links
// that lead out of it, and ranges beyond a file's end are errors.
class ExternalData {
 public:
  ExternalData();  // of a model from memory: none
  explicit ExternalData(const std::string& model_path);
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  // The bytes that the tensor's entries name, mapped; they live as long as what is returned.
  struct Bytes {
    std::shared_ptr<const void> owner;
    const char* data = nullptr;
    uint64_t size = 0;
  };
  Bytes read(const pb::TensorProto& t) const;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

// ValueError names the tensor: its data and its shape must agree. `t` loses its raw data, which the
// result may use.
Tensor read_tensor(pb::TensorProto& t, const ExternalData& external);
Tensor read_tensor(const pb::TensorProto& t, const ExternalData& external);
// Dense.
Tensor read_sparse(const pb::SparseTensorProto& t, const ExternalData& external);

}  // namespace tenon::onnx
