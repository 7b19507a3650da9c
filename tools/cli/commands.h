// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The subcommands of `tenon`. Each writes to standard output and throws tenon::Error for a request
// that cannot be served.
#pragma once

#include <string>
#include <vector>

namespace tenon::command {

struct CheckOptions;
struct RunOptions;

void plugins(bool load, bool json);
void devices(bool json);
void ops(const std::string& name, bool json);  // empty: all
void why(const std::string& op, const std::string& device, const std::string& dtype, bool json);
// Reads a plugin's file without running more of it than its entry, within the time.
void inspect(const std::string& file, bool json, int seconds);
// Writes the manifest of a library (or of the library that a manifest names), or updates the digest
// in it.
void manifest(const std::string& file, int seconds);
// Writes the project of a backend into `dir`, empty: a folder with its name. Nothing is
// overwritten.
void new_plugin(const std::string& name, const std::string& dir);
// Runs the operators on a plugin's device; true if nothing failed and the level is reached.
bool check_plugin(const CheckOptions& o);
// Runs a saved program on a folder of cases or a file of inputs; false if a case differs.
bool run_program(const RunOptions& o);
// What a saved program is, and what would serve its operators on the device.
void show_program(const std::string& file, const std::string& device, bool graph, bool code);
// Writes a saved program in the format that the extension of `out` names.
struct ConvertOptions {
  std::string in, out;
  // Examples that an ONNX model needs: `in.0`, `in.1`, ... of a file, or the first case of a
  // folder.
  std::string inputs, cases;
  std::vector<std::string> dynamic;  // "NAME:AXIS=SIZE" or "NAME:AXIS=SIZE:MIN..MAX"
  int64_t opset = 0;
  bool external_data = false;  // of ONNX
  bool train = false;          // of .pt2: a module in training mode as it computes there
  bool call_first = false;     // of .pt2: with what a call on the examples has left in attributes
};
void convert_program(const ConvertOptions& options);
// Searches schedules for a tensor comprehension, and keeps them in a file.
struct TuneCommand {
  std::string file, name, cache, device = "cpu";
  std::vector<std::string> sizes;      // "M=128,N=64" each
  std::vector<std::string> constants;  // "sH=2" each
  int generations = 6, population = 24, threads = 0;
  uint64_t seed = 0;
};
void tune(const TuneCommand& options);

}  // namespace tenon::command
