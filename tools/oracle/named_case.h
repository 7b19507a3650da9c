// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Cases that name an op as a program does, without its overload.
#pragma once

#include "case_reader.h"
#include "tenon/core/op.h"

namespace tenon::oracle {

// Null when no overload of the operator has arguments of these names and kinds.
struct NamedCase {
  core::Op* op;
  json c;  // with the arguments that the op has
};
NamedCase name_case(const json& c);

// {"t": key}, or a tensor of a layout: {"sparse": {"indices", "values", "size", "coalesced"}}.
inline bool is_tensor(const json& j) {
  return CaseFile::is_ref(j) || (j.is_object() && j.contains("sparse"));
}

}  // namespace tenon::oracle
