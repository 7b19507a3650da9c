// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TN_PLUGIN_SINGLE_THREADED: the kernels of such plugins take turns. Calls of other kernels pay
// nothing for it.
#pragma once

#include <memory>

#include "tenon/abi/plugin.h"

namespace tenon::core {

// A kernel to be published in place of the plugin's own. Its functions wait for their turn and call
// those.
struct SerialKernel {
  tn_kernel kernel;
  const tn_kernel* own;
};
std::unique_ptr<SerialKernel> serialized(const tn_kernel& own);

}  // namespace tenon::core
