// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/device.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

using namespace tenon::sdk;

namespace {

tn_status props(void*, int32_t, tn_device_props*) { return TN_OK; }
tn_status create_stream(void*, int32_t, int32_t, tn_stream**) { return TN_OK; }
void destroy_stream(void*, int32_t, tn_stream*) {}
tn_status sync_stream(void*, int32_t, tn_stream*) { return TN_OK; }
tn_status query_stream(void*, int32_t, tn_stream*, int32_t*) { return TN_OK; }
void* native_of(void*, int32_t, tn_stream*) { return nullptr; }
tn_status create_event(void*, int32_t, uint32_t, tn_event**) { return TN_OK; }
void destroy_event(void*, int32_t, tn_event*) {}
tn_status record_event(void*, int32_t, tn_event*, tn_stream*) { return TN_OK; }
tn_status wait_event(void*, int32_t, tn_event*, tn_stream*) { return TN_OK; }
tn_status query_event(void*, int32_t, tn_event*, int32_t*) { return TN_OK; }
tn_status time_events(void*, int32_t, tn_event*, tn_event*, double*) { return TN_OK; }
tn_status sync_event(void*, int32_t, tn_event*) { return TN_OK; }
tn_status alloc_pinned(void*, uint64_t, void**) { return TN_OK; }
void free_pinned(void*, void*, uint64_t) {}
tn_str last_error(void*) { return {}; }

constexpr tn_device_api kRequired = malloc_device(props);
constexpr tn_device_api kWhole =
    malloc_device(props)
        .fill(fill_host)
        .streams(create_stream, destroy_stream, sync_stream, query_stream)
        .native_stream(native_of)
        .events(create_event, destroy_event, record_event, wait_event, query_event, time_events,
                sync_event)
        .pinned(alloc_pinned, free_pinned)
        .last_error(last_error);

// The functions of a table in its order.
std::vector<void (*)()> functions(const tn_device_api& api) {
  std::vector<void (*)()> all((sizeof api - offsetof(tn_device_api, count)) / sizeof(void (*)()));
  std::memcpy(all.data(), reinterpret_cast<const char*>(&api) + offsetof(tn_device_api, count),
              all.size() * sizeof all[0]);
  return all;
}

}  // namespace

TEST(DeviceFunctions, RequiredAlone) {
  EXPECT_EQ(kRequired.struct_size, sizeof(tn_device_api));
  EXPECT_EQ(kRequired.context, nullptr);
  EXPECT_EQ(kRequired.props, &props);
  const auto all = functions(kRequired);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i] != nullptr, i < 6) << i;
}

TEST(DeviceFunctions, EachInItsPlace) {
  const auto all = functions(kWhole), required = functions(kRequired);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NE(all[i], nullptr) << i;
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(all[i], required[i]) << i;
  EXPECT_EQ(kWhole.stream_sync, &sync_stream);
  EXPECT_EQ(kWhole.event_record, &record_event);  // of one type with event_wait
  EXPECT_EQ(kWhole.event_wait, &wait_event);
}

TEST(DeviceFunctions, LastOnesOfAGroupMayBeAbsent) {
  constexpr tn_device_api api =
      malloc_device(props)
          .streams(create_stream, destroy_stream)
          .events(create_event, destroy_event, record_event, wait_event, query_event);
  EXPECT_EQ(api.stream_destroy, &destroy_stream);
  EXPECT_EQ(api.stream_sync, nullptr);
  EXPECT_EQ(api.stream_query, nullptr);
  EXPECT_EQ(api.event_query, &query_event);
  EXPECT_EQ(api.event_elapsed, nullptr);
  EXPECT_EQ(api.event_sync, nullptr);
}

TEST(DeviceFunctions, OfHostMemory) {
  int32_t n = 0;
  EXPECT_EQ(kWhole.count(nullptr, &n), TN_OK);
  EXPECT_EQ(n, 1);
  void* block = nullptr;
  ASSERT_EQ(kWhole.alloc(nullptr, 0, 100, nullptr, &block), TN_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kHostAlignment, 0u);
  const char pattern[] = {1, 2, 3};
  EXPECT_EQ(kWhole.fill(nullptr, 0, block, 1, pattern, sizeof pattern, 33, nullptr), TN_OK);
  char read[6] = {};
  const tn_device host{}, device{};
  EXPECT_EQ(kWhole.copy(nullptr, host, read, 2, device, block, 96, 4, nullptr), TN_OK);
  EXPECT_EQ(std::vector<char>(read, read + 6), (std::vector<char>{0, 0, 3, 1, 2, 3}));
  EXPECT_EQ(kWhole.copy(nullptr, device, block, 2, device, block, 1, 99 - 1, nullptr),
            TN_OK);  // they overlap
  EXPECT_EQ(static_cast<char*>(block)[99], 2);
  EXPECT_EQ(kWhole.sync(nullptr, 0, nullptr), TN_OK);
  kWhole.free(nullptr, 0, block, 100, nullptr);
}
