// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/fuse/body.h"

#include <charconv>
#include <cmath>

#include "tenon/sdk/loop_program/names.h"

namespace tenon::jit::fuse {
namespace {

namespace lp = sdk::loop_program;

std::string name_of(Term t) { return " %" + std::to_string(t.node); }

std::string text_of(double v) {
  if (std::isnan(v)) return "nan";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

}  // namespace

std::string_view dtype_word(ScalarType dtype) {
  const std::string_view word = dtype_name(dtype);
  return lp::find_name(lp::dtype_names, word) < 0 ? std::string_view() : word;
}

Term Body::line(const std::string& text, ScalarType dtype) {
  text_ += "  %" + std::to_string(nodes_) + " = " + text + "\n";
  return {nodes_++, dtype};
}

Term Body::cast(Term x, ScalarType dtype) {
  return x.dtype == dtype ? x : line("cast " + std::string(dtype_word(dtype)) + name_of(x), dtype);
}

Term Body::unary(std::string_view name, Term x) {
  return line(std::string(name) + name_of(x),
              lp::find_unary(name) >= lp::first_test ? kBool : x.dtype);
}

Term Body::binary(std::string_view name, Term a, Term b) {
  return line(std::string(name) + name_of(a) + name_of(b),
              lp::find_binary(name) >= lp::first_test ? kBool : a.dtype);
}

Term Body::select(Term condition, Term a, Term b) {
  return line("select" + name_of(condition) + name_of(a) + name_of(b), a.dtype);
}

Term Body::constant(double value, ScalarType dtype) {
  if (!isFloatingType(dtype)) return constant(static_cast<int64_t>(value), dtype);
  return line("const " + std::string(dtype_word(dtype)) + " " + text_of(value), dtype);
}

Term Body::constant(int64_t value, ScalarType dtype) {
  if (isFloatingType(dtype)) return constant(static_cast<double>(value), dtype);
  if (dtype == kBool) value = value != 0;
  return line("const " + std::string(dtype_word(dtype)) + " " + std::to_string(value), dtype);
}

}  // namespace tenon::jit::fuse
