// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <map>

#include "commands.h"
#include "jit/formats/zip.h"
#include "programs.h"
#include "table.h"
#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/jit/foreign.h"

namespace tenon::command {
namespace {

// "TorchScript archive, version 10": what the file says of itself. Loading has checked it.
std::string format_of(const jit::Module& m, const std::string& file) {
  if (std::string foreign = jit::describe_foreign(m); !foreign.empty()) return foreign;
  const auto zip = jit::formats::ZipReader::open(file);
  std::string version;
  for (const char* entry : {"version", ".data/version", "archive_version"}) {
    if (version.empty() && zip->find(zip->root() + entry)) version = zip->read(zip->root() + entry);
  }
  version.erase(version.find_last_not_of(" \n") + 1);
  const bool script = zip->find(zip->root() + "constants.pkl") != nullptr;
  return (script ? "TorchScript archive" : "exported program") +
         (version.empty() ? std::string() : ", version " + version);
}

struct Used {
  const jit::Operator* op;
  int count = 0;
};

std::map<std::string, Used> operators_used(const jit::Module& m) {
  std::map<std::string, Used> out;
  for (jit::Function* f : reachable_functions(m)) {
    for_each_node(*f->graph(), [&](const jit::Node& n) {
      if (!n.op) return;
      Used& u = out[n.op->schema.full_name()];
      u.op = n.op;
      ++u.count;
    });
  }
  return out;
}

// The dtype that a question about the operator is asked with: that of most programs, or the first
// that the operator takes.
ScalarType dtype_for(const core::Op& op) {
  for (ScalarType t : {kFloat, kLong, kBool}) {
    if (core::op_takes(op, t)) return t;
  }
  return kFloat;
}

struct NodeServer {
  std::string by, reason;
  bool missing = false;
};

NodeServer server_of(const jit::Operator& op, int slot) {
  if (!op.op) return {"interpreter", "needs no tensor kernel", false};
  if (op.op->kind == core::OpKind::Composite) return {"composite", "other operators", false};
  for (const core::Candidate& c : core::explain(*op.op, slot, dtype_for(*op.op))) {
    if (c.serves) return {core::toString(c.by), c.reason, c.by == core::ServedBy::None};
  }
  return {"none", "nothing serves it", true};
}

void print_operators(const jit::Module& m, const Device& device) {
  const int slot = core::device_slot(device.type());
  Table table({"OPERATOR", "COUNT", "SERVED BY", "REASON"});
  std::vector<std::pair<std::string, Used>> used;
  for (auto& item : operators_used(m)) used.push_back(item);
  std::stable_sort(used.begin(), used.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  std::vector<std::string> missing;
  for (const auto& [name, u] : used) {
    const NodeServer s = server_of(*u.op, slot);
    table.add({name, std::to_string(u.count), s.by, s.reason});
    if (s.missing) missing.push_back(name);
  }
  if (table.empty()) return;
  std::cout << "\n" << table.text();
  if (!missing.empty())
    std::cout << "\nNothing serves on " << device.str() << ": " << join_list(missing) << "\n";
}

void print_tensors(const char* name, const std::vector<Tensor>& tensors) {
  uint64_t elements = 0, bytes = 0;
  for (const Tensor& t : tensors) {
    elements += static_cast<uint64_t>(t.numel());
    bytes += static_cast<uint64_t>(t.numel()) * core::dtype_info(t.scalar_type()).size;
  }
  std::cout << name << tensors.size() << " tensors, " << elements << " elements, "
            << format_bytes(bytes) << "\n";
}

std::string signature(const jit::FunctionSchema& s) {
  std::vector<std::string> arguments, results;
  for (const jit::Argument& a : s.arguments) {
    if (a.name == "self") continue;
    arguments.push_back(a.name + ": " + (a.type ? a.type->annotation() : "Tensor") +
                        (a.default_value ? " = ..." : ""));
  }
  for (const jit::Argument& r : s.returns)
    results.push_back(r.type ? r.type->annotation() : "Tensor");
  return "(" + join_list(arguments) + ") -> " + (results.empty() ? "None" : join_list(results));
}

}  // namespace

void show_program(const std::string& file, const std::string& device_name, bool graph, bool code) {
  const Device device = find_device(device_name);
  const jit::Module m = load_program(file, device);
  std::cout << "format      " << format_of(m, file) << "\nclass       " << m.type()->class_name()
            << (!m.hasattr("training") ? ""
                : m.is_training()      ? ", training"
                                       : ", evaluating")
            << "\n";
  print_tensors("parameters  ", m.parameters());
  print_tensors("buffers     ", m.buffers());
  for (const jit::Method& method : m.get_methods())
    std::cout << "method      " << method.name() << signature(method.function().schema()) << "\n";
  print_operators(m, device);
  if (code) std::cout << "\n" << m.dump_to_str();
  if (!graph) return;
  for (const jit::Method& method : m.get_methods())
    std::cout << "\n" << method.name() << "\n" << method.graph()->str();
}

}  // namespace tenon::command
