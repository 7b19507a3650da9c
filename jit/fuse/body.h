// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The nodes of a loop program's nest, written one after another (tenon/sdk/loop_program).
#pragma once

#include <string>
#include <string_view>

#include "tenon/ops.h"

namespace tenon::jit::fuse {

// A value of the nest: node %node of the dtype.
struct Term {
  int node = -1;
  ScalarType dtype = kFloat;
};

// The word of a dtype in the text; empty for those that loop programs do not have.
std::string_view dtype_word(ScalarType dtype);

class Body {
 public:
  Term cast(Term x, ScalarType dtype);
  Term unary(std::string_view name, Term x);
  Term binary(std::string_view name, Term a, Term b);  // of one dtype
  Term select(Term condition, Term a, Term b);
  Term constant(double value, ScalarType dtype);
  Term constant(int64_t value, ScalarType dtype);
  // "read x [i]", "param p0"
  Term line(const std::string& text, ScalarType dtype);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  int nodes_ = 0;
};

}  // namespace tenon::jit::fuse
