// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "transient.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

constexpr int kTransient[] = {EMFILE, ENFILE,  ENOMEM, EIO,      EAGAIN,
                              EINTR,  ENOBUFS, ESTALE, ETIMEDOUT};

// Messages of the dynamic linker's own, which come without an error number.
constexpr const char* kOfLinker[] = {"out of memory", "failed to map segment", "cannot create",
                                     "cannot read file data"};

}  // namespace

bool is_transient(int error) {
  return std::find(std::begin(kTransient), std::end(kTransient), error) != std::end(kTransient);
}

bool is_transient(std::string_view message) {
  const auto has = [&](const char* words) { return message.find(words) != std::string_view::npos; };
  return std::any_of(std::begin(kTransient), std::end(kTransient),
                     [&](int e) { return has(strerror(e)); }) ||
         std::any_of(std::begin(kOfLinker), std::end(kOfLinker), has);
}

void system_fault(const std::string& subject, const char* what, int error) {
  throw BackendError(core::join(subject, ": ", what, ": ", strerror(error)));
}

}  // namespace tenon::plugins
