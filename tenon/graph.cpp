// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/graph.h"

namespace tenon {

Graph::Graph(Device device)
    : device_(core::resolve(device)),
      impl_(std::make_shared<core::GraphImpl>(core::device_id(device_))) {}

void Graph::capture_begin() { impl_->begin(); }
void Graph::capture_end() { impl_->end(); }
void Graph::replay() { impl_->launch(); }
void Graph::reset() { impl_->reset(); }

}  // namespace tenon
