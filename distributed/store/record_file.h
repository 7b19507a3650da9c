// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A file to which processes append records under a lock.
#pragma once

#include <mutex>

#include "distributed/store/socket.h"
#include "distributed/store/table.h"

namespace tenon::distributed {

// The file begins with kHead; a record is a kind, two lengths of 32 bits, a key and a value. What
// follows the last whole record is of a writer that died in the middle, and the next one cuts it
// off.
class RecordFile {
 public:
  static constexpr char kHead[] = "tenon store 1\n";

  explicit RecordFile(std::string path);  // ValueError: it cannot be opened, or is another file
  const std::string& path() const { return path_; }
  // Reads what others appended, then calls f(table, append) under the file's lock; append(kind,
  // key, value) writes. Results in f's.
  template <class F>
  auto locked(F f) {
    std::lock_guard held(lock_);
    Lock file(*this);
    read_new();
    return f(keys_);
  }
  void set(const std::string& key, const Bytes& value);  // within f
  void erase(const std::string& key);                    // within f
  int64_t bytes() const;                                 // of the file, without a lock

 private:
  struct Lock {
    explicit Lock(RecordFile& f);
    ~Lock();
    RecordFile& file;
  };
  void read_new();
  void append(uint8_t kind, const std::string& key, const Bytes& value);

  std::string path_;
  Socket file_;      // a descriptor that is closed
  std::mutex lock_;  // fork: the child opens the file again or leaves it
  int64_t read_to_ = 0;
  KeyTable keys_;
};

}  // namespace tenon::distributed
