// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A file of schedules, as JSON: what each was measured for, and how fast it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon::jit::comprehension {

// What a schedule depends on beside the program.
struct TunedFor {
  std::string program;  // without schedules; its sizes are numbers
  std::vector<std::vector<int64_t>> strides;
  std::string device;    // its name
  std::string versions;  // of the library and of the plugin that runs programs there
  int threads = 1;
};

struct TunedEntry {
  std::vector<std::string> schedules;  // by nest
  double best = 0, untuned = 0;        // microseconds
};

// Null if the file has none. Entries for other devices or versions, and a file that is damaged, are
// ignored with a log line.
std::optional<TunedEntry> find_tuned(const std::string& file, const TunedFor& key);

// Adds or replaces the entry, and keeps the others; a damaged file is replaced. Readers see the old
// file or the new one. ValueError if it cannot be written.
void keep_tuned(const std::string& file, const TunedFor& key, const TunedEntry& entry);

}  // namespace tenon::jit::comprehension
