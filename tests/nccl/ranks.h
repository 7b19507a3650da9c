// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of plugin_nccl share. Each rank is a process; all run the same tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tenon/distributed.h"
#include "tenon/tenon.h"

namespace tenon::distributed {

// Copied from the host, so that no kernel of the device runs.
inline Tensor on_device(const Tensor& t) { return t.to(kCUDA); }

// A group of all ranks that the test may break.
inline ProcessGroupPtr make_group(const std::string& name, std::chrono::milliseconds timeout) {
  ProcessGroupOptions o;
  o.backend = "nccl";
  o.timeout = timeout;
  o.group_name = name;
  o.heartbeat = std::chrono::milliseconds(50);
  return std::make_shared<ProcessGroup>(default_group()->getStore(), get_rank(), get_world_size(),
                                        o);
}

template <class F>
DistributedError error_of(F f) {
  try {
    f();
  } catch (const DistributedError& e) {
    return e;
  } catch (const std::exception& e) {
    return DistributedError(std::string("another error: ") + e.what());
  }
  return DistributedError("no error");
}

inline void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas not: " << part;
}

}  // namespace tenon::distributed
