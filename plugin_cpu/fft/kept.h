// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Plans and tables that a thread keeps between calls: the last ones that it used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugin_cpu/memory/per_thread.h"

namespace tenon::cpu::fft {

enum class Kind {
  kForward,
  kBackward,
  kRealForward,
  kRealBackward,
  kFloatRoots,
  kDoubleRoots,
  kSplitRoots,
  kFloatLine,
  kDoubleLine
};

class Kept {
 public:
  // The T of this length and kind; make() returns it where there is none yet.
  template <class T, class Make>
  static std::shared_ptr<T> get(int64_t n, Kind kind, Make&& make) {
    std::vector<Entry>& entries = of_this_thread<Kept>().entries_;
    const auto at = std::find_if(entries.begin(), entries.end(),
                                 [&](const Entry& e) { return e.n == n && e.kind == kind; });
    if (at != entries.end()) {
      std::rotate(entries.begin(), at, at + 1);
      return std::static_pointer_cast<T>(entries.front().plan);
    }
    std::shared_ptr<T> made = make();
    entries.insert(entries.begin(), Entry{n, kind, made});
    drop_oldest(entries);
    return made;
  }

 private:
  struct Entry {
    int64_t n;
    Kind kind;
    std::shared_ptr<void> plan;
  };
  static constexpr std::size_t kMax = 32;
  static constexpr int64_t kMaxNumbers = 1 << 20;

  static void drop_oldest(std::vector<Entry>& entries) {
    int64_t numbers = 0;
    std::size_t keep = 0;
    for (; keep < std::min(entries.size(), kMax); ++keep) {
      numbers += entries[keep].n;
      if (keep > 0 && numbers > kMaxNumbers) break;
    }
    entries.resize(keep);
  }

  std::vector<Entry> entries_;
};

}  // namespace tenon::cpu::fft
