// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/graph.h"

#include "runtime/base/in_flight.h"
#include "runtime/device/capture.h"
#include "runtime/device/extensions.h"
#include "runtime/memory/allocator.h"
#include "tenon/abi/ext/graph_capture.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

namespace {

thread_local GraphImpl* t_graph = nullptr;  // that this thread captures

std::atomic<uint32_t> g_pools{0};
std::atomic<int64_t> g_alive[kMaxDevices];

const tn_ext_graph_capture* capture_ext(DeviceSlot slot) {
  const tn_ext* e = device_ext(slot, TN_EXT_GRAPH_CAPTURE);
  const auto* g = reinterpret_cast<const tn_ext_graph_capture*>(e);
  const bool whole =
      g != nullptr && e->struct_size >= sizeof *g && g->begin && g->end && g->launch && g->destroy;
  return whole ? g : nullptr;
}

const tn_ext_graph_capture& capture_of(DeviceSlot slot) {
  const tn_ext_graph_capture* g = slot > kHostSlot ? capture_ext(slot) : nullptr;
  TENON_CHECK(g != nullptr, NotImplementedError, "Graph: device '", device_entry(slot).name,
              "' cannot capture graphs: its plugin has no extension graph_capture");
  return *g;
}

void* context_of(DeviceSlot slot) { return device_entry(slot).api->context; }

}  // namespace

bool is_capturing(DeviceId device) noexcept { return capture_pool(device) != 0; }

int64_t graphs_alive(DeviceSlot slot) noexcept {
  return g_alive[slot].load(std::memory_order_acquire);
}

GraphImpl::GraphImpl(DeviceId device) : device_(device) { (void)capture_of(device.slot); }

GraphImpl::~GraphImpl() {
  if (capturing_) {
    try {
      end();
    } catch (...) {  // the graph is not needed
    }
  }
  reset();
}

void GraphImpl::begin() {
  InFlight inside;
  TENON_CHECK(t_graph == nullptr, ValueError,
              "Graph.capture_begin: this thread is capturing a graph already");
  TENON_CHECK(!captured(), ValueError, "Graph.capture_begin: it holds a graph; reset() it first");
  const tn_ext_graph_capture& g = capture_of(device_.slot);
  stream_ = current_stream(device_);
  check_device(device_, "begin of a capture",
               g.begin(context_of(device_.slot), device_.index, stream_));
  pool_ = g_pools.fetch_add(1, std::memory_order_relaxed) + 1;
  t_graph = this;
  capturing_ = true;
  begin_thread_capture(device_, pool_);
  g_alive[device_.slot].fetch_add(1);
}

void GraphImpl::end() {
  TENON_CHECK(capturing_, ValueError, "Graph.capture_end: no capture was begun");
  TENON_CHECK(t_graph == this, ValueError,
              "Graph.capture_end: the capture was begun by another thread");
  capturing_ = false;
  t_graph = nullptr;
  end_thread_capture();
  InFlight inside;
  const tn_status status =
      capture_of(device_.slot).end(context_of(device_.slot), device_.index, stream_, &graph_);
  end_capture_pool(device_);
  if (status == TN_OK && graph_ != nullptr) return;
  drop();
  device_failed(device_, "end of a capture",
                status == TN_OK ? tn_status{TN_ERROR_BACKEND} : status);
}

GraphImpl::Drawn& GraphImpl::drawn_of(GeneratorImpl& g) {
  for (Drawn& d : drawn_) {
    if (d.generator.get() == &g) return d;
  }
  const DeviceEntry& e = device_entry(device_);
  const bool can_fill =
      !(e.flags & TN_DEVICE_OPAQUE) && TN_HAS(e.api, tn_device_api, fill) && e.api->fill;
  TENON_CHECK(can_fill, NotImplementedError, "random numbers cannot be captured in a graph of ",
              device_of(device_).str(),
              ": its plugin cannot write the generator's offset for a launch (tn_device_api.fill)");
  drawn_.reserve(drawn_.size() + 1);
  const Block state = cache_alloc(device_, 2 * sizeof(uint64_t), stream_);
  drawn_.push_back({Ref<GeneratorImpl>::share(&g), state, 0});
  return drawn_.back();
}

tn_generator reserve_in_capture(GeneratorImpl& g, uint64_t words) {
  if (words == 0 || g.state() != nullptr) return g.reserve(words);
  GraphImpl::Drawn& d = t_graph->drawn_of(g);
  const tn_generator range{0, d.blocks, static_cast<const char*>(d.state.handle) + d.state.offset};
  d.blocks += words / 4 + (words % 4 != 0);
  return range;
}

void GraphImpl::drop() noexcept {
  for (const Drawn& d : drawn_) cache_free(device_, d.state, stream_);
  drawn_.clear();
  graph_ = nullptr;
  release_capture_pool(device_, pool_);
  pool_ = 0;
  g_alive[device_.slot].fetch_sub(1);
}

void GraphImpl::launch() {
  InFlight inside;
  TENON_CHECK(captured(), ValueError, "Graph.replay: nothing was captured");
  refuse_in_capture(device_, "Graph.replay", "one capture cannot hold another graph");
  const tn_device_api& api = *device_entry(device_).api;
  tn_stream* stream = current_stream(device_);
  for (const Drawn& d : drawn_) {
    const tn_generator range = d.generator->reserve(4 * d.blocks);
    const uint64_t state[] = {range.seed, range.offset};
    check_device(device_, "launch of a graph",
                 api.fill(api.context, device_.index, d.state.handle, d.state.offset, state,
                          sizeof state, 1, stream));
  }
  check_device(device_, "launch of a graph",
               capture_of(device_.slot).launch(api.context, device_.index, graph_, stream));
}

void GraphImpl::reset() {
  if (!captured()) return;
  InFlight inside;
  const tn_device_api* api = device_entry(device_).api;
  api->sync(api->context, device_.index, nullptr);  // launches may be under way
  capture_of(device_.slot).destroy(api->context, device_.index, graph_);
  drop();
}

}  // namespace tenon::core
