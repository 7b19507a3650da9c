// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "onnx/proto/model.pb.h"
#include "tenon/ivalue.h"

namespace tenon::onnx {

// The value in a file of test data, as `type` of the graph's input or output says. None for an
// optional without a value.
IValue read_value(const std::string& path, const pb::TypeProto& type);

// Empty if equal, else what differs. The bounds are those of the ONNX project.
std::string compare_values(const IValue& got, const IValue& expected, double rtol, double atol);

std::string read_file(const std::string& path);

}  // namespace tenon::onnx
