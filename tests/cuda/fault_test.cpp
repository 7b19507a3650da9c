// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Failures are reported clearly, leak nothing, and the next call works.
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/stream.h"
#include "tests/cuda/fault.h"

namespace tenon::test {
namespace {

class CudaFault : public Cuda {};

// Both devices, memory, copies of each kind, streams, events, pinned memory.
void use_everything() {
  const tn_device_api& a = cuda_api();
  const Tensor x = arange(300, kFloat);
  OnStream s(0, -1);
  const Tensor y = x.to(kCUDA), z = y.to(Device("cuda:1"));
  TENON_CHECK(equal(z.cpu(), x), Error, "other bytes came back");
  struct Pinned {
    void* p = nullptr;
    ~Pinned() {
      if (p) cuda_api().free_pinned(cuda_api().context, p, 64);
    }
  } pinned;
  core::check_device(cuda_id(), "alloc_pinned", a.alloc_pinned(a.context, 64, &pinned.p));
  struct OfTheTable {
    tn_event* e = nullptr;
    ~OfTheTable() {
      if (e) cuda_api().event_destroy(cuda_api().context, 0, e);
    }
  } event;
  core::check_device(cuda_id(), "event_create", a.event_create(a.context, 0, 0, &event.e));
  core::check_device(cuda_id(), "fill",
                     a.fill(a.context, 0, y.data_ptr(), 0, "abcd", 4, 16, s.get()));
  core::check_device(cuda_id(), "event_record", a.event_record(a.context, 0, event.e, s.get()));
  core::check_device(cuda_id(), "event_wait", a.event_wait(a.context, 0, event.e, nullptr));
  core::check_device(
      cuda_id(), "copy",
      a.copy(a.context, kHost, pinned.p, 0, cuda_device(0), y.data_ptr(), 0, 64, nullptr));
  int32_t done;
  core::check_device(cuda_id(), "event_query", a.event_query(a.context, 0, event.e, &done));
  const Stream side = stream_from_pool();
  Event begin(kCUDA, EventFlag::BACKEND_DEFAULT), end(kCUDA, EventFlag::BACKEND_DEFAULT);
  Event shared(kCUDA, EventFlag::INTERPROCESS);
  begin.record(side);
  shared.record(side);
  Event(Device("cuda:0"), shared.ipc_handle()).block(default_stream());
  end.record(side);
  (void)side.query();
  end.synchronize();
  (void)begin.elapsed_time(end);
  core::synchronize(cuda_id());
  tn_device_props p{};
  p.struct_size = sizeof p;
  core::check_device(cuda_id(), "props", a.props(a.context, 0, &p));
}

TEST_F(CudaFault, EachCallFailsOnce) {
  for (int i = 0; i < 32; ++i) (void)stream_from_pool();  // the whole pool, which stays alive
  int injected = 0;
  for (cudaError_t code :
       {cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorNotSupported}) {
    injected += each_call_fails_once(code, use_everything);
  }
  EXPECT_GE(injected, 150);
}

TEST_F(CudaFault, EachCallOfLoadingFailsOnce) {
  trim();
  plugins::unload("cuda");
  EXPECT_EQ(alive(), 0) << "unloading releases everything";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 50);
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    std::string text;
    plugins::Info info;
    text = text_of([&] { info = plugins::load(cuda_library()); });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    if (!hit) {
      EXPECT_EQ(info.state, plugins::State::Opened);
      break;
    }
    if (info.state == plugins::State::Opened) {
      plugins::unload("cuda");
    } else {
      EXPECT_TRUE(has(text + info.reason, "cudaErrorInvalidValue"))
          << n << ": " << text << info.reason;
    }
    EXPECT_EQ(alive(), 0) << n;
  }
  use_everything();
}

// After a sticky error every later use names the device and the error immediately.
TEST_F(CudaFault, AStickyErrorIsNamedByEveryLaterUse) {
  {
    const Tensor there = on_cuda(ones({64})), other = on_cuda(ones({64}), "cuda:1");
    const tn_device_api& a = cuda_api();
    tenon_fake_fail_work(1, cudaErrorIllegalAddress);
    const unsigned char zero = 0;
    cuda_check(a.fill(a.context, 0, there.data_ptr(), 0, &zero, 1, 64, nullptr));
    const std::string first = text_of<BackendError>([&] { core::synchronize(cuda_id()); });
    expect_words(first, {"cuda:0", "cudaErrorIllegalAddress"});
    const int64_t calls = tenon_fake_calls(nullptr);
    for (int i = 0; i < 3; ++i) {
      expect_words(
          text_of<BackendError>([&] { (void)there.cpu(); }),
          {"device cuda:0 is lost", "cudaErrorIllegalAddress", "the CPU can still be used"});
    }
    expect_words(text_of([] { (void)empty({1 << 20}, kCUDA); }), {"cuda:0 is lost"});
    EXPECT_EQ(tenon_fake_calls(nullptr), calls) << "a lost device gets no more calls";
    EXPECT_TRUE(equal(ones({3}) + ones({3}), full({3}, 2.))) << "the CPU computes on";
    EXPECT_TRUE(equal(other.cpu(), ones({64}))) << "the other device computes on";
  }
  restart();
  EXPECT_TRUE(equal(on_cuda(ones({8})).cpu(), ones({8})));
}

// With TENON_CUDA_BLOCKING the call that failed raises its own error.
TEST_F(CudaFault, BlockingNamesTheCallThatFailed) {
  setenv("TENON_CUDA_BLOCKING", "1", 1);
  restart();
  unsetenv("TENON_CUDA_BLOCKING");
  {
    const Tensor there = on_cuda(ones({64}));
    const tn_device_api& a = cuda_api();
    const unsigned char zero = 0;
    cuda_check(a.fill(a.context, 0, there.data_ptr(), 0, &zero, 1, 64, nullptr));
    EXPECT_EQ(tenon_fake_work(), 0) << "nothing is left to run";
    tenon_fake_fail_work(1, cudaErrorIllegalAddress);
    EXPECT_EQ(a.fill(a.context, 0, there.data_ptr(), 0, &zero, 1, 64, nullptr), TN_ERROR_BACKEND);
    expect_words(text_of<BackendError>([&] { (void)there.cpu(); }),
                 {"cuda:0 is lost", "the kernel that failed is fill"});
  }
  restart();
  EXPECT_TRUE(equal(on_cuda(ones({8})).cpu(), ones({8})));
}

TEST_F(CudaFault, AForkedChildGetsAnError) {
  const Tensor there = on_cuda(ones({8}));
  const int64_t calls = tenon_fake_calls(nullptr);
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string text = text_of<BackendError>([&] { (void)there.cpu(); });
    text += text_of([] { (void)empty({1 << 22}, kCUDA); });
    text += equal(ones({3}) + ones({3}), full({3}, 2.)) ? " CPU right" : " CPU wrong";
    text += tenon_fake_calls(nullptr) == calls ? ", no calls" : ", calls";
    (void)!::write(out[1], text.data(), text.size());
    _exit(0);
  }
  close(out[1]);
  std::string text;
  char part[512];
  for (ssize_t n; (n = read(out[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  close(out[0]);
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_words(text,
               {"cannot be re-initialized in a forked process", "spawn", "CPU right, no calls"});
  EXPECT_TRUE(equal(there.cpu(), ones({8}))) << "the parent goes on";
}

TEST_F(CudaFault, UnloadWaitsForTensorsAndReleasesEverything) {
  {
    const Tensor there = on_cuda(ones({8}));
    expect_words(text_of<ValueError>([] { plugins::unload("cuda"); }), {"cuda:0", "in use"});
    EXPECT_TRUE(equal(there.cpu(), ones({8})));
  }
  trim();
  plugins::unload("cuda");
  EXPECT_EQ(alive(), 0);
  plugins::load(cuda_library());
  EXPECT_TRUE(equal(on_cuda(ones({8})).cpu(), ones({8})));
}

// Only for the plugin that nvcc built: the fake runs no device code and must say so.
class CudaNvcc : public Cuda {};

TEST_F(CudaNvcc, AKernelIsRefusedByName) {
  const Tensor x = on_cuda(ones({8}));
  for (int i = 0; i < 2; ++i) {
    expect_words(text_of<BackendError>([&] { (void)(x + x); }),
                 {"add", "cudaErrorInvalidDeviceFunction", "runs no device code", "emulator"});
  }
  EXPECT_TRUE(equal(x.cpu(), ones({8}))) << "the device goes on";
}

}  // namespace
}  // namespace tenon::test
