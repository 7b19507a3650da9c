// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "onnx/proto/model.pb.h"
#include "tenon/io/file_writer.h"

namespace tenon::onnx::exporting {

// Writes the larger initializers to `file`, which the model then names as `name`, a file in its
// folder. The file is not committed.
void move_weights(pb::ModelProto& model, serialize::detail::FileWriter& file,
                  const std::string& name);

}  // namespace tenon::onnx::exporting
