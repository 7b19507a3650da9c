// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/fuse/build.h"

#include <map>

#include "jit/fuse/pointwise.h"
#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"

namespace tenon::jit::fuse {
namespace {

namespace lp = sdk::loop_program;

std::string numbered(char letter, std::size_t i) { return letter + std::to_string(i); }

// Of a tensor of the shape: its sizes, or its indices in a nest.
std::string list(const Broadcast& shape, char letter, const char* one) {
  std::string text = "[";
  for (int d = shape.dim; d-- > 0;)
    text += (shape.is_one(d) ? std::string(one) : numbered(letter, static_cast<std::size_t>(d))) +
            (d > 0 ? ", " : "");
  return text + "]";
}

class Builder {
 public:
  Builder(const Graph& graph, const std::vector<Kind>& kinds, const std::vector<IValue>& inputs,
          const std::vector<IValue>& results)
      : graph_(graph), kinds_(kinds) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values_[graph.inputs()[i]] = inputs[i];
      numbers_[graph.inputs()[i]] = i;
    }
    std::size_t next = 0;
    for (const Node* n : graph.block()->nodes())
      values_[n->output()] = n->is("prim::Constant") ? to_constant(n->output()).value_or(IValue())
                                                     : results.at(next++);
  }

  std::optional<Program> build() {
    Program out;
    for (const Value* v : graph_.outputs())
      out.outputs.push_back({values_[v].toTensor().scalar_type(), shape_of(v)});
    std::string nests;
    std::vector<bool> done(out.outputs.size(), false);
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i]) continue;
      std::string stores;
      Nest nest(*this);
      for (std::size_t k = i; k < done.size(); ++k) {
        if (!(out.outputs[k].shape == out.outputs[i].shape)) continue;
        done[k] = true;
        const Term t = nest.term(graph_.outputs()[k]);
        if (t.node < 0 || t.dtype != out.outputs[k].dtype) return std::nullopt;
        stores += "  " + numbered('y', k) + " " + list(out.outputs[k].shape, 'i', "0") + " = %" +
                  std::to_string(t.node) + "\n";
      }
      nests += "for " + loops(out.outputs[i].shape) + "\n" + nest.body.text() + stores;
    }
    out.text = head(out) + nests;
    return out;
  }

 private:
  // The nodes of one nest, each made when it is first needed.
  struct Nest {
    explicit Nest(Builder& b) : builder(b) {}
    Term term(const Value* v);
    Term number(const Value* v, ScalarType dtype);
    Builder& builder;
    Body body;
    std::map<const Value*, Term> terms;
  };

  struct NodeCall final : Call {
    NodeCall(const Node& n, Nest& nest, ScalarType result)
        : Call(n, nest.body, result), nest(nest) {}
    Term raw(std::size_t i) override {
      const Value* v = node().input(i);
      const IValue& known = nest.builder.values_.at(v);
      if (known.isTensor()) return nest.term(v);
      return nest.number(v, known.isDouble() ? kDouble : kLong);
    }
    Term as(std::size_t i, ScalarType dtype) override {
      const Value* v = node().input(i);
      if (nest.builder.values_.at(v).isTensor()) return body.cast(nest.term(v), dtype);
      return nest.number(v, dtype);
    }
    ScalarType common(std::size_t i, std::size_t j) override {
      const IValue &a = nest.builder.values_.at(node().input(i)),
                   &b = nest.builder.values_.at(node().input(j));
      if (a.isTensor() && b.isTensor()) return tenon::result_type(a.toTensor(), b.toTensor());
      return a.isTensor() ? tenon::result_type(a.toTensor(), b.toScalar())
                          : tenon::result_type(a.toScalar(), b.toTensor());
    }
    Nest& nest;
  };

  Broadcast shape_of(const Value* v) const {
    const auto input = numbers_.find(v);
    if (input != numbers_.end()) return kinds_[input->second].shape;
    Broadcast all;
    for (const Value* in : v->node()->inputs())
      if (values_.at(in).isTensor()) all = all & shape_of_known(in);
    return all;
  }
  Broadcast shape_of_known(const Value* v) const {
    if (const auto at = shapes_.find(v); at != shapes_.end()) return at->second;
    return shapes_[v] = shape_of(v);
  }

  static std::string loops(const Broadcast& shape) {
    std::string text;
    for (int d = shape.dim; d-- > 0;)
      text += numbered('i', static_cast<std::size_t>(d)) + " < " +
              (shape.is_one(d) ? std::string("1") : numbered('N', static_cast<std::size_t>(d))) +
              (d > 0 ? ", " : "");
    return text;
  }

  std::string head(const Program& p) const {
    std::string sizes, parameters, arrays;
    Broadcast all;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const Kind& k = kinds_[i];
      if (k.of != Kind::Of::Tensor) {
        parameters +=
            "param " + numbered('p', i) + (k.of == Kind::Of::Float ? " float64\n" : " int64\n");
        continue;
      }
      all = all & k.shape;
      arrays += "input " + numbered('x', i) + " " + std::string(dtype_word(k.dtype)) + " " +
                list(k.shape, 'N', "1") + "\n";
    }
    for (std::size_t i = 0; i < p.outputs.size(); ++i)
      arrays += "output " + numbered('y', i) + " " + std::string(dtype_word(p.outputs[i].dtype)) +
                " " + list(p.outputs[i].shape, 'N', "1") + "\n";
    for (int d = all.dim; d-- > 0;)
      if (!all.is_one(d)) sizes += "size " + numbered('N', static_cast<std::size_t>(d)) + "\n";
    return "loops 1\n" + sizes + parameters + arrays;
  }

  const Graph& graph_;
  const std::vector<Kind>& kinds_;
  std::map<const Value*, IValue> values_;
  std::map<const Value*, std::size_t> numbers_;  // of inputs
  mutable std::map<const Value*, Broadcast> shapes_;
};

Term Builder::Nest::term(const Value* v) {
  if (const auto at = terms.find(v); at != terms.end()) return at->second;
  Term made;
  const ScalarType dtype = builder.values_.at(v).toTensor().scalar_type();
  if (const auto input = builder.numbers_.find(v); input != builder.numbers_.end()) {
    made = body.line("read " + numbered('x', input->second) + " " +
                         list(builder.kinds_[input->second].shape, 'i', "0"),
                     dtype);
  } else if (const Rule rule = rule_of(*v->node()); rule && !dtype_word(dtype).empty()) {
    // An operator of 16-bit floats rounds once, in the end.
    NodeCall call(*v->node(), *this, dtype == kHalf || dtype == kBFloat16 ? kFloat : dtype);
    made = rule(call);
    if (made.node >= 0) made = body.cast(made, dtype);
  }
  return terms[v] = made;
}

Term Builder::Nest::number(const Value* v, ScalarType dtype) {
  if (const auto input = builder.numbers_.find(v); input != builder.numbers_.end()) {
    const bool real = builder.kinds_[input->second].of == Kind::Of::Float;
    return body.cast(body.line("param " + numbered('p', input->second), real ? kDouble : kLong),
                     dtype);
  }
  const IValue& c = builder.values_.at(v);
  return c.isDouble() ? body.constant(c.toDouble(), dtype)
                      : body.constant(c.isBool() ? int64_t{c.toBool()} : c.toInt(), dtype);
}

bool is_valid(const std::string& text) {
  try {
    lp::check(lp::parse(text));
    return true;
  } catch (const lp::Error&) {
    return false;  // a number that its dtype does not hold
  }
}

}  // namespace

std::optional<Program> build(const Graph& graph, const std::vector<Kind>& kinds,
                             const std::vector<IValue>& inputs,
                             const std::vector<IValue>& results) {
  std::optional<Program> p = Builder(graph, kinds, inputs, results).build();
  if (p && !is_valid(p->text)) p.reset();
  return p;
}

}  // namespace tenon::jit::fuse
