// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A step of training or inference, recorded once and replayed without host work. The shape is that
// of libtorch's at::cuda::CUDAGraph, for every device whose plugin can capture:
//
//   Graph g;                       // of the current CUDA device
//   g.capture_begin();
//   Tensor loss = step(x, y);      // runs nothing yet
//   g.capture_end();
//   x.copy_(next); g.replay();     // the same addresses, new values
#pragma once

#include <memory>

#include "tenon/runtime/graph.h"

namespace tenon {

class TENON_API Graph {
 public:
  explicit Graph(Device device = kCUDA);  // NotImplementedError if it cannot capture
  // Records the device's current stream of this thread, on which no other thread may work
  // meanwhile. What is allocated until capture_end() is the graph's own memory. Random numbers are
  // drawn again by each replay, as if the captured calls were made then. Dynamic shapes, copies to
  // and from pageable memory and what runs on the host are refused by name.
  void capture_begin();
  void capture_end();
  // On the current stream. Tensors that came out of the capture have new values after it; autograd
  // does not record it.
  void replay();
  void reset();  // waits for the device; the memory goes back
  const Device& device() const { return device_; }

 private:
  Device device_;
  std::shared_ptr<core::GraphImpl> impl_;
};

}  // namespace tenon
