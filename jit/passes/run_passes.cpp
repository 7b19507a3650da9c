// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/run_passes.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "jit/passes/passes.h"
#include "runtime/base/settings.h"

namespace tenon::jit {
namespace {

constexpr int kMaxRounds = 8;

// Files of graphs in the folder that TENON_JIT_DUMP names. What cannot be written is left out: a
// program runs the same.
class Dump {
 public:
  explicit Dump(std::string_view function)
      : folder_(core::setting("JIT_DUMP")), function_(function) {}

  void write(const Graph& g, const char* pass) const {
    if (folder_.empty()) return;
    static std::atomic<int> next{0};
    char number[16];
    std::snprintf(number, sizeof number, "%04d", next++);
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    const auto file = std::filesystem::path(folder_) /
                      (std::string(number) + "." + function_ + "." + pass + ".txt");
    std::ofstream(file) << g.str();
  }

 private:
  std::string folder_, function_;
};

bool run_once(Graph& g, const std::vector<Pass>& passes, const Dump& dump) {
  bool changed = false;
  for (const Pass& p : passes) {
    if (!p.run(g)) continue;
    changed = true;
    dump.write(g, p.name);
  }
  return changed;
}

// The graphs of prim::fork.
template <class F>
bool each_subgraph(const Block& b, F f) {
  bool changed = false;
  for (const Node* n : b.nodes()) {
    for (const Block* inner : n->blocks()) changed |= each_subgraph(*inner, f);
    if (n->has("Subgraph"))
      changed |= f(*std::get<std::shared_ptr<Graph>>(n->attribute("Subgraph")));
  }
  return changed;
}

}  // namespace

bool run_passes(Graph& g, const std::vector<Pass>& passes, std::string_view function) {
  const Dump dump(function);
  const bool inner = each_subgraph(*g.block(), [&](Graph& sub) {
    return run_passes(sub, passes, std::string(function) + ".fork");
  });
  dump.write(g, "before");
  return run_once(g, passes, dump) || inner;
}

bool run_passes_repeatedly(Graph& g, const std::vector<Pass>& passes, std::string_view function) {
  const Dump dump(function);
  bool changed = each_subgraph(*g.block(), [&](Graph& sub) {
    return run_passes_repeatedly(sub, passes, std::string(function) + ".fork");
  });
  dump.write(g, "before");
  for (int i = 0; i < kMaxRounds && run_once(g, passes, dump); ++i) changed = true;
  return changed;
}

const std::vector<Pass>& frozen_passes() {
  static const std::vector<Pass> all{
      {"propagate_constants", propagate_frozen_constants},
      {"simplify", simplify},
      {"remove_dropout", remove_dropout},
      {"decide_shapes", decide_shapes},
      {"eliminate_common_subexpressions", eliminate_common_subexpressions},
      {"eliminate_dead_code", eliminate_dead_code},
  };
  return all;
}

const std::vector<Pass>& numeric_passes() {
  static const std::vector<Pass> all{
      {"fold_scales", fold_scales},
      {"eliminate_dead_code", eliminate_dead_code},
  };
  return all;
}

const std::vector<Pass>& inference_passes() {
  static const std::vector<Pass> all{
      {"unroll_loops", unroll_loops},
      {"propagate_constants", propagate_frozen_constants},
      {"lower_tuples", lower_tuples},
      {"simplify", simplify},
      {"fuse_quantized", fuse_quantized},
      {"fuse_integers", fuse_integers},
      {"fuse_quantized_pointwise", fuse_quantized_pointwise},
      {"propagate_dequantized", propagate_dequantized},
      {"recognize_activations", recognize_activations},
      {"recognize_norms", recognize_norms},
      {"recognize_attention", recognize_attention},
      {"eliminate_dead_code", eliminate_dead_code},
      {"fuse_epilogues", fuse_epilogues},
      {"merge_linears", merge_linears},
      {"eliminate_common_subexpressions", eliminate_common_subexpressions},
      {"eliminate_dead_code", eliminate_dead_code},
  };
  return all;
}

}  // namespace tenon::jit
