// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How tensors look as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/runtime/export.h"

namespace tenon {

class Tensor;

// Tenon: tensor([2., 3.]). Libtorch: columns, then [ CPUFloatType{2} ]. Era04: tensor([ 2.,  3.]).
enum class PrintStyle : uint8_t { Tenon, Libtorch, Era04 };

struct PrintOptions {
  int precision = 4;         // digits after the point
  int64_t threshold = 1000;  // elements above which the middle is left out
  int edge_items = 3;        // shown at each end of a shortened dimension
  int line_width = 80;       // columns
  int sci_mode = -1;         // 1: always scientific, 0: never, -1: by range
};

TENON_API PrintStyle print_style() noexcept;
TENON_API void set_print_style(PrintStyle s) noexcept;
TENON_API PrintOptions print_options();
TENON_API void set_print_options(const PrintOptions& o);
// "default"; "short": 2 digits and 2 edge items; "full": no element is left out. ValueError for
// another name.
TENON_API PrintOptions print_profile(std::string_view name);
TENON_API std::string to_text(const Tensor& t);  // in print_style()
TENON_API std::string to_text(const Tensor& t, PrintStyle style);

}  // namespace tenon
