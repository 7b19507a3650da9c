// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random programs of views, in-place writes, lists, branches and loops compute the same after every
// pass, and what they return shares memory as before: each result is written in turn, and all are
// compared again.
#include <gtest/gtest.h>

#include <random>

#include "jit/fuse/find_groups.h"
#include "jit/passes/passes.h"
#include "jit/run/plan.h"
#include "tenon/creation.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

// Writes the text of a graph of 3 x 3 tensors and lists of them.
class Program {
 public:
  // Half of the programs write nothing: there more may be merged.
  explicit Program(unsigned seed) : random_(seed), writes_(seed % 2 == 0) {}

  std::string text() {
    out_ =
        "graph(%x : Tensor, %y : Tensor, %c : bool, %n : int):\n"
        "  %0 : int = prim::Constant[value=0]()\n"
        "  %1 : int = prim::Constant[value=1]()\n"
        "  %2 : int = prim::Constant[value=2]()\n"
        "  %3 : int = prim::Constant[value=3]()\n"
        "  %h : float = prim::Constant[value=0.5]()\n"
        "  %true : bool = prim::Constant[value=1]()\n"
        "  %false : bool = prim::Constant[value=0]()\n"
        "  %s33 : int[] = prim::ListConstruct(%3, %3)\n";
    tensors_ = {"x", "y"};
    statements(10 + pick(15), 0);
    std::vector<std::string> results;
    results.reserve(3);
    for (int i = 0; i < 3; ++i) results.push_back("%" + tensor());
    if (!lists_.empty()) results.push_back("%" + lists_[pick(lists_.size())]);
    std::string all;
    for (const std::string& r : results) all += (all.empty() ? "" : ", ") + r;
    return out_ + "  return (" + all + ")\n";
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  std::string tensor() { return tensors_[pick(tensors_.size())]; }
  std::string number() { return "%" + std::to_string(pick(3)); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(next_++); }
  void line(const std::string& s) { out_ += std::string(indent_, ' ') + s + "\n"; }
  void define(const std::string& operation) {
    std::string name = fresh("t");
    line("%" + name + " : Tensor = " + operation);
    tensors_.push_back(name);
  }

  void statements(std::size_t n, int depth) {
    for (std::size_t i = 0; i < n; ++i) statement(depth);
  }
  void statement(int depth) {
    std::size_t kind = pick(depth < 2 ? 14 : 11);
    if (!writes_ && kind >= 6 && kind <= 8) kind -= 6;
    switch (kind) {
      case 0:
        return define("aten::tanh(%" + tensor() + ")");
      case 1:
        return define("aten::neg(%" + tensor() + ")");
      case 2:
        return define("aten::add(%" + tensor() + ", %" + tensor() + ", %1)");
      case 3:
        return define("aten::t(%" + tensor() + ")");
      case 4:
        return define("aten::transpose(%" + tensor() + ", %0, %1)");
      case 5:
        return define("aten::expand_as(%" + tensor() + ", %" + tensor() + ")");
      case 6:
        return define("aten::add_(%" + tensor() + ", " + number() + ", %1)");
      case 7:
        return define(pick(2) ? "aten::mul_(%" + tensor() + ", %h)"
                              : "aten::relu_(%" + tensor() + ")");
      case 8:
        return write_part();
      case 9:
        return use_list();
      case 10:
        return unpack();
      case 11:
        return branch(depth);
      default:
        return loop(depth);
    }
  }
  void write_part() {
    std::string part = fresh("p"), written = fresh("w");
    std::string dimension = "%" + std::to_string(pick(2));
    line("%" + part + " : Tensor = aten::select(%" + tensor() + ", " + dimension + ", " + number() +
         ")");
    line("%" + written + " : Tensor = " +
         (pick(2) ? "aten::add_(%" + part + ", %1, %1)" : "aten::neg_(%" + part + ")"));
  }
  void use_list() {
    if (lists_.empty() || (writes_ && pick(3) == 0)) {
      std::string name = fresh("l");
      line("%" + name + " : Tensor[] = prim::ListConstruct(%" + tensor() + ", %" + tensor() + ")");
      lists_.push_back(name);
      return;
    }
    std::string list = "%" + lists_[pick(lists_.size())];
    switch (writes_ ? pick(3) : 2) {
      case 0:
        line("%" + fresh("a") + " : Tensor[] = aten::append(" + list + ", %" + tensor() + ")");
        return;
      case 1:
        line("%" + fresh("a") + " : Tensor[] = aten::_set_item(" + list + ", " + "%" +
             std::to_string(pick(2)) + ", %" + tensor() + ")");
        return;
      default:
        define("aten::__getitem__(" + list + ", %" + std::to_string(pick(2)) + ")");
    }
  }
  void unpack() {
    std::string tuple = fresh("u"), a = fresh("t"), b = fresh("t");
    line("%" + tuple + " : (Tensor, Tensor) = prim::TupleConstruct(%" + tensor() + ", %" +
         tensor() + ")");
    line("%" + a + " : Tensor, %" + b + " : Tensor = prim::TupleUnpack(%" + tuple + ")");
    tensors_.push_back(a);
    tensors_.push_back(b);
  }

  // The statements of a block; what they define ends with it.
  std::string block(int depth, std::size_t results, const std::string& condition) {
    auto tensors = tensors_, lists = lists_;
    indent_ += 2;
    statements(1 + pick(4), depth + 1);
    std::string all = condition;
    for (std::size_t i = 0; i < results; ++i) all += (all.empty() ? "%" : ", %") + tensor();
    line("-> (" + all + ")");
    indent_ -= 2;
    tensors_ = tensors;
    lists_ = lists;
    return all;
  }
  void branch(int depth) {
    static constexpr const char* conditions[] = {"c", "true", "false"};
    std::string a = fresh("t"), b = fresh("t");
    line("%" + a + " : Tensor, %" + b + " : Tensor = prim::If(%" + conditions[pick(3)] + ")");
    indent_ += 2;
    for (int i = 0; i < 2; ++i) {
      line("block" + std::to_string(i) + "():");
      block(depth, 2, "");
    }
    indent_ -= 2;
    tensors_.push_back(a);
    tensors_.push_back(b);
  }
  void loop(int depth) {
    static constexpr const char* trips[] = {"0", "2", "3", "n"};
    std::string a = fresh("t"), b = fresh("t"), in = fresh("t"), also = fresh("t");
    line("%" + a + " : Tensor, %" + b + " : Tensor = prim::Loop(%" + trips[pick(4)] + ", %true, %" +
         tensor() + ", %" + tensor() + ")");
    indent_ += 2;
    line("block0(%" + fresh("i") + " : int, %" + in + " : Tensor, %" + also + " : Tensor):");
    auto tensors = tensors_;
    tensors_.push_back(in);
    tensors_.push_back(also);
    block(depth, 2, "%true");
    tensors_ = tensors;
    indent_ -= 2;
    tensors_.push_back(a);
    tensors_.push_back(b);
  }

  std::mt19937 random_;
  bool writes_;
  std::string out_;
  std::size_t indent_ = 2;
  int next_ = 0;
  std::vector<std::string> tensors_, lists_;
};

void add_tensors(const IValue& v, std::vector<Tensor>& out) {
  if (v.isTensor()) out.push_back(v.toTensor());
  if (v.isList())
    for (const IValue& item : v.toList()) add_tensors(item, out);
}

// The results, then the inputs; and again after each was written.
std::vector<Tensor> observe(const Graph& g, bool condition) {
  Tensor x = tensor({{0.5, -1.0, 2.0}, {3.0, 1.5, -2.5}, {-0.25, 4.0, 0.0}});
  Tensor y = tensor({{1.0, 0.25, -0.5}, {2.0, -3.0, 1.0}, {0.75, 0.5, -1.5}});
  Stack stack{x, y, condition, 2};
  Plan(g.copy()).run(stack);
  std::vector<Tensor> seen, out;
  for (const IValue& v : stack) add_tensors(v, seen);
  seen.push_back(x);
  seen.push_back(y);
  for (const Tensor& t : seen) out.push_back(t.clone());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i].add_(static_cast<double>(i + 1));
  for (const Tensor& t : seen) out.push_back(t.clone());
  return out;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& s, const Tensor& t) { return s.equal(t); });
}

TEST(JitPassesRandom, ProgramsComputeTheSame) {
  const std::pair<const char*, bool (*)(Graph&)> passes[] = {
      {"unroll_loops", unroll_loops},
      {"propagate_constants", propagate_constants},
      {"simplify", simplify},
      {"eliminate_common_subexpressions", eliminate_common_subexpressions},
      {"lower_tuples", lower_tuples},
      {"functionalize", functionalize},
      {"decide_shapes", decide_shapes},
      {"propagate_frozen_constants", propagate_frozen_constants},
      {"remove_dropout", remove_dropout},
      {"fold_scales", fold_scales},
      {"recognize_activations", recognize_activations},
      {"recognize_norms", recognize_norms},
      {"recognize_attention", recognize_attention},
      {"fuse_epilogues", fuse_epilogues},
      {"merge_linears", merge_linears},
      {"eliminate_dead_code", eliminate_dead_code},
  };
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::string text = Program(seed).text();
    auto original = parse_graph(text);
    std::vector<Tensor> wanted[2] = {observe(*original, false), observe(*original, true)};
    auto all = original->copy();
    for (auto [name, pass] : passes) {
      auto alone = original->copy();
      for (Graph* g : {alone.get(), all.get()}) {
        pass(*g);
        g->lint();
        for (bool condition : {false, true})
          ASSERT_TRUE(same(observe(*g, condition), wanted[condition]))
              << name << " of seed " << seed << (g == all.get() ? " after others" : "") << "\n"
              << text << g->str();
      }
    }
    for (const auto& g : {fuse::find_groups(original), fuse::find_groups(all)}) {
      g->lint();
      for (bool condition : {false, true})
        ASSERT_TRUE(same(observe(*g, condition), wanted[condition]))
            << "find_groups of seed " << seed << "\n"
            << text << g->str();
    }
  }
}

}  // namespace
}  // namespace tenon::jit
