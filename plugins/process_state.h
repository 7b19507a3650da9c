// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The process state that a library must not change: a constructor that flushes denormals to zero,
// or an init that changes the locale, silently changes the results and the files of the whole
// program.
#pragma once

#include <fenv.h>
#include <signal.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

namespace tenon::plugins {

class ProcessState {
 public:
  ProcessState();  // as it is now
  // Restores what differs now; one line per difference ("the current directory was changed to /x").
  std::vector<std::string> restore() const;

 private:
  std::string folder_, locale_;
  std::optional<mode_t> umask_;  // nothing where it could not be read
  sigset_t signals_;             // that this thread blocks
  struct sigaction handlers_[8];
  fenv_t floats_;
};

}  // namespace tenon::plugins
