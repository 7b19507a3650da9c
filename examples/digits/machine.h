// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the program runs on: the plugins that were found, the device, and where the time goes.
#pragma once

#include <tenon/tensor.h>

#include <string>

namespace digits {

// A line for each plugin that was found.
std::string describe_plugins();

// Opens what serves the device. std::runtime_error says where was looked, what was found and what
// to do, if nothing does.
tenon::Device open_device(const std::string& name);

// Counts every kernel call from construction on.
class KernelTimes {
 public:
  KernelTimes();
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;
  std::string table(std::size_t rows) const;  // the slowest operators, one per line
};

}  // namespace digits
