// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Properties of a device under test: it writes its outputs only, serves several threads, and may
// run out of memory.
#include <algorithm>
#include <cstring>
#include <thread>

#include "cell.h"
#include "device.h"
#include "reference.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

// Bytes on both sides: as far as one excess group of threads would write.
constexpr int64_t kMargin = 512;
constexpr unsigned char kByte = 0x5c;
constexpr int kThreads = 4, kCalls = 3;
constexpr int kMaxAllocations = 6;  // of one call, that are made to fail in turn

Built build_inputs(const Cell& cell) {
  return Built(cell.spec, cell.dtype, cell.memory, cell.place);
}

Results call(const Cell& cell) {
  Built inputs = build_inputs(cell);
  return call_and_collect(cell.op, inputs);
}

std::string differs(const Cell& cell, const Results& a, const Results& b) {
  std::string wrong = other_geometry(a, b);
  return wrong.empty() && has_bits(cell.op) && bits(a) != bits(b) ? "other bits" : wrong;
}

core::Impl bytes_on(DeviceId place, int64_t n) {
  core::Impl host = core::new_tensor("check", kUInt8, core::kHost, 1, &n);
  std::memset(host->host_data(), kByte, static_cast<std::size_t>(n));
  core::Impl there = core::new_tensor("check", kUInt8, place, 1, &n);
  core::copy(*there, *host);
  return there;
}

// out= row-major in the middle of a block, so that a kernel is given that memory itself.
void check_sentinels(const Cell& cell, const Results& expected, Findings& out) {
  const auto call_out = cell.op.boxed_out.load();
  const bool tensors =
      std::all_of(expected.begin(), expected.end(), [](const auto& r) { return bool(r.tensor); });
  if (!call_out || !tensors || static_cast<int>(expected.size()) != cell.op.n_results) return;
  std::vector<core::Impl> blocks, outs;
  for (const oracle::Result& r : expected) {
    const core::TensorImpl& t = *r.tensor;
    blocks.push_back(bytes_on(cell.place, t.numel * t.itemsize() + 2 * kMargin));
    std::vector<int64_t> strides(static_cast<std::size_t>(t.ndim()));
    core::contiguous_strides(t.ndim(), t.view.sizes, strides.data());
    outs.push_back(core::TensorImpl::make(t.dtype, blocks.back()->storage,
                                          blocks.back()->byte_offset() + kMargin, t.ndim(),
                                          t.view.sizes, strides.data()));
  }
  Built inputs = build_inputs(cell);
  call_out(inputs.values(), outs.data());
  for (std::size_t k = 0; k < outs.size(); ++k) {
    const Values around = oracle::values_of(*blocks[k]);
    const auto margin = static_cast<std::size_t>(kMargin);
    const std::size_t n = around.exact.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (i == margin) i = n - margin;
      if (around.exact[i] == kByte) continue;
      const bool before = i < margin;
      return out.failed(Property::Sentinels,
                        core::join("output ", k, ": a byte was written ",
                                   before ? margin - i : i - (n - margin) + 1, " bytes ",
                                   before ? "before" : "after", " its memory"));
    }
  }
  out.passed(Property::Sentinels);
}

void check_stress(const Cell& cell, const Results& expected, Findings& out) {
  if (!has_values(cell.op)) return;
  std::string wrong[kThreads];
  std::vector<std::thread> threads;
  for (std::string& w : wrong) {
    threads.emplace_back([&] {
      try {
        for (int k = 0; k < kCalls && w.empty(); ++k) w = differs(cell, call(cell), expected);
      } catch (const std::exception& e) {
        w = e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) {
    if (!w.empty()) return out.failed(Property::Stress, core::join("four threads at once: ", w));
  }
  out.passed(Property::Stress);
}

// The pool hands out parts of large segments: here all of them are in use but `left` pieces of the
// smallest size, so that the next small tensor allocates on the device.
class Scarcity {
 public:
  Scarcity(DeviceId place, int left) : place_(place), stream_(core::current_stream(place)) {
    core::cache_trim(place);
    const uint64_t before = asked();
    while (asked() == before && blocks_.size() < kMaxBlocks) {
      blocks_.push_back(core::cache_alloc(place, 1, stream_));
    }
    free_at(blocks_.size() - 1);  // of the new segment, which goes back whole
    core::cache_trim(place);
    // Not side by side: two pieces would become one.
    for (int k = 1; k <= left && !blocks_.empty(); ++k) {
      free_at(static_cast<std::size_t>(k) * blocks_.size() / static_cast<std::size_t>(left + 1));
    }
  }
  ~Scarcity() {
    for (const core::Block& b : blocks_) core::cache_free(place_, b, stream_);
  }
  Scarcity(const Scarcity&) = delete;
  Scarcity& operator=(const Scarcity&) = delete;

 private:
  static constexpr std::size_t kMaxBlocks = 1 << 15;
  uint64_t asked() const { return core::memory_stats(place_).device_allocations; }
  void free_at(std::size_t k) {
    core::cache_free(place_, blocks_[k], stream_);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(k));
  }

  DeviceId place_;
  tn_stream* stream_;
  std::vector<core::Block> blocks_;
};

// Empty if all is well; `reached`: whether an allocation failed.
std::string call_with_failure(const Cell& cell, int left, const Results& expected, bool& reached) {
  Built inputs = build_inputs(cell);
  const auto before = inputs.bytes();
  core::synchronize(cell.place);
  const std::string name = core::device_entry(cell.place).name;
  std::string wrong;
  {
    Scarcity scarce(cell.place, left);
    const uint64_t in_use = core::memory_stats(cell.place).allocated;
    FailingAllocations failing;
    try {
      call_operator(cell.op, inputs.values());
    } catch (const Error& e) {
      const std::string text = e.what();
      if (e.code() != TN_ERROR_MEMORY) wrong = "another error than OutOfMemoryError: " + text;
      if (wrong.empty() && text.find(name) == std::string::npos)
        wrong = "the error does not name the device: " + text;
    }
    reached = failing.count() > 0;
    core::synchronize(cell.place);
    const uint64_t after = core::memory_stats(cell.place).allocated;
    if (wrong.empty() && reached && after != in_use)
      wrong = core::join(after, " bytes in use, ", in_use, " before");
  }
  if (!reached) return wrong;
  if (wrong.empty()) wrong = changed(cell.op, inputs, before);
  if (!wrong.empty()) return wrong;
  wrong = differs(cell, call(cell), expected);
  return wrong.empty() ? "" : "the next call: " + wrong;
}

void check_exhausted(const Cell& cell, const Results& expected, Findings& out) {
  if (!can_fail_allocations(cell.place.slot)) return;
  bool any = false;
  for (int left = 0; left < kMaxAllocations; ++left) {
    bool reached = false;
    std::string wrong = call_with_failure(cell, left, expected, reached);
    any = any || reached;
    if (!wrong.empty())
      return out.failed(Property::Exhausted,
                        core::join("allocation ", left + 1, " failed: ", wrong));
    if (!reached) break;
  }
  if (any) out.passed(Property::Exhausted);
}

}  // namespace

Findings run_tested_device(const Cell& cell) {
  Findings out;
  Results expected;
  try {
    expected = call(cell);
  } catch (const Error&) {
    return out;  // other tasks judge it
  }
  constexpr struct {
    Property property;
    void (*run)(const Cell&, const Results&, Findings&);
  } kChecks[] = {{Property::Sentinels, check_sentinels},
                 {Property::Stress, check_stress},
                 {Property::Exhausted, check_exhausted}};
  for (const auto& check : kChecks) {
    try {
      check.run(cell, expected, out);
    } catch (const Error& e) {
      out.failed(check.property, e.what());
    }
  }
  return out;
}

}  // namespace tenon::check
