// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An open shared library. The only file that knows Boost.DLL is library.cpp.
#pragma once

#include <memory>
#include <string>

#include "file_check.h"

namespace tenon::plugins {

// Objects are leaked on purpose: a destructor at process exit would unmap code that other
// destructors still call. close() is the only closer.
class Library {
 public:
  // Opens what check_file() passed; every symbol is bound now, none is visible to others. With
  // `isolated`, a sealed copy in memory is opened and checked again, against the hash too where
  // there is one: the bytes checked are the bytes run. BackendError has the dynamic linker's text.
  static Library* open(CheckedFile file, bool isolated, const Hashes& hashes);

  const FileId& id() const { return id_; }
  const std::filesystem::path& path() const { return path_; }
  void* symbol(const char* name) const;  // null if absent
  // Deletes the object. True when the code is no longer mapped.
  static bool close(Library* lib);

 private:
  Library() = default;
  ~Library() = default;
  struct Handle;
  Handle* handle_ = nullptr;
  std::filesystem::path path_;
  FileId id_;
  Descriptor memory_;  // of the sealed copy
};

}  // namespace tenon::plugins
