// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Options that every program of this folder has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace tenon::fuzz {

struct CommonOptions {
  uint64_t seed = std::random_device{}() | uint64_t{std::random_device{}()} << 32;
  double seconds = 60;
  uint64_t max_findings = 20;
};

// Reads the options of `app` and the common ones; ends the program after --help or a mistake.
inline void parse_options(CLI::App& app, CommonOptions& o, int argc, char** argv) {
  app.add_option("--seed", o.seed,
                 "seed of the random choices; default: a random one, which is printed");
  app.add_option("--seconds", o.seconds, "running time in seconds; default 60");
  app.add_option("--findings", o.max_findings, "end after this number of findings; default 20");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e));
  }
}

}  // namespace tenon::fuzz
