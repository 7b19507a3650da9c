// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Backward passes by the edges where they begin and end; tenon/autograd.h has those by tensors.
#pragma once

#include "tenon/autograd/node.h"

namespace tenon::autograd {

class TENON_API Engine {
 public:
  static Engine& get_default_engine();
  // `grads` are the gradients that arrive at the roots, one for each. Returns those that arrive at
  // `outputs`, undefined where none does. With accumulate_grad, .grad of leaves is added to: of
  // those among the outputs, or of all where there are none. ValueError for an edge without a node.
  variable_list execute(const edge_list& roots, const variable_list& grads, bool keep_graph,
                        bool create_graph, bool accumulate_grad, const edge_list& outputs = {});
};

}  // namespace tenon::autograd
