// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz.h"
#include "tenon/runtime/error.h"

namespace tenon::fuzz {

// A check of what is read from damaged bytes: an error refuses them, but none may be that memory is
// short, which is asked for before it is needed.
template <class F>
std::string unless_refused(F check) {
  try {
    return check();
  } catch (const OutOfMemoryError& e) {
    return std::string("asks for too much memory: ") + e.what();
  } catch (const Error&) {
    tally("refused");
    return "";
  }
}

}  // namespace tenon::fuzz
