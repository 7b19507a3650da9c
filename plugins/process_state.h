// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a library must leave as it was: a constructor that flushes denormals to zero, or an init that changes the
// locale, silently changes the numbers and the files of the whole program.
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
  // Puts back what differs now; one line for each ("the current directory was changed to /x").
  std::vector<std::string> restore() const;

 private:
  std::string folder_, locale_;
  std::optional<mode_t> umask_;  // nothing where it could not be read
  sigset_t signals_;             // that this thread blocks
  struct sigaction handlers_[8];
  fenv_t floats_;
};

}  // namespace tenon::plugins
