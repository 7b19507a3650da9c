// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <cstdio>
#include <set>

#include "tenon/jit/freeze.h"
#include "tenon/jit/print.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/device.h"

namespace tenon::command {

jit::Module load_program(const std::string& file, const Device& device) {
  jit::set_print_handler([](const std::string& line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  });
  return jit::load(file, device);
}

jit::Module load_optimized(const std::string& file, const Device& device,
                           const std::vector<std::string>& methods) {
  const jit::Module m = load_program(file, device);
  m.eval();
  return jit::optimize_for_inference(m, methods);
}

Device find_device(const std::string& name) {
  core::backend_source().scan();
  return core::resolve(Device(name));
}

std::string format_number(const char* format, double v) {
  char text[64];
  std::snprintf(text, sizeof(text), format, v);
  return text;
}

std::string format_ms(double ms) { return format_number(ms < 100 ? "%.3g ms" : "%.0f ms", ms); }

std::string format_bytes(uint64_t bytes) {
  const auto n = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  if (bytes < (1u << 20)) return format_number("%.1f KiB", n / 1024);
  if (bytes < (1u << 30)) return format_number("%.1f MiB", n / (1 << 20));
  return format_number("%.2f GiB", n / (1 << 30));
}

void wait_for(const Device& device) {
  if (!device.is_cpu()) core::synchronize(core::device_id(device));
}

void for_each_node(const jit::Graph& g, const std::function<void(const jit::Node&)>& f) {
  const std::function<void(const jit::Block&)> visit = [&](const jit::Block& b) {
    for (const jit::Node* n : b.nodes()) {
      f(*n);
      for (const jit::Block* inner : n->blocks()) visit(*inner);
      for (const auto& [name, a] : n->attributes()) {
        if (const auto* inner = std::get_if<std::shared_ptr<jit::Graph>>(&a))
          for_each_node(**inner, f);
      }
    }
  };
  visit(*g.block());
}

std::vector<jit::Function*> reachable_functions(const jit::Module& m) {
  std::vector<jit::Function*> out;
  std::set<jit::Function*> seen;
  const auto add = [&](jit::Function* f) {
    if (f && seen.insert(f).second) out.push_back(f);
  };
  for (const jit::Module& part : m.modules()) {
    for (const jit::Method& method : part.get_methods()) add(&method.function());
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    for_each_node(*out[i]->graph(), [&](const jit::Node& n) {
      add(n.function);
      if (!n.is("prim::CallMethod") || n.inputs().empty()) return;
      if (const jit::ClassType* c = jit::as_class(n.input(0)->type()))
        add(c->find_method(n.s("name")));
    });
  }
  return out;
}

}  // namespace tenon::command
