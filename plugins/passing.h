// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Faults that pass (no descriptor is left, no memory, a read that failed) and those that stay. What met the first is
// tried again at the next use; a refusal stays until the program ends.
#pragma once

#include <string>
#include <string_view>

namespace tenon::plugins {

// Whether a message has the system's words for an error that may pass. By its words, since the dynamic linker tells
// nothing else; whoever meets an error number puts strerror's text into the message.
bool may_pass(std::string_view message);
bool may_pass(int error);  // an error number

// Throws BackendError: "SUBJECT: what: Too many open files".
[[noreturn]] void system_fault(const std::string& subject, const char* what, int error);

}  // namespace tenon::plugins
