// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What nodes of quantize and dequantize do with the tensor (torch's quantized_decomposed).
#pragma once

#include <optional>

#include "tenon/jit/graph.h"

namespace tenon::jit {

// The numbers of a tensor of 8-bit integers: (integer - zero) * scale.
struct Step {
  double scale = 1;
  int64_t zero = 0;
  ScalarType dtype = kByte;
  bool operator==(const Step& o) const {
    return scale == o.scale && zero == o.zero && dtype == o.dtype;
  }
  int64_t lowest() const { return dtype == kChar ? -128 : 0; }
};

// `kind` is the operator's name without its namespace.
bool is_step(const Node& n, const char* kind);
// Of quantize_per_tensor and dequantize_per_tensor, whose parameters are numbers.
std::optional<Step> step_of(const Node& n);
// Whether quantize holds numbers within the dtype alone.
bool has_whole_range(const Node& n, const Step& s);
// Whether dequantize gives float32.
bool gives_single(const Node& n);
// Whether numbers above `end` are beyond the integers anyway.
bool saturates(const Step& s, double end);

// The part of fuse_quantized that is about nodes which only move, pick or join numbers.
bool move_quantized(Graph& g);

}  // namespace tenon::jit
