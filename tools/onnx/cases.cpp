// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs the cases of the ONNX project: FOLDER/FAMILY/NAME/model.onnx with test_data_set_N/input_I.pb
// and output_I.pb. `--listed` names a table of cases that do not pass, with reasons; the run fails
// if the table and what happened differ.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "compare.h"
#include "onnx/proto/read.h"
#include "tenon/onnx.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder, listed, device = "cpu", only;
  bool verbose = false, graph = false;
};

// The bounds that the ONNX project allows.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::vector<IValue> as_results(const IValue& v, int count) {
  if (count == 1) return {v};
  return v.toTupleRef().elements();
}

IValue on_device(const IValue& v, const Device& d) {
  if (v.isTensor()) return v.toTensor().to(d);
  if (!v.isTensorList()) return v;
  std::vector<Tensor> out;
  for (const Tensor& t : v.toTensorVector()) out.push_back(t.to(d));
  return out;
}

// What differs in one set of inputs and outputs; empty: nothing.
std::string run_set(const jit::Module& m, const pb::ModelProto& model, const fs::path& folder,
                    const Device& device, double rtol, double atol) {
  std::set<std::string> initialized;
  for (const auto& t : model.graph().initializer()) initialized.insert(t.name());
  std::vector<IValue> inputs;
  int file = 0;
  for (const auto& in : model.graph().input()) {
    const fs::path path = folder / ("input_" + std::to_string(file++) + ".pb");
    if (initialized.count(in.name()) != 0) continue;
    inputs.push_back(on_device(read_value(path.string(), in.type()), device));
  }
  const int outputs = model.graph().output_size();
  const std::vector<IValue> got = as_results(m.forward(inputs), outputs);
  for (int i = 0; i < outputs; ++i) {
    const fs::path path = folder / ("output_" + std::to_string(i) + ".pb");
    const IValue expected = read_value(path.string(), model.graph().output(i).type());
    const std::string e = compare_values(got[static_cast<std::size_t>(i)], expected, rtol, atol);
    if (!e.empty()) return core::join("output ", i, ": ", e);
  }
  return {};
}

// Empty if the case passes.
std::string run_case(const fs::path& folder, const Device& device, bool graph) {
  try {
    const std::string path = (folder / "model.onnx").string();
    const jit::Module m = load(path, device);
    if (graph) std::cout << m.get_method("forward").graph()->str();
    pb::ModelProto model;
    parse_message(read_file(path), model, path);
    double rtol = kRelative, atol = kAbsolute;
    std::ifstream(folder / "bounds.txt") >> rtol >> atol;
    if (!device.is_cpu()) atol = std::max(atol, 1e-4);
    for (int n = 0; fs::exists(folder / ("test_data_set_" + std::to_string(n))); ++n) {
      const std::string e =
          run_set(m, model, folder / ("test_data_set_" + std::to_string(n)), device, rtol, atol);
      if (!e.empty()) return e;
    }
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

struct Row {
  int passed = 0, listed = 0, failed = 0;
};

std::map<std::string, std::string> read_listed(const std::string& path) {
  std::map<std::string, std::string> out;
  if (path.empty()) return out;
  std::ifstream in(path);
  TENON_CHECK(in, ValueError, path, " cannot be opened");
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (!line.empty() && line[0] != '#') out[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return out;
}

bool run(const Options& o) {
  const Device device(o.device);
  const auto listed = read_listed(o.listed);
  std::map<std::string, Row> rows;
  std::set<std::string> seen;
  std::string wrong;
  int passed = 0, failed = 0;
  std::vector<fs::path> folders;
  for (const auto& family : fs::directory_iterator(o.folder))
    if (family.is_directory())
      for (const auto& c : fs::directory_iterator(family)) folders.push_back(c.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& f : folders) {
    const std::string family = f.parent_path().filename().string();
    const std::string name = family + "/" + f.filename().string();
    if (!o.only.empty() && name.find(o.only) == std::string::npos) continue;
    seen.insert(name);
    std::string error = run_case(f, device, o.graph);
    std::replace(error.begin(), error.end(), '\n', o.verbose ? '\n' : ' ');
    Row& row = rows[family];
    const bool known = listed.count(name) != 0;
    ++(error.empty() ? passed : failed);
    ++(error.empty() ? row.passed : known ? row.listed : row.failed);
    if (error.empty() && known) wrong += name + "\tpasses, though listed\n";
    if (!error.empty() && !known) wrong += name + "\t" + error.substr(0, 1500) + "\n";
  }
  if (o.only.empty())
    for (const auto& [name, reason] : listed)
      if (seen.count(name) == 0) wrong += name + "\tis listed, and there is no such case\n";
  std::cout << wrong;
  for (const auto& [family, r] : rows)
    std::cout << family << ": " << r.passed << " passed, " << r.listed << " listed, " << r.failed
              << " failed\n";
  std::cout << passed << " passed, " << failed << " failed\n";
  return wrong.empty();
}

}  // namespace
}  // namespace tenon::onnx

int main(int argc, char** argv) {
  tenon::onnx::Options o;
  CLI::App app("Runs the cases of the ONNX project");
  app.add_option("FOLDER", o.folder, "what make_cases.py wrote")->required();
  app.add_option("--listed", o.listed, "a table of cases that do not pass, with reasons");
  app.add_option("--device", o.device, "where to compute");
  app.add_option("--only", o.only, "cases whose names have this in them");
  app.add_flag("--graph", o.graph, "print the graphs of what runs");
  app.add_flag("--verbose", o.verbose, "errors with all their lines");
  CLI11_PARSE(app, argc, argv);
  try {
    return tenon::onnx::run(o) ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
