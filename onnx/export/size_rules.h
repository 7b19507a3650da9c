// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of results, by operator. An item has a number for each dimension of its tensor: kFixed, the
// example's size in every run, or a symbol. Equal symbols are equal sizes. What no rule tells has a
// symbol of its own, so that "fixed" can be relied on.
#pragma once

#include "onnx/export/exporter.h"

namespace tenon::onnx::exporting {

constexpr int64_t kFixed = 0;
using Sizes = std::vector<int64_t>;

// "relu" of aten::relu_.
std::string plain_name(const jit::Node& n);
// None: there is no rule, or nothing is known. `out`: the example of the result.
std::optional<Sizes> sizes_by_rule(Exporter& e, const jit::Node& n, const std::string& name,
                                   const Tensor& out);
// The symbol of a number that is a size.
void note_number(Exporter& e, const jit::Node& n, const std::string& name, Item& out);

}  // namespace tenon::onnx::exporting
