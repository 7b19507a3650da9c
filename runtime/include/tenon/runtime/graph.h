// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The work of a stream, recorded once and launched many times, on any device whose plugin can
// (abi/ext/graph_capture.h).
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/runtime/allocator.h"
#include "tenon/runtime/random.h"

typedef struct tn_graph tn_graph;

namespace tenon::core {

// What this thread allocates on the device during the capture comes from memory that the graph
// keeps until reset(), as every launch writes there again. Ops that would need the host in between
// throw, with their name.
class TENON_API GraphImpl {
 public:
  explicit GraphImpl(DeviceId device);  // NotImplementedError where the device cannot capture
  ~GraphImpl();
  GraphImpl(const GraphImpl&) = delete;
  GraphImpl& operator=(const GraphImpl&) = delete;
  void begin();   // records the current stream of this thread instead of running it
  void end();     // from the same thread; throws if the capture failed; it is over in any case
  void launch();  // on the current stream of this thread
  void reset();   // waits for the device and gives the memory back
  bool captured() const noexcept { return graph_ != nullptr; }

 private:
  friend tn_generator reserve_in_capture(GeneratorImpl& g, uint64_t words);
  // What the captured work draws of one generator. Each launch reserves as many again and writes
  // the offset to the device.
  struct Drawn {
    Ref<GeneratorImpl> generator;
    Block state;  // of the device: tn_generator.state_ptr
    uint64_t blocks;
  };
  Drawn& drawn_of(GeneratorImpl& g);
  void drop() noexcept;  // frees what the graph held, after it was destroyed

  const DeviceId device_;
  tn_graph* graph_ = nullptr;
  tn_stream* stream_ = nullptr;  // under capture
  uint32_t pool_ = 0;            // its memory
  std::vector<Drawn> drawn_;
  bool capturing_ = false;
};

// Whether this thread captures work of the device.
TENON_API bool is_capturing(DeviceId device) noexcept;
// Reserves random numbers for a captured call, which draws new ones at each launch.
// NotImplementedError if the device cannot fill.
tn_generator reserve_in_capture(GeneratorImpl& g, uint64_t words);
int64_t graphs_alive(DeviceSlot slot) noexcept;

}  // namespace tenon::core
