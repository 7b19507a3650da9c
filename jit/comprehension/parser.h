// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From text to definitions. Grammar:
//
//   definition  def NAME ( parameter, ... ) -> ( NAME, ... ) { statement ... }
//   parameter   DTYPE [( size, ... )] NAME         size: a name or an integer
//   statement   NAME [( NAME, ... )] update expression [where clause, ...]
//   update      =  +=  *=  max=  min=  and all but the first followed by !
//   clause      NAME in expression : expression  |  NAME = expression  |  exists expression
//   expression  of C: ?: || && == != < <= > >= + - * / % - ! ( ) calls, casts, NAME.0 for a size
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/comprehension/tree.h"
#include "tenon/core/scalar.h"

namespace tenon::jit::comprehension {

// Names of `constants` stand for their numbers. ErrorReport shows the place.
std::vector<Definition> parse(const SourcePtr& source,
                              const std::map<std::string, Scalar>& constants);

}  // namespace tenon::jit::comprehension
