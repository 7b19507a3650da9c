// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From a checked program to source text in C, CUDA C or OpenCL C that holds for all sizes and
// strides, so that a backend compiles it once and keeps it by the program's text:
//
//   const CProgram c = print_c(program, opencl_c(true));      // c.source goes to the compiler
//   const Binding binding = bind_c(c, bind_call(program, outputs, inputs, numbers, reals));
//   for (const CKernel& kernel : c.kernels)
//     if (const int64_t items = count_items(c, kernel, binding))
//       launch(kernel.name, items, find_numbers(kernel, binding, placements, items), ...);
//
// Reductions run in the order of the loops: results do not depend on the device's parallelism.
// Float sums and products accumulate in double, where there is double.
#ifndef TENON_SDK_LOOP_PROGRAM_PRINT_C_H_
#define TENON_SDK_LOOP_PROGRAM_PRINT_C_H_

#include <algorithm>

#include "tenon/abi/base.h"
#include "tenon/sdk/loop_program/c_program.h"
#include "tenon/sdk/loop_program/c_values.h"

namespace tenon::sdk::loop_program {

// One kernel: the nodes that its stores need, each in the outermost loop where it can be.
class CKernelPrinter {
 public:
  CKernelPrinter(const Program& program, const Nest& nest, const CDialect& dialect, CValues& values,
                 CKernel& kernel, std::vector<const Store*> stores)
      : program_(program),
        nest_(nest),
        dialect_(dialect),
        values_(values),
        kernel_(kernel),
        stores_(std::move(stores)) {}

  // The kernel's text; fills what a call needs to know.
  std::string print() {
    choose_loops();
    find_levels();
    const std::string count = number({CNumber::kItems});
    print_loops();
    std::string body = std::move(text_);
    const std::string last = dialect_.packed ? "tn_last" : count;
    std::string head = signature();
    // Loads of several items are in flight at once.
    const std::string unroll = kernel_.inner.empty() ? dialect_.unroll : "";
    return head + unroll + "  for (tn_i64 item = " + dialect_.first + "; item < " + last +
           "; item += " + dialect_.step + ") {\n" + body + "  }\n}\n";
  }

 private:
  // Items: the loops of the first store in the order of its dimensions, so that neighboring items
  // write neighboring elements.
  void choose_loops() {
    std::vector<bool> named(nest_.loops.size(), false);
    for (const Affine& it : stores_[0]->indices) {
      if (it.loops.empty()) continue;
      kernel_.items.push_back(it.loops[0].first);
      named[it.loops[0].first] = true;
    }
    for (size_t l = 0; l < named.size(); ++l)
      if (!named[l]) kernel_.inner.push_back(static_cast<int>(l));
    for (const Store* it : stores_) kernel_.stores_empty |= it->from_neutral;
  }

  int level_of_loop(int loop) const {
    const auto at = std::find(kernel_.inner.begin(), kernel_.inner.end(), loop);
    return at == kernel_.inner.end() ? 0 : static_cast<int>(at - kernel_.inner.begin()) + 1;
  }

  // -1: nothing needs the node.
  void find_levels() {
    std::vector<bool> needed(nest_.nodes.size(), false);
    for (const Store* it : stores_) needed[it->node] = true;
    for (size_t i = nest_.nodes.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (const int o : nest_.nodes[i].operands)
        if (o >= 0) needed[o] = true;
      for (const Index& it : nest_.nodes[i].indices)
        if (it.bound != Bound::kProven) needed[it.node] = true;
    }
    for (size_t i = 0; i < nest_.nodes.size(); ++i) {
      const Node& node = nest_.nodes[i];
      int level = node.kind == Kind::kLoop ? level_of_loop(node.source) : 0;
      for (const int o : node.operands)
        if (o >= 0) level = std::max(level, levels_[o]);
      for (const Index& it : node.indices) {
        if (it.bound != Bound::kProven) level = std::max(level, levels_[it.node]);
        for (const auto& [loop, by] : it.affine.loops) level = std::max(level, level_of_loop(loop));
      }
      levels_.push_back(needed[i] ? level : -1);
    }
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(depth) * 2 + 4, ' ') + text + "\n";
  }

  // "n.v[3]", which find_numbers() gives.
  std::string number(const CNumber& which) {
    const auto at = std::find(kernel_.numbers.begin(), kernel_.numbers.end(), which);
    const std::string i = std::to_string(at - kernel_.numbers.begin());
    if (at == kernel_.numbers.end()) kernel_.numbers.push_back(which);
    return (dialect_.packed ? "tn_n[" : "tn_n.v[") + i + "]";
  }

  // "p3[...]" of an access, whose number is given.
  std::string place(int access, const std::string& more = "") {
    const CAccess& it = kernel_.accesses[access];
    std::string at = number({CNumber::kOffset, access});
    std::set<int> loops;
    for (const Affine* index : it.indices) {
      if (!index) continue;
      for (const auto& [loop, by] : index->loops) loops.insert(loop);
    }
    for (const int l : loops)
      at += " + " + number({CNumber::kStep, access, l}) + " * l" + std::to_string(l);
    return "p" + std::to_string(it.array) + "[" + at + more + "]";
  }

  int add_access(int array, bool stored) {
    values_.require(program_.arrays[array].dtype);
    auto& list = kernel_.pointers;
    const auto at = std::find_if(list.begin(), list.end(),
                                 [&](const CPointer& it) { return it.array == array; });
    if (at == list.end())
      list.push_back({array, stored});
    else
      at->stored |= stored;
    kernel_.accesses.push_back({array, {}});
    return static_cast<int>(kernel_.accesses.size()) - 1;
  }

  void print_items() {
    const std::vector<int>& loops = kernel_.items;
    if (loops.empty()) return;
    line(0, "tn_u64 rest = (tn_u64)item;");
    for (size_t k = loops.size(); k-- > 1;) {
      const std::string l = "l" + std::to_string(loops[k]), next = "next" + l;
      const std::string n = "(tn_u64)" + number({CNumber::kExtent, loops[k]});
      const std::string by = "(tn_u64)" + number({CNumber::kDivider, loops[k]});
      line(0, "const tn_u64 " + next + " = " + values_.functions().use("divide") + "(rest, " + n +
                  ", " + by + ");");
      line(0, "const tn_i64 " + l + " = (tn_i64)(rest - " + next + " * " + n + ");");
      line(0, "rest = " + next + ";");
    }
    line(0, "const tn_i64 l" + std::to_string(loops[0]) + " = (tn_i64)rest;");
  }

  Dtype dtype_of(const Store& store) const { return program_.arrays[store.array].dtype; }
  std::string total_type(const Store& store) const {
    const bool sums = store.update == Update::kSum || store.update == Update::kProd;
    return sums ? values_.sum_type(dtype_of(store)) : CValues::type(dtype_of(store));
  }

  void print_loops() {
    print_items();
    if (kernel_.inner.empty()) {
      print_nodes(0, 0);
      for (const Store* it : stores_) print_store(*it, 0, value_of(*it));
      return;
    }
    std::string runs;
    for (const int l : kernel_.inner)
      runs += (runs.empty() ? "" : " && ") + number({CNumber::kExtent, l}) + " > 0";
    line(0, "const int runs = " + runs + ";");
    for (size_t s = 0; s < stores_.size(); ++s)
      line(0, total_type(*stores_[s]) + " total" + std::to_string(s) + " = " +
                  values_.neutral(stores_[s]->update, dtype_of(*stores_[s])) + ";");
    line(0, "if (runs) {");
    print_inner(0);
    line(0, "}");
    for (size_t s = 0; s < stores_.size(); ++s) {
      if (!stores_[s]->from_neutral) line(0, "if (runs) {");
      print_store(*stores_[s], stores_[s]->from_neutral ? 0 : 1, "total" + std::to_string(s));
      if (!stores_[s]->from_neutral) line(0, "}");
    }
  }

  std::string value_of(const Store& store) const {
    return "(" + total_type(store) + ")v" + std::to_string(store.node);
  }

  void print_inner(int level) {
    print_nodes(level, level + 1);
    if (level == static_cast<int>(kernel_.inner.size())) {
      for (size_t s = 0; s < stores_.size(); ++s) {
        const std::string total = "total" + std::to_string(s);
        line(level + 1, total + " = " +
                            values_.combined(stores_[s]->update, dtype_of(*stores_[s]), total,
                                             value_of(*stores_[s])) +
                            ";");
      }
      return;
    }
    const int loop = kernel_.inner[level];
    const std::string l = "l" + std::to_string(loop);
    line(level + 1, "for (tn_i64 " + l + " = 0; " + l + " < " + number({CNumber::kExtent, loop}) +
                        "; ++" + l + ") {");
    print_inner(level + 1);
    line(level + 1, "}");
  }

  void print_store(const Store& store, int depth, std::string v) {
    const Dtype dtype = dtype_of(store);
    const int access = add_access(store.array, true);
    for (const Affine& it : store.indices) kernel_.accesses[access].indices.push_back(&it);
    const std::string to = place(access);
    if (store.update != Update::kAssign && !store.from_neutral)
      v = values_.combined(store.update, dtype,
                           "(" + total_type(store) + ")" + values_.load(dtype, to), v);
    line(depth, to + " = " + values_.to_memory(dtype, v) + ";");
  }

  void print_nodes(int level, int depth) {
    for (size_t i = 0; i < nest_.nodes.size(); ++i)
      if (levels_[i] == level) print_node(static_cast<int>(i), depth);
  }

  void print_node(int i, int depth) {
    const Node& node = nest_.nodes[i];
    values_.require(node.dtype);
    if (node.kind == Kind::kRead) return print_read(i, depth);
    if (node.kind == Kind::kBinary) guard(node, depth);
    set(i, depth, expression(node));
  }

  void set(int i, int depth, const std::string& v) {
    line(depth, "const " + CValues::type(nest_.nodes[i].dtype) + " v" + std::to_string(i) + " = " +
                    v + ";");
  }

  std::string operand(const Node& node, int i) const {
    return "v" + std::to_string(node.operands[i]);
  }

  std::string expression(const Node& node) {
    const Dtype first = node.operands[0] >= 0 ? nest_.nodes[node.operands[0]].dtype : node.dtype;
    switch (node.kind) {
      case Kind::kConstant:
        return values_.constant(node);
      case Kind::kParameter:
        return parameter(node);
      case Kind::kLoop:
        return "l" + std::to_string(node.source);
      case Kind::kSize:
        return number({CNumber::kSize, node.source});
      case Kind::kCast:
        return values_.cast(node.dtype, first, operand(node, 0));
      case Kind::kUnary:
        return values_.unary(node.code, first, operand(node, 0));
      case Kind::kBinary:
        return values_.binary(node.code, first, operand(node, 0), operand(node, 1));
      case Kind::kSelect:
        return operand(node, 0) + " ? " + operand(node, 1) + " : " + operand(node, 2);
      case Kind::kPhilox:
        return values_.functions().use("philox") + "(" + operand(node, 0) + ", " +
               operand(node, 1) + ", " + operand(node, 2) + ")";
      default:
        throw NotPrinted("loop program: a node of no kind");
    }
  }

  std::string parameter(const Node& node) {
    if (node.dtype == Dtype::kInt64) return number({CNumber::kParameter, node.source});
    auto& reals = kernel_.reals;
    const auto at = std::find(reals.begin(), reals.end(), node.source);
    const std::string i = std::to_string(at - reals.begin());
    if (at == reals.end()) reals.push_back(node.source);
    return (dialect_.packed ? "tn_r[" : "tn_r.v[") + i + "]";
  }

  void report(int depth, const std::string& condition, int code, const std::string& index,
              const std::string& limit) {
    kernel_.reports = true;
    line(depth, "if (" + condition + ") " + values_.functions().use("fail") + "(tn_word, " +
                    std::to_string(code) + ", tn_op, " + index + ", " + limit + ");");
  }

  // Errors in the data of integers: reported, and computed as 0 or by the low bits.
  void guard(const Node& node, int depth) {
    const Dtype self = nest_.nodes[node.operands[0]].dtype;
    const std::string a = operand(node, 0), b = operand(node, 1);
    if (CValues::divides(node, self)) report(depth, b + " == 0", TN_ERROR, "(tn_i64)" + a, "-1");
    if (CValues::shifts(node)) {
      const std::string bits = std::to_string(itemsize(self) * 8);
      report(depth, (self == Dtype::kUint8 ? "" : b + " < 0 || ") + b + " >= " + bits,
             TN_ERROR_VALUE, "(tn_i64)" + b, bits);
    }
  }

  void print_read(int i, int depth) {
    const Node& node = nest_.nodes[i];
    const int access = add_access(node.source, false);
    std::string more, inside;
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const Index& it = node.indices[d];
      const bool proven = it.bound == Bound::kProven;
      kernel_.accesses[access].indices.push_back(proven ? &it.affine : nullptr);
      if (proven) continue;
      const int dim = static_cast<int>(d);
      const std::string at = "i" + std::to_string(i) + "_" + std::to_string(d);
      const std::string v = "(tn_i64)v" + std::to_string(it.node);
      const std::string n = number({CNumber::kDimension, node.source, dim});
      if (it.bound == Bound::kClamped) {
        line(depth, "const tn_i64 " + at + " = " + v + " < 0 ? 0 : " + v + " >= " + n + " ? " + n +
                        " - 1 : " + v + ";");
      } else {
        line(depth, "const tn_i64 " + at + " = " + v + ";");
        inside += (inside.empty() ? "" : " && ") + at + " >= 0 && " + at + " < " + n;
        report(depth, at + " < 0 || " + at + " >= " + n, TN_ERROR_INDEX, at, n);
      }
      more += " + " + at + " * " + number({CNumber::kStride, node.source, dim});
    }
    const std::string v = values_.load(node.dtype, place(access, more));
    set(i, depth,
        inside.empty() ? v : inside + " ? " + v + " : (" + CValues::type(node.dtype) + ")0");
  }

  std::string signature() const {
    std::string head;
    if (dialect_.packed) {
      head = dialect_.kernel + " " + kernel_.name +
             "(const tn_i64* tn_n, const double* tn_r, void* const* tn_p, tn_report* tn_word, "
             "int tn_op, tn_i64 tn_first, tn_i64 tn_last) {\n"
             "  (void)tn_n, (void)tn_r, (void)tn_word, (void)tn_op;\n";
      for (size_t k = 0; k < kernel_.pointers.size(); ++k)
        head += "  " + pointer(kernel_.pointers[k]) + " = tn_p[" + std::to_string(k) + "];\n";
      return head;
    }
    const std::string numbers = kernel_.name + "_numbers", reals = kernel_.name + "_reals";
    head = "typedef struct {\n  tn_i64 v[" + std::to_string(kernel_.numbers.size()) + "];\n} " +
           numbers + ";\n";
    if (!kernel_.reals.empty())
      head += "typedef struct {\n  double v[" + std::to_string(kernel_.reals.size()) + "];\n} " +
              reals + ";\n";
    head += dialect_.kernel + " " + kernel_.name + "(const " + numbers + " tn_n";
    if (!kernel_.reals.empty()) head += ", const " + reals + " tn_r";
    for (const CPointer& it : kernel_.pointers) head += ", " + pointer(it);
    if (kernel_.reports) head += ", " + dialect_.global + "tn_report* tn_word, int tn_op";
    return head + ") {\n";
  }

  std::string pointer(const CPointer& it) const {
    return dialect_.global + (it.stored ? "" : "const ") +
           CValues::memory_type(program_.arrays[it.array].dtype) + "* " + dialect_.no_alias + "p" +
           std::to_string(it.array);
  }

  const Program& program_;
  const Nest& nest_;
  const CDialect& dialect_;
  CValues& values_;
  CKernel& kernel_;
  std::vector<const Store*> stores_;
  std::vector<int> levels_;
  std::string text_;
};

class CPrinter {
 public:
  CPrinter(const Program& program, const CDialect& dialect, std::string name)
      : dialect_(dialect), values_(dialect), name_(std::move(name)) {
    auto extended = std::make_shared<Program>(program);
    for (size_t a = 0; a < program.arrays.size(); ++a)
      if (program.arrays[a].role != Role::kInput && !covers_always(program, static_cast<int>(a)))
        add_zeros(*extended, static_cast<int>(a));
    printed_.given = program;
    printed_.program = std::move(extended);
  }

  CProgram print() {
    const std::vector<Nest>& nests = printed_.program->nests;
    const size_t own = nests.size() - cleared_.size();
    for (size_t n = own; n < nests.size(); ++n) print_nest(n, cleared_[n - own]);
    for (size_t n = 0; n < own; ++n) print_nest(n, -1);
    printed_.source = dialect_.prelude +
                      "typedef struct {\n  int code, op;\n  tn_i64 index, limit;\n} tn_report;\n" +
                      values_.functions().text() + text_;
    return std::move(printed_);
  }

 private:
  static bool same(const Affine& a, const Affine& b) {
    return a.constant == b.constant && a.loops == b.loops && a.sizes == b.sizes;
  }

  // starts_covered() whatever the sizes are.
  static bool covers_always(const Program& program, int array) {
    for (const Nest& nest : program.nests) {
      for (const Node& node : nest.nodes)
        if (node.kind == Kind::kRead && node.source == array) return false;
      for (const Store& it : nest.stores)
        if (it.array == array) return covers(program, nest, it);
    }
    return false;
  }

  static bool covers(const Program& program, const Nest& nest, const Store& store) {
    if (store.update != Update::kAssign && !store.from_neutral) return false;
    for (size_t d = 0; d < store.indices.size(); ++d) {
      const Affine& it = store.indices[d];
      if (it.constant != 0 || !it.sizes.empty()) return false;
      const Affine one{1, {}, {}};
      if (!same(it.loops.empty() ? one : nest.loops[it.loops[0].first].extent,
                program.arrays[store.array].shape[d]))
        return false;
    }
    return true;
  }

  void add_zeros(Program& program, int array) {
    const Array& it = program.arrays[array];
    Nest nest;
    Store store;
    for (size_t d = 0; d < it.shape.size(); ++d) {
      nest.loops.push_back({"z" + std::to_string(d), it.shape[d]});
      store.indices.push_back({0, {{static_cast<int>(d), 1}}, {}});
    }
    Node zero;
    zero.dtype = it.dtype;
    nest.nodes.push_back(zero);
    store.array = array;
    store.node = 0;
    nest.stores.push_back(store);
    program.nests.push_back(nest);
    cleared_.push_back(array);
  }

  static std::set<int> loops_of(const Store& store) {
    std::set<int> loops;
    for (const Affine& it : store.indices)
      if (!it.loops.empty()) loops.insert(it.loops[0].first);
    return loops;
  }

  void print_nest(size_t n, int cleared) {
    const Nest& nest = printed_.program->nests[n];
    std::vector<std::pair<std::set<int>, std::vector<const Store*>>> groups;
    for (const Store& it : nest.stores) {
      const std::set<int> loops = loops_of(it);
      const auto at = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == loops; });
      if (at == groups.end())
        groups.push_back({loops, {&it}});
      else
        at->second.push_back(&it);
    }
    for (auto& [loops, stores] : groups) {
      CKernel kernel;
      kernel.name = name_ + "_" + std::to_string(printed_.kernels.size());
      kernel.nest = static_cast<int>(n);
      kernel.cleared = cleared;
      text_ += CKernelPrinter(*printed_.program, nest, dialect_, values_, kernel, stores).print();
      printed_.kernels.push_back(std::move(kernel));
    }
  }

  const CDialect& dialect_;
  CValues values_;
  std::string name_, text_;
  std::vector<int> cleared_;
  CProgram printed_;
};

// Kernels are called NAME_0, NAME_1, ... NotPrinted says what the dialect has no text for.
inline CProgram print_c(const Program& program, const CDialect& dialect,
                        const std::string& name = "loops") {
  return CPrinter(program, dialect, name).print();
}

}  // namespace tenon::sdk::loop_program

#endif
