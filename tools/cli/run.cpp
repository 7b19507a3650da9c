// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "cases.h"
#include "commands.h"
#include "gradients.h"
#include "programs.h"
#include "table.h"
#include "tenon/autograd.h"
#include "tenon/jit/freeze.h"
#include "tenon/jit/limits.h"
#include "tenon/parallel.h"
#include "tenon/runtime/error.h"
#include "tenon/types.h"
#include "verify.h"

namespace tenon::command {
namespace {

constexpr const char* kFormats[] = {"script.pt", "trace.pt", "export.pt2", "model.onnx"};

// The seed of the calls whose results a folder holds.
constexpr uint64_t kSeed = 0;

// Calling a module runs its hooks, as in Python.
IValue call_method(const jit::Module& m, const std::string& name,
                   const std::vector<IValue>& arguments) {
  return name == "forward" ? m(arguments) : m.get_method(name)(arguments);
}

// One line of the report.
struct Outcome {
  std::string name, what;
  double difference = 0, bound = 0, milliseconds = 0;
  std::string wrong, skipped;
};

class Report {
 public:
  void add(Outcome o) {
    if (o.skipped.empty()) ++(o.wrong.empty() ? passed_ : failed_);
    const bool compared = o.skipped.empty() && o.bound > 0;
    table_.add({o.name, o.what, compared ? format_number("%.1e", o.difference) : "-",
                compared ? format_number("%.1e", o.bound) : "-",
                o.skipped.empty() ? format_ms(o.milliseconds) : "-",
                !o.skipped.empty() ? "not run: " + o.skipped
                : o.wrong.empty()  ? "passed"
                                   : "FAILED"});
    if (!o.wrong.empty()) reasons_ += "\n" + o.name + " " + o.what + ": " + o.wrong + "\n";
  }
  // True if nothing failed.
  bool print(double load_ms) const {
    std::cout << table_.text() << reasons_ << "\nloaded in " << format_ms(load_ms) << "\n"
              << passed_ << " passed, " << failed_ << " failed\n";
    return failed_ == 0;
  }

 private:
  Table table_{{"CASE", "WHAT", "OFF BY", "ALLOWED", "TIME", "RESULT"}};
  std::string reasons_;
  int passed_ = 0, failed_ = 0;
};

class CaseRunner {
 public:
  CaseRunner(const CaseFolder& folder, const RunOptions& o, Device device)
      : folder_(folder), options_(o), device_(device) {}

  // A module as it was saved: calls may change it.
  jit::Module load() const {
    if (!options_.optimize) return load_program(options_.model, device_);
    std::vector<std::string> methods;
    for (const Case& c : folder_.cases()) methods.push_back(c.method);
    return load_optimized(options_.model, device_, methods);
  }

  Outcome run(const Case& c, const jit::Module& m) const {
    Outcome o;
    o.name = c.prefix.empty() ? "-" : c.prefix.substr(0, c.prefix.size() - 1);
    o.what = c.method;
    std::vector<IValue> arguments = folder_.arguments(c, device_);
    if (is_onnx()) arguments = leaves_of(arguments);
    const Stopwatch watch;
    IValue got;
    std::string error;
    try {
      got = call(c, m, arguments);
    } catch (const std::exception& e) {
      error = e.what();
      if (error.empty()) error = "an error without a text";
    }
    o.milliseconds = watch.milliseconds();
    if (c.raises)
      judge_error(c, error, o);
    else if (!error.empty())
      o.wrong = error;
    else
      judge(c, got, o);
    return o;
  }

 private:
  bool is_onnx() const { return std::filesystem::path(options_.model).extension() == ".onnx"; }
  IValue call(const Case& c, const jit::Module& m, const std::vector<IValue>& arguments) const {
    manual_seed(kSeed);
    const AutoGradMode mode(c.records_grad);
    IValue got = call_method(m, c.method, arguments);
    wait_for(device_);
    return got;
  }
  static void judge_error(const Case& c, const std::string& error, Outcome& o) {
    o.what += " raises";
    if (error.empty())
      o.wrong = "it ended without an error, expected one";
    else if (error.find(c.says) == std::string::npos)
      o.wrong = "the error does not say '" + c.says + "': " + error;
  }
  void judge(const Case& c, const IValue& got, Outcome& o) const {
    Comparison comparison;
    comparison.allowed = [&](int leaf) {
      return folder_.allowed(c.prefix + "out." + std::to_string(leaf));
    };
    comparison.shapes_only = c.shapes_only;
    comparison.other_device = !device_.is_cpu();
    comparison.tensors_in_a_row = is_onnx();
    comparison.compare_result(got, folder_.expected(c));
    o.difference = comparison.largest;
    o.bound = comparison.bound;
    o.wrong = comparison.wrong;
  }
  const CaseFolder& folder_;
  const RunOptions& options_;
  Device device_;
};

bool run_cases(const RunOptions& o, const Device& device) {
  const CaseFolder folder(o.cases);
  const CaseRunner runner(folder, o, device);
  Report report;
  double load_ms = 0;
  std::string load_error;
  try {
    const Stopwatch watch;
    runner.load();
    load_ms = watch.milliseconds();
  } catch (const std::exception& e) {
    load_error = e.what();
  }
  if (!load_error.empty()) {
    std::cout << load_error << "\n\n0 passed, " << folder.cases().size() << " failed\n";
    return false;
  }
  for (const Case& c : folder.cases()) report.add(runner.run(c, runner.load()));
  if (!o.grads) return report.print(load_ms);
  for (GradientResult& g : compare_gradients(
           folder, [&] { return runner.load(); }, device)) {
    report.add(
        {"-",
         (g.skipped.empty() ? std::to_string(g.compared) + " " : "") + "gradients (" + g.mode + ")",
         g.comparison.largest, g.comparison.bound, g.milliseconds, g.comparison.wrong, g.skipped});
  }
  return report.print(load_ms);
}

// The arguments of a plain run: those of the file, or of the folder's first case.
std::vector<IValue> plain_arguments(const RunOptions& o, const jit::Method& method,
                                    const Device& device) {
  if (!o.inputs.empty()) return read_arguments(o.inputs, method, device);
  const CaseFolder folder(o.cases);
  for (const Case& c : folder.cases()) {
    if (c.method == o.method && !c.raises) return folder.arguments(c, device);
  }
  throw ValueError(o.cases + " has no case of the method '" + o.method + "'");
}

jit::Module load(const RunOptions& o, const Device& device, bool optimize) {
  return optimize ? load_optimized(o.model, device, {o.method}) : load_program(o.model, device);
}

constexpr double kAllowed = 1e-4;  // where nothing says how far a result may be off

// The nodes of the frozen program on the device beside those on the host; those of the optimized
// one beside the frozen one's.
std::string verify_nodes(const RunOptions& o, const Device& device) {
  const auto results_of = [&](const Device& d, bool optimize) {
    jit::Module m = load(o, d, optimize);
    m.eval();
    if (!optimize) m = jit::freeze(m, std::vector{o.method});
    manual_seed(kSeed);
    const NoGradGuard no_grad;
    return run_nodes(m, o.method, plain_arguments(o, m.get_method(o.method), d));
  };
  const std::vector<NodeResult> got = results_of(device, o.optimize);
  const std::vector<NodeResult> expected = results_of(o.optimize ? device : Device("cpu"), false);
  return report_nodes(
      o.optimize ? compare_with_closest(got, expected) : compare_in_order(got, expected), kAllowed);
}

// The module on the device against the same on the host; the optimized one against the plain one.
bool verify(const RunOptions& o, const Device& device) {
  const auto result_of = [&](const Device& d, bool optimize) {
    const jit::Module m = load(o, d, optimize);
    manual_seed(kSeed);
    const NoGradGuard no_grad;
    return call_method(m, o.method, plain_arguments(o, m.get_method(o.method), d));
  };
  Comparison comparison;
  comparison.allowed = [](int) { return kAllowed; };
  comparison.other_device = !o.optimize;
  comparison.compare(result_of(device, o.optimize),
                     result_of(o.optimize ? device : Device("cpu"), false), "the result");
  std::cout << (o.optimize ? "optimized against plain" : o.device + " against the host")
            << ": off by " << format_number("%.1e", comparison.largest)
            << " of the largest value, allowed " << format_number("%.1e", kAllowed) << "\n";
  if (!comparison.wrong.empty()) std::cout << comparison.wrong << "\n";
  try {
    std::cout << verify_nodes(o, device);
  } catch (const Error& e) {  // what cannot be frozen
    std::cout << "nodes were not compared: " << e.what() << "\n";
  }
  return comparison.wrong.empty();
}

void run_plain(const RunOptions& o, const Device& device) {
  Loading loading;
  const Stopwatch watch;
  const jit::Module m = load(o, device, o.optimize);
  loading.ms = watch.milliseconds();
  const jit::Method method = m.get_method(o.method);
  const NoGradGuard no_grad;
  if (o.bench > 0) {
    print_bench(method, plain_arguments(o, method, device), device, loading, o.bench);
    return;
  }
  const IValue result = call_method(m, o.method, plain_arguments(o, method, device));
  if (o.outputs.empty())
    std::cout << result << "\n";
  else
    write_results(o.outputs, result);
}

// A folder stands for the file in it, and for its cases.
RunOptions resolve_model(RunOptions o) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(o.model)) {
    TENON_CHECK(o.format.empty(), ValueError, "run: --format is for a MODEL that is a folder");
    return o;
  }
  const std::string folder = o.model;
  if (o.cases.empty() && o.inputs.empty()) o.cases = folder;
  for (const char* format : kFormats) {
    if (o.format.empty() && fs::exists(fs::path(folder) / format)) o.format = format;
  }
  o.model = (fs::path(folder) / o.format).string();
  TENON_CHECK(!o.format.empty() && fs::exists(o.model), ValueError, "run: ", folder, " has no ",
              o.format.empty() ? "script.pt, trace.pt, export.pt2 or model.onnx" : o.format);
  return o;
}

}  // namespace

bool run_program(const RunOptions& asked) {
  const RunOptions o = resolve_model(asked);
  TENON_CHECK(!o.cases.empty() || !o.inputs.empty(), ValueError,
              "run: --cases FOLDER or --inputs FILE is needed");
  TENON_CHECK(!o.grads || !o.cases.empty(), ValueError, "run: --grads needs --cases FOLDER");
  TENON_CHECK(!o.grads || !o.optimize, ValueError,
              "run: an optimized program has no gradients; --grads is without --optimize");
  const Device device = find_device(o.device);
  if (o.threads > 0) set_num_threads(o.threads);
  jit::RunLimits limits = jit::run_limits();
  limits.milliseconds = o.time_limit;
  limits.instructions = o.instruction_limit;
  jit::set_run_limits(limits);
  if (o.verify) return verify(o, device);
  if (!o.cases.empty() && o.bench == 0 && o.inputs.empty()) return run_cases(o, device);
  run_plain(o, device);
  return true;
}

}  // namespace tenon::command
