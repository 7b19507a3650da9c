// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether what an operator is made of has no size of the examples in it.
#pragma once

#include <functional>

#include "onnx/export/exporter.h"

namespace tenon::onnx::exporting {

using MadeOf = std::function<std::shared_ptr<jit::Graph>(const std::vector<IValue>& arguments)>;

// The graph is recorded again, with tensors that are longer along each dimension that varies, and
// must be the same. A program that asks for sizes beyond those tried would be wrongly accepted;
// those of our operators tell apart 0, 1 and more, and fast ways for large ones that are right for
// all. `inputs`: the positions of the tensors among the arguments.
bool is_same_for_other_sizes(const jit::Graph& graph, const std::vector<ItemPtr>& tensors,
                             const std::vector<IValue>& arguments,
                             const std::vector<std::size_t>& inputs, const MadeOf& made_of);

}  // namespace tenon::onnx::exporting
