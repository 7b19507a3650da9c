// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "latency.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace serve {

void Latencies::add(Clock::duration latency) {
  const double us = std::chrono::duration<double, std::micro>(latency).count();
  const double at = std::log(std::max(us, 1.0)) / std::log(kWidth);
  ++counts_[std::min(static_cast<std::size_t>(at), counts_.size() - 1)];
  ++answered_;
  max_us_ = std::max(max_us_, us);
}

double Latencies::percentile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(answered_)));
  uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted && seen > 0)
      return std::min(std::pow(kWidth, static_cast<double>(i + 1)), max_us_) / 1000;
  }
  return 0;
}

std::string Latencies::table(Clock::duration total) const {
  const double seconds = std::chrono::duration<double>(total).count();
  const auto all = static_cast<double>(answered_ + errors_);
  char text[400];
  std::snprintf(text, sizeof(text),
                "%9s %8s %8s %10s %10s %10s %10s %12s\n%9llu %8llu %8llu %10.3f %10.3f %10.3f "
                "%10.3f %12.1f\n",
                "requests", "errors", "runs", "median ms", "p90 ms", "p99 ms", "max ms",
                "requests/s", static_cast<unsigned long long>(answered_ + errors_),
                static_cast<unsigned long long>(errors_), static_cast<unsigned long long>(runs_),
                percentile(0.5), percentile(0.9), percentile(0.99), max_us_ / 1000,
                seconds > 0 ? all / seconds : 0.0);
  return text;
}

}  // namespace serve
