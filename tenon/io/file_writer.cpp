// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "file_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tenon/runtime/error.h"

namespace tenon::serialize::detail {
namespace {

constexpr std::size_t kBuffer = 64 << 10;  // bytes: small tensors share a system call
constexpr int kMaxLinks = 40;              // Linux follows as many
constexpr int kMaxNames = 100;  // of temporaries that exist already; more look like an attack
constexpr const char* kAccessList = "system.posix_acl_access";

[[noreturn]] void refuse(const char* action, const std::string& name, int error) {
  throw ValueError(core::join("save: cannot ", action, " '", name,
                              "': ", std::generic_category().message(error)));
}

template <class Call>
auto retry(Call&& call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

// A write to a pipe without a reader, and one past the limit on sizes of files, ends the process
// unless their signals are held back; then it is an error.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t pending;
    sigemptyset(&ours_);
    sigpending(&pending);
    for (int s : {SIGPIPE, SIGXFSZ}) {
      if (!sigismember(&pending, s)) sigaddset(&ours_, s);
    }
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~SignalsHeld() {
    const int error = errno;
    const timespec at_once{};
    while (sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t ours_, before_;
};

// 0, or errno's value. What cannot be synced (a pipe, a file system without fsync) needs none.
int sync_to_disk(int fd) {
  if (retry([&] { return fsync(fd); }) == 0) return 0;
  return errno == EINVAL || errno == EROFS || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}

// The file that a chain of symbolic links ends at, which need not exist.
std::filesystem::path end_of_links(const std::string& name) {
  std::filesystem::path path = name;
  std::error_code error;
  for (int i = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)); ++i) {
    if (i == kMaxLinks) refuse("follow the links of", name, ELOOP);
    const auto target = std::filesystem::read_symlink(path, error);
    if (error) refuse("follow the links of", name, error.value());
    path = path.parent_path() / target;
  }
  return path;
}

std::string random_name() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    // Early at boot. O_EXCL is what keeps two apart; the name only makes it rare that they meet.
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bits = static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(getpid());
  }
  char name[40];
  std::snprintf(name, sizeof name, ".tenon-%016llx.part", static_cast<unsigned long long>(bits));
  return name;
}

// Copies mode, owner and access list of the file `from` to `to`. If the owner cannot be kept, as
// that takes privileges, the saver owns the new file; if the group cannot, its members get the
// permissions of others.
bool copy_access(const std::string& from, const struct stat& old, int to) {
  struct stat now;
  if (fstat(to, &now) != 0) return false;
  mode_t mode = old.st_mode & 0777;
  bool same_group = true;
  if ((now.st_uid != old.st_uid || now.st_gid != old.st_gid) &&
      fchown(to, old.st_uid, old.st_gid) != 0) {
    same_group = now.st_gid == old.st_gid || fchown(to, static_cast<uid_t>(-1), old.st_gid) == 0;
  }
  if (!same_group) mode &= ~(mode_t{070} & ~(mode << 3));
  if ((now.st_mode & 07777) != mode && fchmod(to, mode) != 0) return false;
  char list[4096];
  const ssize_t size = same_group ? lgetxattr(from.c_str(), kAccessList, list, sizeof list) : 0;
  return size <= 0 || fsetxattr(to, kAccessList, list, static_cast<std::size_t>(size), 0) == 0;
}

}  // namespace

Descriptor::~Descriptor() { close(); }
int Descriptor::close() {
  if (fd_ < 0) return 0;
  const int failed = ::close(fd_);
  fd_ = -1;
  return failed != 0 && errno != EINTR ? errno : 0;  // Linux has closed it also if a signal came
}

void check_file_name(const char* action, const std::string& name) {
  TENON_CHECK(name.find('\0') == std::string::npos, ValueError, action, ": the file name '",
              name.c_str(), "' continues after a zero byte, where the system would end it");
}

// Delegates to the default constructor: the destructor then runs also if the rest throws.
FileWriter::FileWriter(const std::string& name) : FileWriter() {
  check_file_name("save", name);
  name_ = name;
  struct stat at_end;
  const bool there = stat(name.c_str(), &at_end) == 0;
  if (!there || S_ISREG(at_end.st_mode)) {
    open_temporary(end_of_links(name));
  } else if (S_ISDIR(at_end.st_mode)) {
    refuse("write to", name, EISDIR);
  } else {
    open_special();
  }
}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) unlinkat(folder_.get(), temporary_.c_str(), 0);
}

void FileWriter::open_special() {
  file_.reset(retry([&] { return open(name_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
  if (file_.get() < 0) refuse("open", name_, errno);
}

void FileWriter::open_folder(const std::string& folder) {
  const auto open_as = [&](int how) {
    return retry([&] { return open(folder.c_str(), how | O_DIRECTORY | O_CLOEXEC); });
  };
  folder_.reset(open_as(O_RDONLY));
  if (folder_.get() < 0 && errno == EACCES)
    folder_.reset(open_as(O_PATH));  // it may be written, but not listed
  if (folder_.get() < 0) refuse("open the folder of", name_, errno);
}

void FileWriter::open_temporary(const std::filesystem::path& target) {
  base_ = target.filename();
  if (base_.empty() || base_ == "." || base_ == "..")
    refuse("write to", name_, name_.empty() ? ENOENT : EISDIR);
  open_folder(target.has_parent_path() ? target.parent_path() : ".");
  struct stat old;
  const bool replaces = find_old(old);
  make_temporary(replaces ? 0600 : 0666);
  if (replaces && !copy_access(target, old, file_.get())) refuse("keep the mode of", name_, errno);
}

// Others may make or remove the file at the same time: a look that another contradicts is repeated.
bool FileWriter::find_old(struct stat& old) const {
  struct stat at_end;
  for (int i = 0; fstatat(folder_.get(), base_.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0; ++i) {
    if (errno != ENOENT) refuse("inspect", name_, errno);
    if (stat(name_.c_str(), &at_end) != 0) return false;
    // An open file that was deleted, by its link in /proc.
    if (i == kMaxNames) refuse("replace", name_, ENOENT);
  }
  // Another kind of file than a moment ago.
  if (!S_ISREG(old.st_mode)) refuse("replace", name_, S_ISDIR(old.st_mode) ? EISDIR : EEXIST);
  if ((old.st_mode & 0222) == 0) refuse("overwrite the read-only file", name_, EACCES);
  if (faccessat(folder_.get(), base_.c_str(), W_OK, AT_EACCESS) == 0) return true;
  if (errno != ENOENT) refuse("overwrite", name_, errno);
  return false;
}

void FileWriter::make_temporary(unsigned mode) {
  constexpr int kHow = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (int i = 0;; ++i) {
    std::string name = random_name();
    file_.reset(retry([&] { return openat(folder_.get(), name.c_str(), kHow, mode); }));
    if (file_.get() >= 0) return temporary_.swap(name);
    if (errno != EEXIST || i == kMaxNames) refuse("make a temporary file beside", name_, errno);
  }
}

void FileWriter::write(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBuffer) flush();
  if (bytes > kBuffer) return write_through(at, bytes);
  buffer_.append(at, bytes);
}

void FileWriter::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void FileWriter::write_through(const char* at, std::size_t bytes) {
  const SignalsHeld held;
  while (bytes > 0) {
    const ssize_t taken = retry([&] { return ::write(file_.get(), at, bytes); });
    if (taken <= 0) refuse("write to", name_, taken < 0 ? errno : EIO);
    at += taken;
    bytes -= static_cast<std::size_t>(taken);
  }
}

void FileWriter::rewrite(uint64_t offset, const void* data, std::size_t bytes) {
  flush();
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t taken =
        retry([&] { return ::pwrite(file_.get(), at, bytes, static_cast<off_t>(offset)); });
    if (taken <= 0) refuse("write to", name_, taken < 0 ? errno : EIO);
    at += taken;
    offset += static_cast<uint64_t>(taken);
    bytes -= static_cast<std::size_t>(taken);
  }
}

void FileWriter::commit() {
  flush();
  if (const int error = sync_to_disk(file_.get())) refuse("sync", name_, error);
  if (const int error = file_.close()) refuse("finish", name_, error);
  if (temporary_.empty()) return;
  if (renameat(folder_.get(), temporary_.c_str(), folder_.get(), base_.c_str()) != 0)
    refuse("replace", name_, errno);
  temporary_.clear();
  const int error = sync_to_disk(folder_.get());
  if (error == EBADF) return ::sync();  // O_PATH
  TENON_CHECK(error == 0, ValueError, "save: '", name_,
              "' has its new content, but a power cut may bring back the old: ",
              "its folder cannot be synced: ", std::generic_category().message(error));
}

}  // namespace tenon::serialize::detail
