// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes a file so that its name holds the old content or all of the new one at every moment,
// whoever else writes it and wherever the process or the machine ends:
//   1. a temporary of a random name in the target's folder, created by O_EXCL and O_NOFOLLOW
//   2. owner, group, mode and access list of the file that is to be replaced
//   3. the content, and fsync: the name must not reach the disk before the data
//   4. rename, and fsync of the folder: when commit() returns, the new content is there after a
//   power cut, too
// A failure removes the temporary; a process that is killed may leave it (.tenon-*.part).
//   symbolic link            stays; the file that it names is replaced, or made if there is none
//   other hard links         keep the old content
//   without write permission refused, also to root, to whom the system would allow it: whoever
//                            takes the permission from a file wants it kept
//   folder                   refused
//   FIFO, device             written as it is, neither replaced nor truncated; nothing is whole or
//                            not at all there
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tenon/runtime/export.h"

namespace tenon::serialize::detail {

// An open file, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int get() const { return fd_; }
  void reset(int fd) { fd_ = fd; }
  int close();  // errno's value, 0 if all is well

 private:
  int fd_ = -1;
};

// Errors are ValueErrors that name the file, what could not be done, and the system's reason.
class TENON_API FileWriter {
 public:
  explicit FileWriter(const std::string& name);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();  // without commit() nothing has happened to the target

  void write(const void* data, std::size_t bytes);
  // Overwrites bytes that were written; not where rewritable() is false: a pipe or a device.
  void rewrite(uint64_t offset, const void* data, std::size_t bytes);
  bool rewritable() const { return !temporary_.empty(); }
  void commit();

 private:
  FileWriter() = default;
  void open_special();
  void open_folder(const std::string& folder);
  void open_temporary(const std::filesystem::path& target);
  // Whether a file is to be replaced, and what it is.
  bool find_old(struct stat& old) const;
  void make_temporary(unsigned mode);
  void flush();
  void write_through(const char* data, std::size_t bytes);

  std::string name_;  // as the caller wrote it
  std::string base_;  // of the target, in the folder
  std::string temporary_;
  std::string buffer_;
  Descriptor folder_, file_;
};

// ValueError for a name that the system would cut short, at a zero.
void check_file_name(const char* action, const std::string& name);

}  // namespace tenon::serialize::detail
