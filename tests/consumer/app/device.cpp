// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   device NAME
// What a device with streams, events and memory of its own promises besides values: order, waiting,
// reports of bad indices, and errors that say what failed.
#include <tenon/runtime/device.h>
#include <tenon/runtime/error.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <cstring>
#include <string>

using namespace tenon;

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  std::printf("device: %s\n", what);
  ++failures;
}

// f throws T, and its message holds the word.
template <class T, class F>
void expect_error(F f, const char* word, const char* what) {
  try {
    f();
  } catch (const T& e) {
    if (std::strstr(e.what(), word) == nullptr)
      std::printf("device: %s says '%s'\n", what, e.what()), ++failures;
    return;
  } catch (const std::exception& e) {
    std::printf("device: %s has another class: '%s'\n", what, e.what());
    ++failures;
    return;
  }
  expect(false, what);
}

void indices(const Device& device) {
  const core::DeviceId id = core::device_id(device);
  Tensor x = ones({3, 4}).to(device), bad = tensor({0, 7}).to(device);
  expect_error<IndexError>(
      [&] {
        x.gather(0, bad.view({2, 1}));
        core::synchronize(id);
      },
      "index 7 is out of bounds for a size of 3", "a bad index of gather");
  expect_error<IndexError>(
      [&] {
        x.scatter_add(0, bad.view({2, 1}), ones({2, 1}).to(device));
        core::synchronize(id);
      },
      "index 7 is out of bounds for", "a bad index of scatter_add");
  const Tensor whole = tensor({5, 6}).to(device);
  expect_error<Error>(
      [&] {
        floor_divide(whole, tensor({2, 0}).to(device));
        core::synchronize(id);
      },
      "division by zero of the integer 6", "an integer division by zero");
  expect_error<ValueError>(
      [&] {
        bitwise_left_shift(whole, tensor({64, 1}).to(device));
        core::synchronize(id);
      },
      "64 is not in [0, 64)", "a shift by too many bits");
  core::synchronize(id);  // reported once
  expect((x + 1).sum().item<double>() == 24, "the device goes on after a bad index");
}

void streams(const Device& device) {
  const core::DeviceId id = core::device_id(device);
  const tn_device_api& api = *core::device_entry(id).api;
  tn_stream *a = nullptr, *b = nullptr;
  tn_event *begin = nullptr, *end = nullptr, *unused = nullptr;
  expect(api.stream_create(api.context, 0, 0, &a) == TN_OK &&
             api.stream_create(api.context, 0, 0, &b) == TN_OK,
         "streams");
  expect(api.event_create(api.context, 0, 0, &begin) == TN_OK &&
             api.event_create(api.context, 0, 0, &end) == TN_OK &&
             api.event_create(api.context, 0, 0, &unused) == TN_OK,
         "events");
  Tensor x = zeros({1 << 20}).to(device), y = zeros({1 << 20}).to(device);
  core::synchronize(id);
  core::set_current_stream(id, a);
  api.event_record(api.context, 0, begin, a);
  for (int i = 0; i < 20; ++i) x.add_(1);
  api.event_record(api.context, 0, end, a);
  core::set_current_stream(id, b);
  expect(api.event_wait(api.context, 0, end, b) == TN_OK, "a stream waits for an event");
  y.copy_(x);
  expect(y.sum().item<double>() == 20.0 * (1 << 20),
         "a stream that waited sees what came before the event");
  int32_t done = 0;
  expect(api.event_query(api.context, 0, end, &done) == TN_OK && done == 1,
         "the event has passed then");
  double ms = -1;
  expect(api.event_elapsed(api.context, 0, begin, end, &ms) == TN_OK && ms > 0 && ms < 60000,
         "time between events");
  expect(api.event_elapsed(api.context, 0, begin, unused, &ms) != TN_OK,
         "an event that was never recorded has no time");
  core::set_current_stream(id, nullptr);
  for (tn_event* e : {begin, end, unused}) api.event_destroy(api.context, 0, e);
  core::synchronize(id);
}

void memory(const Device& device) {
  Tensor x = arange(1000, kInt64), there = x.to(device);
  there.slice(0, 10, 900).copy_(there.slice(0, 0, 890));  // they overlap
  x.slice(0, 10, 900).copy_(x.slice(0, 0, 890).clone());
  expect(there.cpu().equal(x), "a copy onto itself, 10 elements further");
  Tensor host = empty({1 << 20}, TensorOptions(kFloat32).pinned_memory(true)).fill_(3);
  expect(host.to(device, true).sum().item<double>() == 3.0 * (1 << 20),
         "an asynchronous copy from pinned memory");
  expect_error<OutOfMemoryError>(
      [&] { empty({int64_t{1} << 50}, TensorOptions(kByte).device(device)); }, "out of memory on",
      "more memory than there is");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const Device device(argv[1]);
    ones({1}, TensorOptions(device)).add(1);
    memory(device);
    indices(device);
    streams(device);
  } catch (const std::exception& e) {
    std::printf("device: %s\n", e.what());
    return 1;
  }
  std::printf("%s: memory, indices, streams and events: %d faults\n", argv[1], failures);
  return failures ? 1 : 0;
}
