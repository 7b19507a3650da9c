// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// As much of a schema as registration needs. Private to libtenon.
#pragma once

#include <string>
#include <string_view>

namespace tenon::library {

struct SchemaParts {
  std::string name, overload;  // without the namespace
  std::string types;           // "Tensor, int[] -> Tensor", as detail::Signature writes them
};

// Of "name.overload(Tensor(a!) self, int[2] size, *, float by=1.0) -> Tensor(a!)". ValueError says
// what is wrong with it.
SchemaParts parse_schema(std::string_view text);

}  // namespace tenon::library
