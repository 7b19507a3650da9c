// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How ShapeFacts are made: what each node gives, from what it takes.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/ir/alias.h"
#include "jit/passes/shape_facts.h"

namespace tenon::jit {

class ShapeRules {
 public:
  static constexpr std::size_t kMaxRank = 16;

  ShapeRules(const Graph& g, ShapeFacts& facts) : graph_(g), facts_(facts), aliases_(g) {}
  void run();
  static bool keeps_rank(const std::string& kind);

 private:
  using Rule = void (ShapeRules::*)(const Node& n);
  using Dims = std::vector<int64_t>;

  // Symbols. The same words give the same symbol.
  int64_t symbol(const std::string& words);
  int64_t fresh(const Value* v);
  // At least n sizes in `last`, if the rank may be so.
  void split_lead(TensorFacts& t, std::size_t n);
  int64_t* dim_of(TensorFacts& t, int64_t dim);
  TensorFacts unknown(const Value* v);
  TensorFacts get(const Value* v);
  void set(const Value* v, TensorFacts t) { facts_.tensors_[v] = std::move(t); }
  std::optional<int64_t> number(const Value* v);
  std::optional<Dims> dims(const Value* list);

  void block(const Block& b);
  void branches(const Node& n);
  void check(const Node& n);
  void refine(const Value* v, std::size_t rank);
  void node(const Node& n);
  void constant(const Node& n);

  void same(const Node& n);
  void to(const Node& n);
  void binary(const Node& n);
  void compare(const Node& n);
  void convolution(const Node& n);
  void pool(const Node& n);
  void adaptive_pool(const Node& n);
  void linear(const Node& n);
  void matmul(const Node& n);
  void embedding(const Node& n);
  void permute(const Node& n);
  void transpose(const Node& n);
  void view(const Node& n);
  void flatten(const Node& n);
  void unsqueeze(const Node& n);
  void select(const Node& n);
  void cat(const Node& n);
  void pieces(const Node& n);
  void piece(const Node& n);
  void attention(const Node& n);
  void size(const Node& n);
  void sizes(const Node& n);
  void rank(const Node& n);
  void check_sizes(const Node& n);
  void arithmetic(const Node& n);
  void broadcast(const Node& n, TensorFacts a, TensorFacts b);
  int64_t window(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                 bool rounded_up = false);
  int64_t rest_of(const TensorFacts& from, const Dims& given);

  static const std::map<std::string, Rule, std::less<>>& rules();

  const Graph& graph_;
  ShapeFacts& facts_;
  AliasFacts aliases_;
  std::map<std::string, int64_t> symbols_;
  std::unordered_map<const Value*, Dims> lists_;
};

}  // namespace tenon::jit
