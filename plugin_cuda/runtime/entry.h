// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loader's callbacks, for every plugin over this runtime.
#pragma once

#include <string>
#include <utility>

#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {

// For TN_PLUGIN_INIT. fault(): why other libraries do not fit, or an empty text; it is called
// before devices are searched.
template <class Fault>
tn_status open_devices(const Fault& fault, tn_str* why) {
  static auto& text = *new std::string;  // read after the return
  tn_status status = TN_OK;
  try {
    text = fault();
    if (!text.empty()) status = TN_ERROR_BACKEND;
    if (text.empty()) text = start();
    if (status == TN_OK && !text.empty()) status = TN_NO_DEVICE;
  } catch (const sdk::Error& e) {
    text = e.what();
    status = e.code();
  }
  *why = {text.data(), text.size()};
  return status;
}

inline tn_str kept(std::string now) {
  static auto& text = *new std::string;  // read after the return
  text = std::move(now);
  return {text.data(), text.size()};
}

inline tn_str describe() { return kept(description()); }

}  // namespace tenon::cuda
