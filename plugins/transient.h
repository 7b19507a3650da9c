// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transient faults (no file descriptor left, no memory, a failed read) against permanent ones.
// After a transient fault the next use tries again; a refusal stays until the program ends.
#pragma once

#include <string>
#include <string_view>

namespace tenon::plugins {

// Whether a message contains the system's text for a transient error. By its text, because the
// dynamic linker gives nothing else; code that has an error number puts strerror's text into the
// message.
bool is_transient(std::string_view message);
bool is_transient(int error);  // an error number

// Throws BackendError: "SUBJECT: what: Too many open files".
[[noreturn]] void system_fault(const std::string& subject, const char* what, int error);

}  // namespace tenon::plugins
