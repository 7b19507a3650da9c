// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of an archive that are not tensors, as {kind: value} in its header.
#pragma once

#include <optional>
#include <string>

#include "json.h"
#include "tenon/ivalue.h"

namespace tenon::serialize::detail {

// NotImplementedError names the key of a value that has no such form: a dictionary, a tuple, an
// object, a list of unlike elements.
Json value_to_json(const std::string& key, const IValue& v);
// Nothing for what is not one known kind and a value of it.
std::optional<IValue> value_from_json(const Json& v);

}  // namespace tenon::serialize::detail
