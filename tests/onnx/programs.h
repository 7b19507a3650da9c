// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs by their text, for the tests that write them as models.
#pragma once

#include <string>

#include "tenon/jit.h"

inline tenon::jit::Module define(const std::string& text) {
  tenon::jit::Module m("__torch__.Program");
  m.define(text);
  return m;
}
// Of one tensor.
inline tenon::jit::Module define_of_x(const std::string& body) {
  return define("def forward(self, x: Tensor) -> Tensor:\n" + body);
}
