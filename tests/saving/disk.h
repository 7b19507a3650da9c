// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A file system that does only what POSIX promises: of what was not synced any part may be lost
// when power goes.
//   data       each write may be lost, be there as zeros, be there up to its middle, or be there
//   mode       each change may be lost
//   names      each creation, rename and removal may be lost, whatever became of the others and of
//   the data
// fsync of a file keeps its data and mode, fsync of the folder the names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/saving/trace.h"

namespace tenon::test {

class Disk {
 public:
  // `target` is the name in the folder that is looked at.
  Disk(std::string folder, std::string target)
      : folder_(std::move(folder)), target_(std::move(target)) {}

  // The target at the start, on the disk.
  void put(const std::string& bytes, unsigned mode);
  void apply(const SystemCall& call);

  struct State {
    bool there = false;
    std::string bytes;
    unsigned mode = 0;
    bool operator<(const State& o) const {
      return std::tie(there, bytes, mode) < std::tie(o.there, o.bytes, o.mode);
    }
  };
  // Of the target, if power went now.
  std::set<State> states() const;

 private:
  struct Change {  // of a file
    bool is_mode;
    unsigned mode;
    std::string data;
    int64_t at = -1;  // where it is written; -1: it is appended
  };
  // The bytes after a change by `data`, which is all, a part or none of what was written.
  static std::string written(std::string bytes, const Change& c, const std::string& data);
  struct File {
    std::string bytes;  // on the disk
    unsigned mode = 0;
    std::vector<Change> pending;
  };
  struct NameChange {
    std::string gone, made;  // either may be empty
    int file = -1;           // that `made` stands for
  };

  void opened(const SystemCall& call);
  void synced(int64_t descriptor);
  File* file_of(int64_t descriptor);  // null if it is none of a file that was made here
  void change_name(const std::string& gone, const std::string& made, int file);
  void add_states(const File& file, std::set<State>& out) const;

  std::string folder_, target_;
  std::vector<File> files_;
  std::map<std::string, int> names_, names_on_disk_;
  std::vector<NameChange> pending_;
  std::map<int64_t, int> open_;     // descriptor: file
  std::set<int64_t> open_folders_;  // descriptors of folder_
};

// The target "target" of a folder by write, rename, and fsync where asked for.
void save_by_hand(const std::string& folder, const std::string& bytes, bool sync_file,
                  bool sync_folder);

}  // namespace tenon::test
