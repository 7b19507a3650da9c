// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace digits {

Progress progress_bar(int epochs, int64_t images) {
  bool terminal = isatty(fileno(stdout)) == 1;
  return [=](int epoch, int64_t seen, const Epoch& e) {
    if (seen < images && !terminal) return;
    constexpr int64_t kWidth = 24;
    auto filled = static_cast<std::size_t>(kWidth * seen / images);
    std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::printf("%sepoch %3d/%d [%s] loss %.4f  accuracy %6.2f %%%s", terminal ? "\r" : "",
                epoch + 1, epochs, bar.c_str(), e.loss, 100 * e.accuracy,
                seen < images ? "" : "\n");
    std::fflush(stdout);
  };
}

}  // namespace digits
