// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors as JSON.
#pragma once

#include <tenon/tenon.h>

#include <nlohmann/json.hpp>
#include <string>

namespace serve {

// On the host. A plain number is a tensor without dimensions. Without a dtype numbers are float32
// if one of them has a point, else int64; booleans are bool.
tenon::Tensor tensor_of(const nlohmann::json& json, const std::string& where);

void append_tensor(std::string& out, const tenon::Tensor& tensor);

}  // namespace serve
