// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <optional>

#include "tenon/graph.h"
#include "tenon/runtime/error.h"

namespace at::cuda {

struct CUDAGraph {
  void capture_begin() {
    if (!graph_) graph_.emplace(kCUDA);
    graph_->capture_begin();
  }
  void capture_end() { captured_graph().capture_end(); }
  void replay() { captured_graph().replay(); }
  void reset() {
    if (graph_) graph_->reset();
  }

 private:
  ::tenon::Graph& captured_graph() {
    TENON_CHECK(graph_, ValueError, "CUDAGraph: nothing was captured; call capture_begin() first");
    return *graph_;
  }
  std::optional<::tenon::Graph> graph_;
};

}  // namespace at::cuda
