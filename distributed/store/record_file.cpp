// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/store/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon::distributed {
namespace {

enum : uint8_t { kSet = 's', kErase = 'e' };
constexpr std::size_t kRecordHead = 9, kHeadBytes = sizeof RecordFile::kHead - 1;

std::string reason() { return std::strerror(errno); }

int64_t size_of(int fd) {
  struct stat s {};
  return fstat(fd, &s) == 0 ? s.st_size : 0;
}

}  // namespace

RecordFile::RecordFile(std::string path) : path_(std::move(path)) {
  file_ = Socket(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  TENON_CHECK(file_, ValueError, "FileStore: '", path_, "' cannot be opened: ", reason());
  locked([](KeyTable&) {});
}

RecordFile::Lock::Lock(RecordFile& f) : file(f) {
  while (::flock(f.file_.fd(), LOCK_EX) != 0) {
    TENON_CHECK(errno == EINTR, BackendError, "FileStore: '", f.path_,
                "' cannot be locked: ", reason());
  }
}
RecordFile::Lock::~Lock() { ::flock(file.file_.fd(), LOCK_UN); }

int64_t RecordFile::bytes() const { return size_of(file_.fd()); }

void RecordFile::read_new() {
  const int64_t end = size_of(file_.fd());
  if (end == 0 && read_to_ == 0) {
    TENON_CHECK(::pwrite(file_.fd(), kHead, kHeadBytes, 0) == static_cast<ssize_t>(kHeadBytes),
                BackendError, "FileStore: '", path_, "' cannot be written: ", reason());
    read_to_ = kHeadBytes;
    return;
  }
  TENON_CHECK(end >= read_to_, BackendError, "FileStore: '", path_, "' became shorter");
  Bytes text(static_cast<std::size_t>(end - read_to_));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::pread(file_.fd(), text.data() + done, text.size() - done,
                              read_to_ + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    TENON_CHECK(n > 0, BackendError, "FileStore: '", path_, "' cannot be read: ", reason());
    done += static_cast<std::size_t>(n);
  }
  std::size_t at = 0;
  if (read_to_ == 0) {
    TENON_CHECK(text.size() >= kHeadBytes && std::memcmp(text.data(), kHead, kHeadBytes) == 0,
                ValueError, "FileStore: '", path_, "' is not a file of a store");
    at = kHeadBytes;
  }
  while (text.size() - at >= kRecordHead) {
    uint32_t key_bytes, value_bytes;
    std::memcpy(&key_bytes, text.data() + at + 1, 4);
    std::memcpy(&value_bytes, text.data() + at + 5, 4);
    const std::size_t bytes = kRecordHead + std::size_t{key_bytes} + value_bytes;
    if (text.size() - at < bytes) break;
    const uint8_t* p = text.data() + at + kRecordHead;
    const std::string key(p, p + key_bytes);
    TENON_CHECK(text[at] == kSet || text[at] == kErase, ValueError, "FileStore: '", path_,
                "' is damaged at byte ", static_cast<long>(read_to_) + static_cast<long>(at));
    if (text[at] == kSet)
      keys_.set(key, Bytes(p + key_bytes, p + key_bytes + value_bytes));
    else
      keys_.erase(key);
    at += bytes;
  }
  read_to_ += static_cast<int64_t>(at);
}

void RecordFile::append(uint8_t kind, const std::string& key, const Bytes& value) {
  constexpr std::size_t kMax = 1u << 30;
  TENON_CHECK(key.size() <= kMax && value.size() <= kMax, ValueError,
              "FileStore: a record of more than ", kMax, " bytes");
  Bytes record(kRecordHead);
  const auto key_bytes = static_cast<uint32_t>(key.size());
  const auto value_bytes = static_cast<uint32_t>(value.size());
  record[0] = kind;
  std::memcpy(record.data() + 1, &key_bytes, 4);
  std::memcpy(record.data() + 5, &value_bytes, 4);
  record.insert(record.end(), key.begin(), key.end());
  record.insert(record.end(), value.begin(), value.end());
  if (size_of(file_.fd()) > read_to_) (void)!::ftruncate(file_.fd(), read_to_);
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t n = ::pwrite(file_.fd(), record.data() + done, record.size() - done,
                               read_to_ + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    TENON_CHECK(n > 0, BackendError, "FileStore: '", path_, "' cannot be written: ", reason());
    done += static_cast<std::size_t>(n);
  }
  read_to_ += static_cast<int64_t>(record.size());
}

void RecordFile::set(const std::string& key, const Bytes& value) {
  append(kSet, key, value);
  keys_.set(key, value);
}

void RecordFile::erase(const std::string& key) {
  append(kErase, key, {});
  keys_.erase(key);
}

}  // namespace tenon::distributed
