// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "passing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tenon/core/error.h"

namespace tenon::plugins {
namespace {

constexpr int kPassing[] = {EMFILE, ENFILE, ENOMEM, EIO, EAGAIN, EINTR, ENOBUFS, ESTALE, ETIMEDOUT};

// The dynamic linker's own, where it gives no error number.
constexpr const char* kOfLinker[] = {"out of memory", "failed to map segment", "cannot create",
                                     "cannot read file data"};

}  // namespace

bool may_pass(int error) { return std::find(std::begin(kPassing), std::end(kPassing), error) != std::end(kPassing); }

bool may_pass(std::string_view message) {
  const auto has = [&](const char* words) { return message.find(words) != std::string_view::npos; };
  return std::any_of(std::begin(kPassing), std::end(kPassing), [&](int e) { return has(strerror(e)); }) ||
         std::any_of(std::begin(kOfLinker), std::end(kOfLinker), has);
}

void system_fault(const std::string& subject, const char* what, int error) {
  throw BackendError(core::join(subject, ": ", what, ": ", strerror(error)));
}

}  // namespace tenon::plugins
