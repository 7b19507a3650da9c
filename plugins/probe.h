// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Opens a library in a child process, so that a crash does not end this one.
#pragma once

#include <functional>
#include <string>

namespace tenon::plugins {

struct ProbeResult {
  std::string fault;   // empty if f returned empty within the time
  bool ended = false;  // f did not return: the fault is how the child ended
};

// Runs `f` in a forked child. The fault is f's text, or how the child ended: by a signal, by an
// exit of its own, or by the deadline, with the step that f had announced last through its
// argument.
ProbeResult run_in_probe(
    const std::function<std::string(const std::function<void(const char*)>& step)>& f,
    int milliseconds);

}  // namespace tenon::plugins
