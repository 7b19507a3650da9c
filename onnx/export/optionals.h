// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values that may be None. The model has them as two: the value, and a bool that tells whether it
// is there.
#pragma once

#include "onnx/export/exporter.h"

namespace tenon::onnx::exporting {

inline bool is_missing(const Item& i) { return i.unset || i.example.isNone(); }
inline bool is_number(const IValue& v) { return v.isInt() || v.isDouble() || v.isBool(); }

// Whether it is there, as a value of its own; and the value, `like` where it is not.
ItemPtr told_of(const Item& i);
ItemPtr without_presence(const Item& i, const IValue& like);

// A None that the loop replaces is carried as zeros of what it becomes, beside a false, while this
// lives.
struct Exporter::OptionalInputs {
  OptionalInputs(Exporter& e, const jit::Node& loop);
  ~OptionalInputs();
  OptionalInputs(const OptionalInputs&) = delete;
  bool is_none(std::size_t k) const;
  void replace(std::size_t k, const IValue& like);
  Exporter& exporter;
  const jit::Node& n;
  std::vector<ItemPtr> before;
};

}  // namespace tenon::onnx::exporting
