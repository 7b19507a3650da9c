// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A nest may not read what it stores, so a statement that reads its own target makes the next
// version of it: a new array, which the last version's name then means.
#include "jit/comprehension/emit.h"

#include <algorithm>

#include "jit/comprehension/order.h"
#include "jit/comprehension/values.h"
#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/print.h"

namespace tenon::jit::comprehension {
namespace {

bool reads(const Expression& e, const std::string& name) {
  return ((e.form == Form::kCall || e.form == Form::kName) && e.name == name) ||
         std::any_of(e.args.begin(), e.args.end(),
                     [&](const Expression& it) { return reads(it, name); });
}

lp::Affine number(int64_t value) {
  lp::Affine affine;
  affine.constant = value;
  return affine;
}
lp::Affine loop_at(int loop, int64_t begin) {
  lp::Affine affine = number(begin);
  affine.loops.emplace_back(loop, 1);
  return affine;
}

class Emitter {
 public:
  Emitter(const Definition& d, const Facts& facts, bool into) : d_(d), facts_(facts), into_(into) {}

  Emitted run() {
    for (const Parameter& it : d_.parameters)
      arrays_[it.name] = add(it.name, lp::Role::kInput, it.dtype, facts_.shapes.at(it.name));
    for (const Statement& it : d_.statements) statement(it);
    place_outputs();
    if (!facts_.structural) {
      lp::check(program_);
      out_.text = lp::print(program_);
    }
    return std::move(out_);
  }

 private:
  int add(const std::string& name, lp::Role role, lp::Dtype dtype, const Shape& shape) {
    lp::Array array;
    array.name = core::join(name, "_", program_.arrays.size());
    array.role = role;
    array.dtype = dtype;
    for (const int64_t size : shape) array.shape.push_back(number(size));
    program_.arrays.push_back(std::move(array));
    return static_cast<int>(program_.arrays.size()) - 1;
  }

  bool is_parameter(const std::string& name) const {
    return std::any_of(d_.parameters.begin(), d_.parameters.end(),
                       [&](const Parameter& it) { return it.name == name; });
  }

  // Outputs come in the order of the definition, after all else.
  void place_outputs() {
    std::vector<int> order, inputs;
    for (const std::string& name : d_.outputs) {
      const auto at = arrays_.find(name);
      TENON_PROGRAM_CHECK(at != arrays_.end(), d_.where, "output ", name, " is never written");
      TENON_PROGRAM_CHECK(!is_parameter(name), d_.where, "output ", name, " is an argument");
      program_.arrays[at->second].role = lp::Role::kOutput;
      order.push_back(at->second);
      out_.shapes.push_back(facts_.shapes.at(name));
      out_.dtypes.push_back(program_.arrays[at->second].dtype);
    }
    std::vector<int> all = d_.parameters.empty() ? std::vector<int>() : first(d_.parameters.size());
    for (const std::string& name : d_.outputs) {
      const auto at = given_.find(name);
      if (at == given_.end()) continue;
      all.push_back(at->second);
      out_.taken.push_back(std::find(d_.outputs.begin(), d_.outputs.end(), name) -
                           d_.outputs.begin());
    }
    for (int i = 0; i < static_cast<int>(program_.arrays.size()); ++i)
      if (program_.arrays[i].role == lp::Role::kTemporary) all.push_back(i);
    all.insert(all.end(), order.begin(), order.end());
    reorder(all);
  }

  static std::vector<int> first(std::size_t n) {
    std::vector<int> list(n);
    for (std::size_t i = 0; i < n; ++i) list[i] = static_cast<int>(i);
    return list;
  }

  void reorder(const std::vector<int>& order) {
    std::vector<int> at(order.size());
    std::vector<lp::Array> arrays;
    for (std::size_t i = 0; i < order.size(); ++i) {
      at[order[i]] = static_cast<int>(i);
      arrays.push_back(std::move(program_.arrays[order[i]]));
    }
    program_.arrays = std::move(arrays);
    for (lp::Nest& nest : program_.nests) {
      for (lp::Node& it : nest.nodes)
        if (it.kind == lp::Kind::kRead) it.source = at[it.source];
      for (lp::Store& it : nest.stores) it.array = at[it.array];
    }
  }

  void check_calls(const Expression& e) const {
    TENON_PROGRAM_CHECK(e.form != Form::kCall || arrays_.count(e.name) > 0 || is_function(e.name),
                        e.where, e.name,
                        " is neither a tensor that has a value here nor a function");
    for (const Expression& it : e.args) check_calls(it);
  }

  void statement(const Statement& s) {
    TENON_PROGRAM_CHECK(!is_parameter(s.target), s.where, s.target,
                        " is an argument and cannot be written");
    TENON_PROGRAM_CHECK(facts_.sizes.count(s.target) == 0, s.where, s.target, " is a size");
    for (const Expression& it : s.indices)
      TENON_PROGRAM_CHECK(facts_.sizes.count(it.name) == 0 && facts_.shapes.count(it.name) == 0,
                          it.where, it.name, " is a size or a tensor, and cannot be an index");
    check_calls(s.value);
    for (const Expression& it : s.exists) check_calls(it);
    const Ranges ranges = infer_ranges(s, facts_);
    const std::vector<std::string> names = variables_of(s, facts_);
    TENON_PROGRAM_CHECK(s.update != lp::Update::kAssign || names.size() == s.indices.size(),
                        s.where, "index ",
                        names.size() > s.indices.size() ? names[s.indices.size()] : std::string(),
                        " is only on the right: write a reduction, such as +=!");
    lp::Nest nest;
    std::map<std::string, int> loops;
    for (const std::string& name : names) {
      const Interval& range = ranges.at(name);
      loops[name] = static_cast<int>(nest.loops.size());
      nest.loops.push_back({name + "_v", number(std::max<int64_t>(0, range.end - range.begin))});
    }
    Values values(nest, program_, facts_, ranges, arrays_, loops);
    const Value value = values.value_of(s.value);
    const int to = target(s, Values::natural(value), ranges);
    lp::Store store;
    store.array = to;
    store.node = values.as(value, program_.arrays[to].dtype);
    store.update = s.update;
    store.from_neutral = s.from_neutral;
    for (std::size_t d = 0; d < s.indices.size(); ++d)
      store.indices.push_back(loop_at(static_cast<int>(d), ranges.at(s.indices[d].name).begin));
    nest.stores.push_back(std::move(store));
    order_loops(nest);
    program_.nests.push_back(std::move(nest));
  }

  // The array that the statement stores into, with what it must hold before.
  int target(const Statement& s, lp::Dtype dtype, const Ranges& ranges) {
    Shape shape;
    for (const Expression& it : s.indices) {
      const Interval& range = ranges.at(it.name);
      TENON_PROGRAM_CHECK(range.begin >= 0, it.where, "the range of ", it.name, " begins at ",
                          range.begin, "; an index on the left begins at 0 or above");
      shape.push_back(std::max(range.begin, range.end));
    }
    const auto old = arrays_.find(s.target);
    const bool keeps = !s.from_neutral && s.update != lp::Update::kAssign;
    if (old == arrays_.end()) {
      facts_.shapes[s.target] = shape;
      const int to = add(s.target, lp::Role::kTemporary, dtype, shape);
      if (into_ && is_output(s.target) && (keeps || !covers(s, shape, ranges)))
        copy(given_[s.target] = add(s.target, lp::Role::kInput, dtype, shape), to, shape);
      return arrays_[s.target] = to;
    }
    const Shape& whole = facts_.shapes.at(s.target);
    for (std::size_t d = 0; d < shape.size(); ++d)
      TENON_PROGRAM_CHECK(facts_.structural || shape[d] <= whole[d], s.where, "a write leaves ",
                          s.target, ": index ", d, " runs to ", shape[d] - 1,
                          ", its dimension has ", whole[d], " elements");
    if (!reads(s.value, s.target)) return old->second;
    const lp::Dtype kept = program_.arrays[old->second].dtype;
    const int to = add(s.target, lp::Role::kTemporary, kept, whole);
    if (keeps || !covers(s, whole, ranges)) copy(old->second, to, whole);
    return arrays_[s.target] = to;
  }

  bool is_output(const std::string& name) const {
    return std::find(d_.outputs.begin(), d_.outputs.end(), name) != d_.outputs.end();
  }

  static bool covers(const Statement& s, const Shape& shape, const Ranges& ranges) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Interval& range = ranges.at(s.indices[d].name);
      if (range.begin != 0 || range.end < shape[d]) return false;
    }
    return true;
  }

  void copy(int from, int to, const Shape& shape) {
    lp::Nest nest;
    lp::Node read;
    read.kind = lp::Kind::kRead;
    read.dtype = program_.arrays[from].dtype;
    read.source = from;
    lp::Store store;
    store.array = to;
    store.node = 0;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      nest.loops.push_back({core::join("d", d, "_v"), number(shape[d])});
      store.indices.push_back(loop_at(d, 0));
      lp::Index index;
      index.affine = loop_at(d, 0);
      read.indices.push_back(index);
    }
    nest.nodes.push_back(std::move(read));
    nest.stores.push_back(std::move(store));
    program_.nests.push_back(std::move(nest));
  }

  const Definition& d_;
  Facts facts_;
  bool into_;
  lp::Program program_;
  std::map<std::string, int> arrays_;  // the version that each name means now
  std::map<std::string, int> given_;   // outputs whose buffers are inputs
  Emitted out_;
};

}  // namespace

Emitted emit(const Definition& definition, const Facts& facts, bool into) {
  return Emitter(definition, facts, into).run();
}

}  // namespace tenon::jit::comprehension
