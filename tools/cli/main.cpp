// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The `tenon` command: looks at plugins, devices and ops of this installation.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "check.h"
#include "commands.h"
#include "launch.h"
#include "programs.h"
#include "tenon/abi/client.h"
#include "tenon/runtime/error.h"

#ifndef TENON_VERSION
#define TENON_VERSION "0.1.0"
#endif

namespace {

constexpr const char* kAbout =
    "Looks at the plugins, devices and operators of this Tenon installation, creates new plugins, "
    "runs saved programs, and launches programs of several ranks.\n"
    "A backend is two files, libtenon_NAME.so and libtenon_NAME.json, in a folder that is "
    "searched.";

constexpr const char* kExamples =
    "Examples:\n"
    "  tenon plugins                     what was found, where, and why something was refused\n"
    "  tenon plugins --load              opens everything, so that every fault shows\n"
    "  tenon devices                     devices that programs can name, their memory and plugins\n"
    "  tenon ops add                     schemas and texts of add, and what serves it\n"
    "  tenon why add.Tensor cpu float32  native kernel and fallbacks, and why each can serve it\n"
    "  tenon inspect ./libtenon_x.so     what a plugin's file declares, without running it\n"
    "  tenon check ./libtenon_x.so       runs the operators on its device and compares with the "
    "host's\n"
    "  tenon manifest ./libtenon_x.so    writes the manifest beside it or updates its digest\n"
    "  tenon new-plugin mine             writes the project of a backend for the device 'mine'\n"
    "  tenon show model.pt               a saved program: inputs, parameters, operators, what "
    "serves "
    "them\n"
    "  tenon run model.pt --cases DIR    runs it and compares with the results that the folder "
    "holds\n"
    "  tenon convert model.pt2 model.pt  writes it in another format\n"
    "  tenon convert model.pt m.onnx --inputs in.safetensors --dynamic x:0=batch\n"
    "  tenon tune f.tc --sizes M=64,N=64 the fastest schedule of a tensor comprehension for sizes\n"
    "  tenon launch -n 4 ./train  runs four ranks of a program on this machine\n"
    "\n"
    "Environment:\n"
    "  TENON_PLUGIN_PATH        search these folders only (absolute, with ':' between)\n"
    "  TENON_ADD_PLUGIN_PATH    search these folders first\n"
    "  TENON_PLUGINS_SELECT     use only plugins with these names (globs, with ',' between)\n"
    "  TENON_PLUGINS_DISABLE    leave these out";

constexpr const char* kCheck =
    "Runs the operators on a plugin's device, in child processes, and compares with the CPU plugin "
    "in float64: "
    "values,\n"
    "strides, dtypes, errors, bytes around outputs, threads, allocations that fail. Level 0 is "
    "memory, copies, "
    "streams\n"
    "and every operator with any fallback; 1 asks for native fill and copy; 2 for the thirteen "
    "primitives and for\n"
    "training without the host. Exits with 0 if nothing failed and the level is reached.";

CLI::App* add_check(CLI::App& app, tenon::command::CheckOptions& o) {
  CLI::App* c = app.add_subcommand("check", kCheck);
  c->add_option("FILE", o.file, "A library: build/lib/libtenon_mine.so")->required();
  c->add_option("--level", o.level, "What it must reach")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  c->add_option("--op", o.op,
                "Only operators and checks in whose name this regular expression is found");
  c->add_option("--seconds", o.seconds, "How long one check may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  c->add_option("-j", o.processes, "Processes at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  c->add_option("--reference", o.reference, "The device to compare with")->capture_default_str();
  c->add_option("--calls", o.calls,
                "A folder of calls to try; default: share/tenon/check of the installation");
  c->add_option("--cases", o.cases, "A folder of oracle cases, for more calls");
  c->add_option("--json", o.json,
                "Write the report as JSON to this file; '-': print it instead of the text");
  c->add_option("--junit", o.junit, "The same as JUnit's XML");
  c->add_flag("--table", o.table, "Print what serves each operator and dtype");
  c->add_flag("--text", o.text, "Print the text although another report goes to standard output");
  return c;
}

constexpr const char* kTune =
    "Searches the schedule by which a tensor comprehension is fastest for exact sizes: order of "
    "loops, vectors, tiles in\n"
    "registers, arrays that are packed. Several --sizes are searched one after the other, and the "
    "file keeps all of them;\n"
    "programs that call tc::Function::tune with this file do not search again. Ctrl-C ends the "
    "search with the best so far.";

CLI::App* add_tune(CLI::App& app, tenon::command::TuneCommand& o) {
  CLI::App* c = app.add_subcommand("tune", kTune);
  c->add_option("FILE", o.file, "Definitions: docs/comprehensions.md describes the language")
      ->required();
  c->add_option("--sizes", o.sizes, "Sizes by name, as M=128,N=64; may be given several times")
      ->required();
  c->add_option("--name", o.name, "Which definition; default: the only one");
  c->add_option("--constant", o.constants, "A name of the text and its number, as sH=2");
  c->add_option("--cache", o.cache, "The file that keeps what was found; default: none");
  c->add_option("--device", o.device, "Where it runs")->capture_default_str();
  c->add_option("--threads", o.threads, "Threads of a call; default: one per core")
      ->check(CLI::Range(1, 1024));
  c->add_option("--generations", o.generations, "How long to search")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  c->add_option("--population", o.population, "Candidates of a generation")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  c->add_option("--seed", o.seed, "Of the search")->capture_default_str();
  return c;
}

constexpr const char* kRun =
    "Runs a program that torch.jit.save or torch.export.save wrote. --cases: a folder with "
    "about.json and\n"
    "cases.safetensors, arguments and what another library computed for them. Each result is "
    "compared: "
    "the largest\n"
    "difference over the largest value may be 1e-4, or four times the noise that the folder gives "
    "for "
    "it; integers,\n"
    "texts, dtypes and shapes must be equal. Exits with 0 if no case failed.";

CLI::App* add_run(CLI::App& app, tenon::command::RunOptions& o) {
  CLI::App* c = app.add_subcommand("run", kRun);
  c->add_option("MODEL", o.model, "A saved program, or a folder of cases that has one")->required();
  c->add_option("--cases", o.cases, "The folder of cases; default: MODEL, if it is a folder");
  c->add_option("--format", o.format,
                "The program of a folder: script.pt, trace.pt or export.pt2; default: the first "
                "that it has");
  c->add_flag("--grads", o.grads, "Compare the gradients of the folder's grads.safetensors, too");
  c->add_option("--inputs", o.inputs,
                "Run on these arguments instead: a safetensors file with in.0, in.1, ... or their "
                "names; parts of a list are in.0.0, in.0.1, ..., those of a dictionary in.0.KEY. "
                "Also NumPy's files: .npz, and .npy for one argument");
  c->add_option("--outputs", o.outputs,
                "Write the results to this .safetensors, .npz or .npy file, as out.0, out.1, ...; "
                "default: print them");
  c->add_option("--method", o.method, "The method that --inputs are for")->capture_default_str();
  c->add_option("--device", o.device, "Where it runs")->capture_default_str();
  c->add_option("--threads", o.threads, "Threads of an operator; default: one per core")
      ->check(CLI::Range(1, 1024));
  c->add_option("--bench", o.bench,
                "Measure this many runs on the inputs or the first case: load, first run, median, "
                "memory, operators")
      ->check(CLI::Range(1, 1000000));
  c->add_flag("--optimize", o.optimize,
              "Freeze and optimize the program for inference before it runs");
  c->add_flag(
      "--verify", o.verify,
      "Compare the device with the host instead; with --optimize the optimized program with "
      "the plain one: the result, and node by node");
  c->add_option("--time-limit", o.time_limit, "Milliseconds that one call may take")
      ->check(CLI::PositiveNumber);
  c->add_option("--instruction-limit", o.instruction_limit, "Instructions that one call may run")
      ->check(CLI::PositiveNumber);
  return c;
}

constexpr const char* kLaunch =
    "tenon launch [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "Runs a program once for each rank, with MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK and "
    "LOCAL_RANK set, which\n"
    "init_process_group() reads. Lines of output begin with their rank. When one rank fails, the "
    "others are ended,\n"
    "and it is told which and why; the exit status is that of the first that failed (128 + N for "
    "signal N), 124 after\n"
    "--timeout. Signals are passed on; a second Ctrl-C ends all at once.";

CLI::App* add_launch(CLI::App& app, tenon::command::LaunchOptions& o) {
  CLI::App* c = app.add_subcommand("launch", kLaunch);
  c->add_option("-n,--processes", o.processes, "Ranks on this machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  c->add_option("--nodes", o.nodes, "Machines, each with as many ranks")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  c->add_option("--node-rank", o.node_rank, "Which of the machines this one is, from 0")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  c->add_option("--master", o.master,
                "ADDR:PORT of node 0, where the ranks meet; default: this machine, a free port");
  c->add_option("--timeout", o.timeout, "Seconds after which all are ended; default: never")
      ->check(CLI::PositiveNumber);
  c->add_option("--grace", o.grace, "Seconds between SIGTERM and SIGKILL")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  c->add_flag("!--no-prefix", o.prefix, "Pass lines of output on as they are");
  c->prefix_command();  // what follows the program's name is the program's
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "tenon"};
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    return std::string("tenon " TENON_VERSION ", ABI ") + std::to_string(tn_abi_version() >> 16) +
           "." + std::to_string(tn_abi_version() & 0xffff);
  });

  bool json = false, load = false;
  std::string name, op, device, dtype, file, dir;
  int seconds = 10;
  auto with_json = [&](CLI::App* c) {
    c->add_flag("--json", json, "Write JSON instead of a table");
    return c;
  };
  CLI::App* plugins =
      with_json(app.add_subcommand("plugins",
                                   "Lists plugins: found, opened, refused and why.\nA plugin stays "
                                   "'found' until its device is used."));
  plugins->add_flag("--load", load, "Open all of them now");
  CLI::App* devices =
      with_json(app.add_subcommand("devices", "Lists devices with their memory and plugins."));
  CLI::App* ops = with_json(app.add_subcommand(
      "ops",
      "Lists operators, or shows one: schema, text, dtypes, and what serves it on which device."));
  ops->add_option("NAME", name, "An operator, with or without overload: add, add.Tensor");
  CLI::App* why = with_json(app.add_subcommand(
      "why",
      "Explains what serves an operator on a device with a dtype: native kernel, decomposition,\n"
      "staging through the host, or none; each with its reason."));
  why->add_option("OP", op, "An operator: softmax.int")->required();
  why->add_option("DEVICE", device, "A device: cpu, cuda, cuda:1")->required();
  why->add_option("DTYPE", dtype, "A dtype: float32, int64, bool ...")->required();
  CLI::App* inspect = with_json(
      app.add_subcommand("inspect",
                         "Shows what a plugin's library declares: ABI, device, kernels and whether "
                         "their schemas are this core's,\n"
                         "extensions, needed libraries, exports. The file is opened in a separate "
                         "process, and nothing of it is called\n"
                         "but its entry; `tenon plugins --load` tells whether it also starts."));
  inspect->add_option("FILE", file, "A library: build/lib/libtenon_mine.so")->required();
  inspect->add_option("--seconds", seconds, "How long that may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  CLI::App* manifest = app.add_subcommand("manifest",
                                          "Writes libtenon_NAME.json beside a plugin's library, or "
                                          "updates its digest after the library was changed.\n"
                                          "A plugin with a digest is refused when it is damaged, "
                                          "and opens without a trial in a separate process.");
  manifest->add_option("FILE", file, "The library or its manifest: build/lib/libtenon_mine.so")
      ->required();
  CLI::App* create = app.add_subcommand("new-plugin",
                                        "Writes a backend that builds outside of Tenon's tree: a "
                                        "device with one kernel (CMakeLists.txt, NAME.cpp) and\n"
                                        "README.md with the way from there to a passing backend. "
                                        "Files that exist are never overwritten.");
  create
      ->add_option("NAME", name,
                   "Name of the plugin and its device: lowercase letters, digits, '_'")
      ->required();
  create->add_option("--dir", dir, "The folder to write into; default: NAME");
  tenon::command::CheckOptions asked;
  CLI::App* check = add_check(app, asked);
  tenon::command::RunOptions to_run;
  CLI::App* run = add_run(app, to_run);
  std::string device_of_show = "cpu";
  bool graph = false, code = false;
  CLI::App* show = app.add_subcommand(
      "show",
      "Shows a saved program: format, methods, parameters, its operators and what would serve them "
      "on a device.");
  show->add_option("MODEL", file, "A saved program")->required();
  show->add_option("--device", device_of_show, "The device to ask about")->capture_default_str();
  show->add_flag("--graph", graph, "Print the graphs of its methods");
  show->add_flag("--code", code, "Print its classes, attributes and code");
  CLI::App* convert = app.add_subcommand(
      "convert",
      "Writes a saved program in the format that OUT's extension names: .pt, .pt2 or .onnx.");
  tenon::command::ConvertOptions to_convert;
  convert->add_option("IN", to_convert.in, "A saved program")->required();
  convert->add_option("OUT", to_convert.out, "The file to write")->required();
  convert->add_option("--inputs", to_convert.inputs,
                      "Of .pt2 and .onnx: a file with example inputs, as that of run --inputs");
  convert->add_option("--cases", to_convert.cases,
                      "Of .pt2 and .onnx: a folder whose first case serves");
  convert->add_option("--dynamic", to_convert.dynamic,
                      "Of .pt2 and .onnx: an input's dimension that may change, as x:0=batch, in a "
                      ".pt2 also its range, x:0=batch:1..64; all sizes are fixed without any");
  convert->add_option("--opset", to_convert.opset,
                      "Of .onnx: the version of ONNX's operators; 17, or the first that has those "
                      "which the program needs, without it");
  convert->add_flag("--external-data", to_convert.external_data,
                    "Of .onnx: weights in OUT.data beside it, as models of 2 GiB have them anyway");
  convert->add_flag("--train", to_convert.train,
                    "Of .pt2: write a TorchScript program that was saved in training mode as it "
                    "computes there; default: in evaluation");
  convert->add_flag("--call-first", to_convert.call_first,
                    "Of .pt2: call the program on the examples before it is written, which keeps "
                    "what the call has set: for state whose sizes the first call decides");
  tenon::command::TuneCommand to_tune;
  CLI::App* tune = add_tune(app, to_tune);
  tenon::command::LaunchOptions to_launch;
  CLI::App* launch = add_launch(app, to_launch);
  app.footer(kExamples);
  CLI11_PARSE(app, argc, argv);

  try {
    if (*plugins) tenon::command::plugins(load, json);
    if (*devices) tenon::command::devices(json);
    if (*ops) tenon::command::ops(name, json);
    if (*inspect) tenon::command::inspect(file, json, seconds);
    if (*manifest) tenon::command::manifest(file, seconds);
    if (*create) tenon::command::new_plugin(name, dir);
    if (*check) return tenon::command::check_plugin(asked) ? 0 : 1;
    if (*run) return tenon::command::run_program(to_run) ? 0 : 1;
    if (*launch) {
      to_launch.program = launch->remaining();
      return tenon::command::launch(to_launch);
    }
    if (*show) tenon::command::show_program(file, device_of_show, graph, code);
    if (*convert) tenon::command::convert_program(to_convert);
    if (*tune) tenon::command::tune(to_tune);
    if (*why) tenon::command::why(op, device, dtype, json);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon: %s\n", e.what());
    return 1;
  }
  return 0;
}
