// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/file_store.h"

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <unistd.h>

#include "distributed/store/record_file.h"

namespace tenon::distributed {
namespace {

const char kOwnKeys[] = "file_store/";
const char kCame[] = "file_store/came";

std::string member_key(int64_t i) { return core::join("file_store/member/", i); }
std::string left_key(int64_t i) { return core::join("file_store/left/", i); }

// When the process began, in ticks since the machine did; empty if it has ended, even if its parent
// has not asked for its status.
std::string start_of(long pid) {
  std::ifstream in(core::join("/proc/", pid, "/stat"));
  std::string line;
  std::getline(in, line);
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string field;
  for (int i = 0; i < 20 && fields >> field; ++i) {
    if (i == 0 && (field == "Z" || field == "X")) return "";
  }
  return fields ? field : "";
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string this_process() {
  return core::join(host_name(), " ", static_cast<long>(getpid()), " ", start_of(getpid()));
}

// Of another machine: nobody knows, and so not.
bool is_gone(const std::string& member) {
  std::istringstream in(member);
  std::string host, start;
  long pid = 0;
  in >> host >> pid >> start;
  return host == host_name() && start_of(pid) != start;
}

}  // namespace

// One per process and object; clones share the membership.
struct FileStore::Impl {
  struct Member {
    explicit Member(RecordFile& f, int workers);
    ~Member();
    bool is_last(KeyTable& t) const;
    RecordFile& file;
    int workers;
    int64_t index = 0;
  };
  explicit Impl(std::string path) : file(std::move(path)) {}
  RecordFile file;
  std::shared_ptr<Member> member;
};

FileStore::Impl::Member::Member(RecordFile& f, int n) : file(f), workers(n) {
  file.locked([&](KeyTable& t) {
    const int64_t came = sum_of(kCame, t.find(kCame), 0);
    bool gone = came > 0;
    for (int64_t i = 0; i < came && gone; ++i) {
      const Bytes* member = t.find(member_key(i));
      gone = member && is_gone(to_string(*member));
    }
    TENON_CHECK(!gone && came < workers, ValueError, "FileStore: '", file.path(),
                "' is of an earlier job (",
                gone ? "none of its processes is alive" : "all of its workers came",
                "); remove the file or choose another one");
    index = came;
    file.set(member_key(came), to_bytes(this_process()));
    file.set(kCame, to_bytes(std::to_string(came + 1)));
  });
}

// All came, and the others have left or are dead.
bool FileStore::Impl::Member::is_last(KeyTable& t) const {
  if (sum_of(kCame, t.find(kCame), 0) < workers) return false;
  for (int64_t i = 0; i < workers; ++i) {
    const Bytes* member = t.find(member_key(i));
    if (!t.find(left_key(i)) && !(member && is_gone(to_string(*member)))) return false;
  }
  return true;
}

FileStore::Impl::Member::~Member() {
  try {
    file.locked([&](KeyTable& t) {
      file.set(left_key(index), {});
      if (is_last(t)) ::unlink(file.path().c_str());
    });
  } catch (...) {  // what is left behind is found to be of an earlier job
  }
}

FileStore::FileStore(std::string path, int num_workers, std::chrono::milliseconds timeout)
    : FileStore(std::make_shared<Impl>(std::move(path)), timeout) {
  if (num_workers > 0) impl_->member = std::make_shared<Impl::Member>(impl_->file, num_workers);
}
FileStore::FileStore(std::shared_ptr<Impl> impl, std::chrono::milliseconds timeout)
    : Store(timeout), impl_(std::move(impl)) {}
FileStore::~FileStore() = default;

// The lock of the file is held for moments only, so that the object can serve all threads.
std::shared_ptr<Store> FileStore::clone() {
  return std::shared_ptr<Store>(new FileStore(impl_, timeout_));
}
const std::string& FileStore::getPath() const noexcept { return impl_->file.path(); }

void FileStore::set(const std::string& key, const Bytes& value) {
  impl_->file.locked([&](KeyTable&) { impl_->file.set(key, value); });
}

Bytes FileStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return impl_->file.locked([&](KeyTable& t) {
    const Bytes* now = t.find(key);
    if (now ? *now != expected : !expected.empty()) return now ? *now : expected;
    impl_->file.set(key, desired);
    return desired;
  });
}

int64_t FileStore::add(const std::string& key, int64_t value) {
  return impl_->file.locked([&](KeyTable& t) {
    const int64_t sum = sum_of(key, t.find(key), value);
    impl_->file.set(key, to_bytes(std::to_string(sum)));
    return sum;
  });
}

void FileStore::append(const std::string& key, const Bytes& value) {
  impl_->file.locked([&](KeyTable& t) {
    const Bytes* now = t.find(key);
    Bytes whole = now ? *now : Bytes();
    whole.insert(whole.end(), value.begin(), value.end());
    impl_->file.set(key, whole);
  });
}

bool FileStore::deleteKey(const std::string& key) {
  return impl_->file.locked([&](KeyTable& t) {
    const bool there = t.find(key) != nullptr;
    if (there) impl_->file.erase(key);
    return there;
  });
}

bool FileStore::check(const std::vector<std::string>& keys) {
  return impl_->file.locked([&](KeyTable& t) { return t.missing(keys).empty(); });
}

int64_t FileStore::getNumKeys() {
  return impl_->file.locked([](KeyTable& t) { return t.size() - t.size_of(kOwnKeys); });
}

void FileStore::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  const Deadline end = deadline_of(timeout);
  for (auto pause = std::chrono::milliseconds(1);;) {
    const int64_t seen = impl_->file.bytes();
    const std::vector<std::string> missing =
        impl_->file.locked([&](KeyTable& t) { return t.missing(keys); });
    if (missing.empty()) return;
    do {
      if (std::chrono::steady_clock::now() >= end) throw_timeout("wait", missing, timeout);
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::milliseconds(10));
    } while (impl_->file.bytes() == seen);
  }
}

Bytes FileStore::get(const std::string& key) {
  wait({key}, timeout_);
  return impl_->file.locked([&](KeyTable& t) {
    const Bytes* value = t.find(key);
    if (!value) throw_timeout("get", {key}, timeout_);  // deleted in between
    return *value;
  });
}

}  // namespace tenon::distributed
