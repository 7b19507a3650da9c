// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/saving/disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenon::test {
namespace {

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void Disk::put(const std::string& bytes, unsigned mode) {
  files_.push_back({bytes, mode, {}});
  names_[target_] = names_on_disk_[target_] = static_cast<int>(files_.size()) - 1;
}

void Disk::change_name(const std::string& gone, const std::string& made, int file) {
  if (!gone.empty()) names_.erase(gone);
  if (!made.empty()) names_[made] = file;
  pending_.push_back({gone, made, file});
}

void Disk::opened(const SystemCall& call) {
  const auto flags = call.arguments[2];
  if (flags & O_DIRECTORY) {
    if (call.path == folder_) open_folders_.insert(call.result);
  } else if (flags & O_CREAT) {
    files_.push_back({"", static_cast<unsigned>(call.arguments[3]), {}});
    open_[call.result] = static_cast<int>(files_.size()) - 1;
    change_name("", base_of(call.path), open_[call.result]);
  } else if (flags & (O_WRONLY | O_RDWR)) {
    ADD_FAILURE() << "a file is written in place: " << call.path;
  }
}

std::string Disk::written(std::string bytes, const Change& c, const std::string& data) {
  if (c.at < 0) return bytes + data;
  const auto at = static_cast<std::size_t>(c.at);
  bytes.resize(std::max(bytes.size(), at + data.size()), '\0');
  return bytes.replace(at, data.size(), data);
}

void Disk::synced(int64_t descriptor) {
  if (File* file = file_of(descriptor)) {
    for (const auto& c : file->pending)
      c.is_mode ? void(file->mode = c.mode) : void(file->bytes = written(file->bytes, c, c.data));
    file->pending.clear();
  } else if (open_folders_.count(descriptor)) {
    names_on_disk_ = names_;
    pending_.clear();
  }
}

Disk::File* Disk::file_of(int64_t descriptor) {
  const auto file = open_.find(descriptor);
  return file == open_.end() ? nullptr : &files_[static_cast<std::size_t>(file->second)];
}

void Disk::apply(const SystemCall& call) {
  if (call.result < 0) return;
  const auto fd = static_cast<int64_t>(call.arguments[0]);
  switch (call.number) {
    case SYS_openat:
      return opened(call);
    case SYS_write:
      EXPECT_EQ(call.result, static_cast<int64_t>(call.data.size()));
      if (File* file = file_of(fd)) file->pending.push_back({false, 0, call.data});
      return;
    case SYS_pwrite64:
      EXPECT_EQ(call.result, static_cast<int64_t>(call.data.size()));
      if (File* file = file_of(fd))
        file->pending.push_back({false, 0, call.data, static_cast<int64_t>(call.arguments[3])});
      return;
    case SYS_fchmod:
      ASSERT_NE(file_of(fd), nullptr);
      return file_of(fd)->pending.push_back({true, static_cast<unsigned>(call.arguments[1]), ""});
    case SYS_fsync:
      return synced(fd);
    case SYS_renameat:
    case SYS_renameat2:
#ifdef SYS_rename
    case SYS_rename:
#endif
      ASSERT_TRUE(names_.count(base_of(call.path)));
      return change_name(base_of(call.path), base_of(call.second_path), names_[base_of(call.path)]);
    case SYS_unlinkat:
      return change_name(base_of(call.path), "", -1);
    case SYS_close:
      open_.erase(fd);
      open_folders_.erase(fd);
      return;
    case SYS_writev:
    case SYS_ftruncate:
    case SYS_fdatasync:
      ADD_FAILURE() << "system call " << call.number << " is unknown to this file system";
      return;
    default:
      return;
  }
}

void Disk::add_states(const File& file, std::set<State>& out) const {
  std::set<State> now{{true, file.bytes, file.mode}};
  for (const auto& change : file.pending) {
    std::set<State> next = now;  // lost
    for (const State& s : now) {
      if (change.is_mode) {
        next.insert({true, s.bytes, change.mode});
        continue;
      }
      const auto half = change.data.substr(0, change.data.size() / 2);
      for (const auto& data : {std::string(change.data.size(), '\0'), half, change.data})
        next.insert({true, written(s.bytes, change, data), s.mode});
    }
    now = std::move(next);
  }
  out.insert(now.begin(), now.end());
}

std::set<Disk::State> Disk::states() const {
  std::set<State> out;
  for (std::size_t kept = 0; kept < std::size_t{1} << pending_.size(); ++kept) {
    std::map<std::string, int> names = names_on_disk_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (!(kept >> i & 1)) continue;
      if (!pending_[i].gone.empty()) names.erase(pending_[i].gone);
      if (!pending_[i].made.empty()) names[pending_[i].made] = pending_[i].file;
    }
    const auto at = names.find(target_);
    if (at == names.end()) {
      out.insert(State{});
    } else {
      add_states(files_[static_cast<std::size_t>(at->second)], out);
    }
  }
  return out;
}

void save_by_hand(const std::string& folder, const std::string& bytes, bool sync_file,
                  bool sync_folder) {
  const int in = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const int file = openat(in, "temporary", O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) _exit(2);
  if (sync_file) fsync(file);
  close(file);
  renameat(in, "temporary", in, "target");
  if (sync_folder) fsync(in);
  close(in);
}

}  // namespace tenon::test
