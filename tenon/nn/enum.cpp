// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/enum.h"

namespace tenon {
namespace enumtype {

const char* text(Name name) {
  switch (name) {
#define TENON_ENUM_TEXT(n) \
  case Name::n:            \
    return #n;
    TENON_FORALL_ENUM_NAMES(TENON_ENUM_TEXT)
#undef TENON_ENUM_TEXT
  }
  return "";
}

}  // namespace enumtype
}  // namespace tenon
