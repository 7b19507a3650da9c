// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of programs as JSON.
#pragma once

#include <tenon/jit.h>

#include <nlohmann/json.hpp>
#include <string>

namespace serve {

using Json = nlohmann::json;

// A value of the type: for a tensor nested arrays of numbers, or {"dtype": "float32", "shape": [2],
// "data": [1, 2]}; for a list, tuple or dictionary an array or object of such. Failure names
// `where`.
tenon::IValue value_of(const Json& json, const tenon::jit::Type& type, const std::string& where);

// Appends the value as JSON; a tensor as {"dtype":"float32","shape":[2],"data":[1,2]}, where null
// stands for what is not finite. Failure for kinds that JSON cannot give.
void append_value(std::string& out, const tenon::IValue& value);

// The value with all tensors in it on the device.
tenon::IValue on_device(const tenon::IValue& value, const tenon::Device& device);

// A text in quotes.
std::string quoted(const std::string& text);

}  // namespace serve
