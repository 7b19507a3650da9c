// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The state of every plugin of this process, and when each is opened.
//
// One recursive mutex guards everything: opening a library runs its init, which may ask core for
// another device and so come back here on the same thread. An entry that is being opened is
// skipped. A fork takes the mutex, so that a child finds the list consistent.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handshake.h"
#include "manifest.h"
#include "runtime/base/recursive_mutex.h"
#include "search.h"
#include "tenon/core/backend.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/backend_source.h"

namespace tenon::plugins {

// Sets a flag for its scope.
struct ScopedFlag {
  bool& flag;
  explicit ScopedFlag(bool& f) : flag(f) { flag = true; }
  ~ScopedFlag() { flag = false; }
};

class Manager final : public core::BackendSource {
 public:
  static Manager& get();  // never destroyed
  // For pthread_atfork.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

  void scan() override;
  bool open_for_device(std::string_view device) override;
  void open_for_layout(std::string_view layout) override;
  bool open_for_operator(std::string_view op, std::string_view device) override;
  void open_file(std::string_view path) override { load(std::filesystem::path(path)); }
  std::string why_absent(std::string_view device) override;
  std::string why_no_layout(std::string_view layout) override;
  std::string why_no_operator(std::string_view op) override;

  std::vector<Info> list();
  std::vector<std::string> folders();
  Info load(const std::filesystem::path& path);
  void open_all();
  void unload(std::string_view name);

 private:
  struct Entry {
    Info info;
    Manifest manifest;
    bool opening = false;
    bool retry = false;  // opening it met a transient fault: the next use tries again
    FileId id;
    Library* library = nullptr;  // of a refused one too: its init may have left threads in the code
    Handshake handshake;
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  void forget_found();
  void scan_folder(const std::filesystem::path& folder);
  void add_manifest(const std::filesystem::path& file);
  void add_bare_library(const std::filesystem::path& file);
  static void reserve_device_name(Info& info);
  Entry* find_name(std::string_view name);
  Entry* find_library(const std::filesystem::path& canonical);
  Entry& add(Info info, Manifest manifest);
  void open(Entry& e);  // a failure is recorded in e.info; std::bad_alloc leaves e unchanged
  void open_or_throw(Entry& e);
  void probe(const Entry& e, const Expected& expected);
  // Nothing of the device is left that a transient fault kept from opening.
  bool is_settled(std::string_view device) const;
  Entry* serving_variant(const Entry& e);
  void warn_of_copies(const Entry& e);
  template <class Wanted>
  void open_where(Wanted wanted);
  template <class Predicate>
  std::string search_report(Predicate is_one, const std::string& otherwise);

  core::RecursiveMutex mutex_;
  bool scanned_ = false;
  bool scanning_ = false;
  std::vector<std::string>
      transient_;  // transient faults of the last scan: the next call scans again
  std::set<std::string, std::less<>> requested_;  // devices and layouts that have been used
  SearchPath path_;
  Entries entries_;
};

}  // namespace tenon::plugins
