// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Temporary files and folders in TMPDIR (TMP, TEMP, TEMPDIR), else in /tmp.
#pragma once

#include <c10/util/Optional.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/runtime/error.h"

namespace c10 {
namespace detail {

inline std::string temporary_template(std::string_view prefix) {
  const char* folder = "/tmp";
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (const char* value = getenv(name)) {
      folder = value;
      break;
    }
  }
  return std::string(folder) + "/" + std::string(prefix) + "XXXXXX";
}

}  // namespace detail

// A file that is there until the object ends.
struct TempFile {
  TempFile() = default;
  TempFile(std::string_view name_in, int fd_in) : fd(fd_in), name(name_in) {}
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  TempFile(TempFile&& other) noexcept
      : fd(std::exchange(other.fd, -1)), name(std::move(other.name)) {
    other.name.clear();
  }
  TempFile& operator=(TempFile&& other) noexcept {
    std::swap(fd, other.fd);
    name.swap(other.name);
    return *this;
  }
  ~TempFile() {
    if (!name.empty()) unlink(name.c_str());
    if (fd >= 0) close(fd);
  }

  int fd = -1;
  std::string name;
};

// An empty folder, removed at the end if it is empty again.
struct TempDir {
  TempDir() = default;
  explicit TempDir(std::string_view name_in) : name(name_in) {}
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  TempDir(TempDir&& other) noexcept : name(std::move(other.name)) { other.name.clear(); }
  TempDir& operator=(TempDir&& other) noexcept {
    name.swap(other.name);
    return *this;
  }
  ~TempDir() {
    if (!name.empty()) rmdir(name.c_str());
  }

  std::string name;
};

// Nothing if the system refuses, with errno.
inline std::optional<TempFile> try_make_tempfile(std::string_view prefix = "torch-file-") {
  std::string name = detail::temporary_template(prefix);
  const int fd = mkstemp(name.data());
  if (fd < 0) return std::nullopt;
  return std::optional<TempFile>(std::in_place, name, fd);
}
inline std::optional<TempDir> try_make_tempdir(std::string_view prefix = "torch-dir-") {
  std::string name = detail::temporary_template(prefix);
  if (!mkdtemp(name.data())) return std::nullopt;
  return std::optional<TempDir>(std::in_place, name);
}

// tenon::Error with the system's reason.
inline TempFile make_tempfile(std::string_view prefix = "torch-file-") {
  if (auto made = try_make_tempfile(prefix)) return std::move(*made);
  throw ::tenon::Error("Error generating temporary file: " +
                       std::generic_category().message(errno));
}
inline TempDir make_tempdir(std::string_view prefix = "torch-dir-") {
  if (auto made = try_make_tempdir(prefix)) return std::move(*made);
  throw ::tenon::Error("Error generating temporary directory: " +
                       std::generic_category().message(errno));
}

}  // namespace c10
