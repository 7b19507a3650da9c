// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The tensors of a kernel's call as loop programs name them.
#ifndef TENON_SDK_LOOP_PROGRAM_TENSORS_H_
#define TENON_SDK_LOOP_PROGRAM_TENSORS_H_

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/loop_program/call.h"

namespace tenon::sdk::loop_program {

inline std::string_view name_of(DType dtype) {
  const std::pair<DType, std::string_view> names[] = {
      {kBool, "bool"},       {kUInt8, "uint8"},    {kInt8, "int8"},       {kInt16, "int16"},
      {kInt32, "int32"},     {kInt64, "int64"},    {kFloat16, "float16"}, {kBFloat16, "bfloat16"},
      {kFloat32, "float32"}, {kFloat64, "float64"}};
  for (const auto& [it, name] : names)
    if (it == dtype) return name;
  return "of another kind";
}

inline std::vector<Given> given(TensorList tensors) {
  std::vector<Given> list;
  for (int64_t k = 0; k < tensors.size(); ++k)
    list.push_back(
        {name_of(tensors[k].dtype()), {tensors[k].sizes().begin(), tensors[k].sizes().end()}});
  return list;
}

}  // namespace tenon::sdk::loop_program

#endif
