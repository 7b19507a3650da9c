// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The work of a stream, recorded once and launched many times, on any device whose plugin can
// (abi/ext/graph_capture.h).
#pragma once

#include <cstdint>

#include "tenon/core/device.h"

typedef struct tn_graph tn_graph;

namespace tenon::core {

// What this thread allocates on the device during the capture comes from memory that the graph keeps until reset(), as
// every launch writes there again. Ops that would need the host in the middle are refused by name.
class TENON_API GraphImpl {
 public:
  GraphImpl(int slot, int index);  // NotImplementedError where the device cannot capture
  ~GraphImpl();
  GraphImpl(const GraphImpl&) = delete;
  GraphImpl& operator=(const GraphImpl&) = delete;
  void begin();   // records the current stream of this thread instead of running it
  void end();     // from the same thread; throws what made the capture fail, and it is over in any case
  void launch();  // on the current stream of this thread
  void reset();   // waits for the device and gives the memory back
  bool captured() const noexcept { return graph_ != nullptr; }

 private:
  const int slot_, index_;
  tn_graph* graph_ = nullptr;
  tn_stream* stream_ = nullptr;  // under capture
  uint32_t pool_ = 0;            // its memory
  bool capturing_ = false;
};

// Whether this thread captures work of the device.
TENON_API bool is_capturing(int slot, int index) noexcept;

}  // namespace tenon::core
