// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs items in several child processes, so that a crash ends one item only.
#pragma once

#include <functional>
#include <string>

namespace tenon::oracle {

// One line that an item sends to the parent. Neither part holds a tab or a newline.
struct Line {
  std::string kind;
  std::string text;
};
using Send = std::function<void(const Line&)>;

enum class AfterDeath {
  NextItem,  // of the same file
  NextFile,
  Nothing  // no further file is started
};

struct Work {
  int files = 0;
  // Runs every item of one file from `first_item` on. Before each item it sends {"start", "N id"}.
  std::function<void(int file, int first_item, const Send& send)> run;
  // In the parent, for each line but "start".
  std::function<void(const Line&)> receive;
  // In the parent: the item died of `signal`, 0 if it ended the process. Returns what a new process
  // continues with.
  std::function<AfterDeath(const std::string& id, int signal)> died;
};

// `processes` 0: in this process. Each item may take `seconds` before it counts as dead.
void run_all(const Work& work, int processes, int seconds);

}  // namespace tenon::oracle
