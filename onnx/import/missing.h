// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "onnx/proto/model.pb.h"

namespace tenon::onnx {

// NotImplementedError lists all operators that the model uses, graphs in attributes and functions
// included, and that are not known, with version, count and the closest names.
void check_operators(const pb::ModelProto& m);

}  // namespace tenon::onnx
