// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tenon::command {

struct LaunchOptions {
  int processes = 1;  // on this machine
  int nodes = 1;      // machines, each with as many processes
  int node_rank = 0;
  std::string master;  // "ADDR:PORT" of the first machine; empty: this one, a free port
  double timeout = 0;  // seconds that all may take; 0: any time
  double grace = 5;    // seconds between SIGTERM and SIGKILL
  bool prefix = true;  // "[rank] " before each line of output
  std::vector<std::string> program;  // and its arguments
};

// Runs the program once for each rank and waits for all. When one fails, the others are ended. The
// result is an exit status: 0, that of the first that failed (128 + N for signal N), 124 after the
// timeout.
int launch(const LaunchOptions& options);

}  // namespace tenon::command
