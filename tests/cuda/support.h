// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// plugin_cuda over the fake libraries.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"
#include "tenon/tenon.h"
#include "tests/cuda/fake/control.h"
#include "tests/support.h"

namespace tenon::test {

// The plugin under test: the emulated one, or the one that nvcc built, whose kernels do not run.
inline const std::string& cuda_library() {
  static const std::string path = [] {
    for (const plugins::Info& p : plugins::list()) {
      if (p.device == "cuda" && p.state == plugins::State::Opened) return p.library;
    }
    return std::string();
  }();
  return path;
}
// Created on the host, so that no kernel runs.
inline Tensor on_cuda(const Tensor& t, const char* device = "cuda") { return t.to(Device(device)); }

inline core::DeviceSlot cuda_slot() { return core::usable_slot(kCUDA); }
inline core::DeviceId cuda_id(int index = 0) { return {cuda_slot(), index}; }
inline const tn_device_api& cuda_api() { return *core::device_entry(cuda_slot()).api; }
inline tn_device cuda_device(int index) { return {TN_CUDA, index}; }
inline constexpr tn_device kHost{TN_CPU, 0};

// A stream that is the thread's current one while this lives.
class OnStream {
 public:
  explicit OnStream(int index = 0, int priority = 0) : index_(index) {
    const tn_device_api& a = cuda_api();
    core::check_device(cuda_id(index), "stream_create",
                       a.stream_create(a.context, index, priority, &stream_));
    before_ = core::current_stream(cuda_id(index));
    core::set_current_stream(cuda_id(index), stream_);
  }
  ~OnStream() {
    core::set_current_stream(cuda_id(index_), before_);
    const tn_device_api& a = cuda_api();
    a.stream_destroy(a.context, index_, stream_);
  }
  OnStream(const OnStream&) = delete;
  tn_stream* get() const { return stream_; }

 private:
  int index_;
  tn_stream *stream_ = nullptr, *before_ = nullptr;
};

inline void cuda_check(tn_status s) {
  const tn_device_api& a = cuda_api();
  const tn_str why = s == TN_OK ? tn_str{} : a.last_error(a.context);
  ASSERT_EQ(s, TN_OK) << std::string(why.ptr ? why.ptr : "", why.len);
}

// Releases cached resources of the device, except those that the plugin owns until it is closed.
inline void trim() {
  for (int i = 0; i < 2; ++i) {
    try {
      core::synchronize(cuda_id(i));
    } catch (const Error&) {  // of a device that is lost
    }
    core::cache_trim(cuda_id(i));
  }
}

// Reloads the plugin, as in a new process.
inline void restart() {
  trim();
  plugins::unload("cuda");
  tenon_fake_reset();
  plugins::load(cuda_library());
}

// Resets the fake before each test and checks that the test leaks nothing.
class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    tenon_fake_reset();
    core::device_error_word(cuda_id());  // created here, before anything is counted
    ASSERT_NE(cuda_library(), "");
  }
  void TearDown() override {
    tenon_fake_reset();
    for (int i = 0; i < 2; ++i) {
      core::synchronize(cuda_id(i));
      core::cache_trim(cuda_id(i));
    }
    EXPECT_EQ(tenon_fake_alive(TENON_FAKE_MEMORY), 0);
    EXPECT_EQ(tenon_fake_alive(TENON_FAKE_EVENTS), 0);
    EXPECT_EQ(tenon_fake_alive(TENON_FAKE_GRAPHS), 0);
  }
};

// A test in which nothing may go through the host; it may set deterministic mode.
class CudaAlone : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    before_ = core::fallback();
    core::set_fallback(core::Fallback::ForbidStaging);
  }
  void TearDown() override {
    core::set_deterministic(false);
    core::set_fallback(before_);
    Cuda::TearDown();
  }
  // f(function that moves a tensor to f's device)
  template <class F>
  static void compare(const F& f) {
    const Tensor expected = f([](const Tensor& t) { return t; });
    const Tensor got = f([](const Tensor& t) { return t.to(kCUDA); });
    EXPECT_TRUE(equal(got.cpu(), expected)) << got.cpu() << "\nand not\n" << expected;
  }

 private:
  core::Fallback before_ = core::Fallback::Allow;
};

}  // namespace tenon::test
