// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the samples share.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::samples {

using test::expect_words;
using test::text_of;

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// The device that the samples call cuda:N, or the host where there is none.
inline Device gpu_or_host(int index = 0) {
  try {
    const Device d(kCUDA, static_cast<DeviceIndex>(index));
    zeros({1}, TensorOptions(d));
    return d;
  } catch (const Error&) {
    return Device(kCPU);
  }
}

// Warnings that are heard while this lives.
class Heard {
 public:
  Heard() {
    messages().clear();
    before_ =
        set_warning_handler([](const WarningMessage& w) { messages().emplace_back(w.message); });
  }
  ~Heard() { set_warning_handler(before_); }
  Heard(const Heard&) = delete;
  static std::vector<std::string>& messages() {
    static std::vector<std::string> all;
    return all;
  }

 private:
  WarningCallback before_;
};

}  // namespace tenon::samples
