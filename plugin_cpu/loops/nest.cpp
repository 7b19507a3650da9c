// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/loops/nest.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "plugin_cpu/loops/values.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cpu::loop_program {
namespace {

using lp::Dtype;
using lp::Kind;

constexpr int64_t kBlock = 1024;     // elements
constexpr int64_t kGrain = 1 << 15;  // points of a task of the thread pool
// Bytes of a block of any dtype, and some more: blocks a multiple of 4096 bytes apart would share
// the sets of the first cache.
constexpr int64_t kRegister = kBlock * 8 + 192;

pw::Kind kind_of(Dtype dtype) {
  constexpr pw::Kind table[] = {pw::kKindBool, pw::kKindU8,  pw::kKindI8,  pw::kKindI16,
                                pw::kKindI32,  pw::kKindI64, pw::kKindF32, pw::kKindF32,
                                pw::kKindF32,  pw::kKindF64};
  return table[static_cast<int>(dtype)];
}

std::vector<bool> named_loops(const lp::Nest& nest, const lp::Store& store) {
  std::vector<bool> named(nest.loops.size(), false);
  for (const lp::Affine& it : store.indices)
    if (!it.loops.empty()) named[it.loops[0].first] = true;
  return named;
}

// Where an access begins, in bytes from the array's data, and its step for each loop.
struct Access {
  int64_t start = 0;
  std::vector<int64_t> steps;
};

// A nest as it runs: loops in the order of memory, those of extent 1 aside, neighbors joined where
// every access allows it.
struct Plan {
  const lp::Nest* nest;
  std::vector<int64_t> extents;
  std::vector<bool> named;    // false: reduced
  std::vector<Access> reads;  // by node
  std::vector<Access> stores;
  std::vector<pw::LoopFn> loops;  // by node: of operations
  std::vector<int> registers;     // by node: which one holds its values
  int n_registers = 0;
  bool is_reduction = false;
};

bool is_constant(const lp::Node& node) {
  return node.kind == Kind::kConstant || node.kind == Kind::kParameter || node.kind == Kind::kSize;
}
bool is_operation(const lp::Node& node) {
  return node.kind == Kind::kUnary || node.kind == Kind::kBinary || node.kind == Kind::kSelect;
}
// Of the operands; a condition is of bool.
pw::Kind operand_kind(const lp::Nest& nest, const lp::Node& node) {
  const int operand = node.operands[node.kind == Kind::kSelect ? 1 : 0];
  return kind_of(nest.nodes[static_cast<std::size_t>(operand)].dtype);
}

// Registers by last use, so that a long chain stays in the first cache. A node never shares the
// register of its operands; constants keep theirs.
class Registers {
 public:
  explicit Registers(const lp::Nest& nest) : nest_(nest), last_(nest.nodes.size(), 0) {
    for (std::size_t i = 0; i < nest.nodes.size(); ++i)
      each_operand(nest.nodes[i], [&](std::size_t o) { last_[o] = i; });
    for (const lp::Store& it : nest.stores)
      last_[static_cast<std::size_t>(it.node)] = nest.nodes.size();
  }

  void assign(Plan& plan) {
    for (std::size_t i = 0; i < nest_.nodes.size(); ++i) {
      const bool reuses = !is_constant(nest_.nodes[i]) && !free_.empty();
      plan.registers.push_back(reuses ? free_.back() : plan.n_registers++);
      if (reuses) free_.pop_back();
      each_operand(nest_.nodes[i], [&](std::size_t o) {
        if (last_[o] != i || is_constant(nest_.nodes[o])) return;
        free_.push_back(plan.registers[o]);
        last_[o] = nest_.nodes.size() + 1;  // it may be an operand twice
      });
    }
  }

 private:
  template <class F>
  static void each_operand(const lp::Node& node, F f) {
    for (const int o : node.operands)
      if (o >= 0) f(static_cast<std::size_t>(o));
    for (const lp::Index& it : node.indices)
      if (it.bound != lp::Bound::kProven) f(static_cast<std::size_t>(it.node));
  }

  const lp::Nest& nest_;
  std::vector<std::size_t> last_;
  std::vector<int> free_;
};

class Planner {
 public:
  Planner(const lp::Program& program, const lp::Binding& binding, std::size_t nest,
          const std::vector<Memory>& arrays)
      : program_(program), binding_(binding), arrays_(arrays), nest_(program.nests[nest]) {
    plan_.nest = &nest_;
    plan_.extents = binding.extents[nest];
    plan_.named = named_loops(nest_, nest_.stores[0]);
    for (const lp::Node& it : nest_.nodes) plan_.reads.push_back(read_access(it));
    for (const lp::Store& it : nest_.stores) plan_.stores.push_back(access(it.array, it.indices));
    for (const lp::Store& it : nest_.stores)
      plan_.is_reduction = plan_.is_reduction || it.update != lp::Update::kAssign;
  }

  Plan plan() {
    for (const lp::Node& it : nest_.nodes)
      plan_.loops.push_back(is_operation(it) ? loop_of(it, operand_kind(nest_, it)) : nullptr);
    Registers(nest_).assign(plan_);
    if (may_join()) {
      order_loops();
      join_loops();
    }
    if (plan_.extents.empty()) {  // a run of one element
      plan_.extents.push_back(1);
      plan_.named.push_back(true);
      for (Access& it : plan_.reads) it.steps.push_back(0);
      for (Access& it : plan_.stores) it.steps.push_back(0);
    }
    return std::move(plan_);
  }

 private:
  Access access(int array, const std::vector<lp::Affine>& indices) const {
    Access a;
    a.steps.assign(plan_.extents.size(), 0);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const int64_t stride = arrays_[array].strides[d];
      a.start += evaluate(indices[d], binding_.sizes) * stride;
      for (const auto& [loop, by] : indices[d].loops) a.steps[loop] += by * stride;
    }
    return a;
  }

  // Of a gather: the part of its affine indices.
  Access read_access(const lp::Node& node) const {
    std::vector<lp::Affine> indices;
    for (const lp::Index& it : node.indices) indices.push_back(it.affine);
    if (node.kind != Kind::kRead) return access(0, {});
    return access(node.source, indices);
  }

  // The values of loops would change.
  bool may_join() const {
    for (const lp::Node& it : nest_.nodes)
      if (it.kind == Kind::kLoop) return false;
    return true;
  }

  // Those that the first store names: large steps outside. Reductions keep their order.
  void order_loops() {
    if (plan_.is_reduction) return;
    const std::vector<int64_t>& steps = plan_.stores[0].steps;
    std::vector<std::size_t> order(steps.size());
    for (std::size_t l = 0; l < order.size(); ++l) order[l] = l;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(steps[a]) > std::abs(steps[b]);
    });
    const auto permute = [&](std::vector<int64_t>& list) {
      const std::vector<int64_t> old = list;
      for (std::size_t l = 0; l < order.size(); ++l) list[l] = old[order[l]];
    };
    permute(plan_.extents);
    for (Access& it : plan_.reads) permute(it.steps);
    for (std::size_t s = plan_.stores.size(); s-- > 0;) permute(plan_.stores[s].steps);
  }

  void join_loops() {
    for (std::size_t l = plan_.extents.size(); l-- > 0;) {
      if (plan_.extents[l] == 1 && plan_.extents.size() > 1) {
        erase(l);
      } else if (l + 1 < plan_.extents.size() && fits(l)) {
        plan_.extents[l + 1] *= plan_.extents[l];
        erase(l);
      }
    }
  }

  bool fits(std::size_t l) const {
    if (plan_.named[l] != plan_.named[l + 1]) return false;
    const auto fits_one = [&](const Access& it) {
      return it.steps[l] == it.steps[l + 1] * plan_.extents[l + 1];
    };
    return std::all_of(plan_.reads.begin(), plan_.reads.end(), fits_one) &&
           std::all_of(plan_.stores.begin(), plan_.stores.end(), fits_one);
  }

  void erase(std::size_t l) {
    const auto at = static_cast<std::ptrdiff_t>(l);
    plan_.extents.erase(plan_.extents.begin() + at);
    plan_.named.erase(plan_.named.begin() + at);
    for (Access& it : plan_.reads) it.steps.erase(it.steps.begin() + at);
    for (Access& it : plan_.stores) it.steps.erase(it.steps.begin() + at);
  }

  const lp::Program& program_;
  const lp::Binding& binding_;
  const std::vector<Memory>& arrays_;
  const lp::Nest& nest_;
  Plan plan_;
};

// What one task works with.
class Worker {
 public:
  Worker(const lp::Program& program, const lp::Binding& binding, const std::vector<Memory>& arrays,
         const Plan& plan)
      : program_(program),
        binding_(binding),
        arrays_(arrays),
        plan_(plan),
        nodes_(plan.nest->nodes),
        room_(
            new char[(static_cast<std::size_t>(plan.n_registers) + plan.stores.size()) * kRegister +
                     64]),
        values_(nodes_.size()),
        point_(plan.extents.size(), 0) {
    char* at = room_.get() + (64 - reinterpret_cast<uintptr_t>(room_.get()) % 64) % 64;
    for (const int it : plan.registers) registers_.push_back(at + it * kRegister);
    for (std::size_t i = 0; i < plan.stores.size(); ++i)
      sums_.push_back(at + (static_cast<std::size_t>(plan.n_registers) + i) * kRegister);
    for (std::size_t i = 0; i < nodes_.size(); ++i) fill_constant(i);
  }

  std::vector<int64_t>& point() { return point_; }

  // n elements of the innermost loop from point() on.
  void assign_block(int64_t n) {
    compute(n, true);
    for (std::size_t s = 0; s < plan_.stores.size(); ++s) {
      const lp::Store& store = plan_.nest->stores[s];
      char* to = store_address(s);
      const char* from = values_[store.node];
      if (from == to) continue;
      const int64_t item = lp::itemsize(nodes_[store.node].dtype),
                    step = plan_.stores[s].steps.back();
      move(from, item, to, step, item, n);
    }
  }

  // All points of the reduced loops, for one point of the named ones or, with the innermost loop
  // named, for n of them.
  void reduce_block(int64_t n) {
    const bool across = plan_.named.back();
    begin_sums(across ? n : 1);
    std::vector<std::size_t> loops;
    for (std::size_t l = 0; l + 1 < plan_.extents.size(); ++l)
      if (!plan_.named[l]) loops.push_back(l);
    bool empty = !across && plan_.extents.back() == 0;
    for (const std::size_t l : loops) empty = empty || plan_.extents[l] == 0;
    while (!empty) {
      if (across) {
        compute(n, false);
        add_elements(n);
      } else {
        for (int64_t i = 0; i < plan_.extents.back(); i += kBlock) {
          point_.back() = i;
          const int64_t m = std::min(kBlock, plan_.extents.back() - i);
          compute(m, false);
          add_run(m);
        }
        point_.back() = 0;
      }
      std::size_t k = loops.size();
      while (k > 0 && ++point_[loops[k - 1]] == plan_.extents[loops[k - 1]]) point_[loops[--k]] = 0;
      if (k == 0) break;
    }
    end_sums(across ? n : 1);
  }

 private:
  const char* constant_value(const lp::Node& node, double& real, int64_t& whole) const {
    switch (node.kind) {
      case Kind::kConstant:
        real = node.real;
        whole = node.integer;
        return "constant";
      case Kind::kParameter:
        real = binding_.real[node.source];
        whole = binding_.whole[node.source];
        return "parameter";
      case Kind::kSize:
        whole = binding_.sizes[node.source];
        return "size";
      default:
        return nullptr;
    }
  }

  void fill_constant(std::size_t i) {
    double real = 0;
    int64_t whole = 0;
    const lp::Node& node = nodes_[i];
    if (constant_value(node, real, whole) == nullptr) return;
    with_type(node.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T value = std::is_floating_point_v<T> ? static_cast<T>(real) : static_cast<T>(whole);
      std::fill_n(reinterpret_cast<T*>(registers_[i]), kBlock, value);
    });
    values_[i] = registers_[i];
  }

  int64_t offset(const Access& it) const {
    int64_t sum = it.start;
    for (std::size_t l = 0; l < point_.size(); ++l) sum += it.steps[l] * point_[l];
    return sum;
  }

  char* store_address(std::size_t s) const {
    return arrays_[plan_.nest->stores[s].array].data + offset(plan_.stores[s]);
  }

  template <class T>
  static void move_typed(const char* from, int64_t step, char* to, int64_t to_step, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * step, sizeof(T));
  }

  static void move(const char* from, int64_t step, char* to, int64_t to_step, int64_t item,
                   int64_t n) {
    if (step == item && to_step == item) {
      std::memcpy(to, from, static_cast<std::size_t>(n * item));
    } else if (item == 1) {
      move_typed<char>(from, step, to, to_step, n);
    } else if (item == 2) {
      move_typed<int16_t>(from, step, to, to_step, n);
    } else if (item == 4) {
      move_typed<int32_t>(from, step, to, to_step, n);
    } else {
      move_typed<int64_t>(from, step, to, to_step, n);
    }
  }

  // Values of all nodes for n elements. `direct`: a node that is stored without gaps is computed
  // where it belongs.
  void compute(int64_t n, bool direct) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const lp::Node& node = nodes_[i];
      switch (node.kind) {
        case Kind::kRead:
          read(i, n);
          break;
        case Kind::kLoop:
          count(i, n);
          break;
        case Kind::kCast:
          cast(i, place(i, direct), n);
          break;
        case Kind::kUnary:
        case Kind::kBinary:
        case Kind::kSelect:
          apply(i, place(i, direct), n);
          break;
        default:
          break;  // constants are there
      }
    }
  }

  char* place(std::size_t i, bool direct) {
    char* at = registers_[i];
    for (std::size_t s = 0; direct && s < plan_.stores.size(); ++s) {
      const bool whole = plan_.stores[s].steps.back() == lp::itemsize(nodes_[i].dtype);
      if (plan_.nest->stores[s].node == static_cast<int>(i) && whole) at = store_address(s);
    }
    values_[i] = at;
    return at;
  }

  void read(std::size_t i, int64_t n) {
    const lp::Node& node = nodes_[i];
    for (const lp::Index& it : node.indices)
      if (it.bound != lp::Bound::kProven) return gather(i, n);
    const char* from = arrays_[node.source].data + offset(plan_.reads[i]);
    const int64_t item = lp::itemsize(node.dtype), step = plan_.reads[i].steps.back();
    if (step == item) {
      values_[i] = from;
      return;
    }
    move(from, step, registers_[i], item, item, n);
    values_[i] = registers_[i];
  }

  int64_t index_value(const lp::Index& index, const lp::Node& node, std::size_t d,
                      int64_t i) const {
    int64_t value = 0;
    with_type(nodes_[index.node].dtype, [&](auto tag) {
      value = static_cast<int64_t>(reinterpret_cast<const decltype(tag)*>(values_[index.node])[i]);
    });
    const int64_t size = binding_.shapes[node.source][d];
    if (index.bound == lp::Bound::kClamped) return std::clamp<int64_t>(value, 0, size - 1);
    if (value < 0 || value >= size)
      throw sdk::Error(TN_ERROR_INDEX, "_loop_program_: index ", static_cast<int64_t>(d), " of ",
                       program_.arrays[node.source].name, " is ", value, ", its dimension has ",
                       size, " elements");
    return value;
  }

  void gather(std::size_t i, int64_t n) {
    const lp::Node& node = nodes_[i];
    const Memory& array = arrays_[node.source];
    const int64_t start = offset(plan_.reads[i]), step = plan_.reads[i].steps.back();
    const int64_t item = lp::itemsize(node.dtype);
    for (int64_t k = 0; k < n; ++k) {
      int64_t at = start + k * step;
      for (std::size_t d = 0; d < node.indices.size(); ++d)
        if (node.indices[d].bound != lp::Bound::kProven)
          at += index_value(node.indices[d], node, d, k) * array.strides[d];
      move(array.data + at, item, registers_[i] + k * item, item, item, 1);
    }
    values_[i] = registers_[i];
  }

  void count(std::size_t i, int64_t n) {
    const auto loop = static_cast<std::size_t>(nodes_[i].source);
    int64_t* to = reinterpret_cast<int64_t*>(registers_[i]);
    const int64_t by = loop + 1 == point_.size() ? 1 : 0;
    for (int64_t k = 0; k < n; ++k) to[k] = point_[loop] + k * by;
    values_[i] = registers_[i];
  }

  void cast(std::size_t i, char* to, int64_t n) {
    const lp::Node& node = nodes_[i];
    const char* from = values_[node.operands[0]];
    with_type(node.dtype, [&](auto t) {
      with_type(nodes_[node.operands[0]].dtype, [&](auto f) {
        const auto* x = reinterpret_cast<const decltype(f)*>(from);
        auto* y = reinterpret_cast<decltype(t)*>(to);
        for (int64_t k = 0; k < n; ++k) y[k] = static_cast<decltype(t)>(x[k]);
      });
    });
  }

  void apply(std::size_t i, char* to, int64_t n) {
    const lp::Node& node = nodes_[i];
    const char* in[3] = {};
    for (int k = 0; k < 3; ++k)
      if (node.operands[k] >= 0) in[k] = values_[node.operands[k]];
    plan_.loops[i](to, in, alpha(operand_kind(*plan_.nest, node)), n);
  }

  // The operators add and sub have a factor of the second operand.
  static const char* alpha(pw::Kind kind) {
    static constexpr float f = 1;
    static constexpr double d = 1;
    alignas(8) static constexpr unsigned char one[8] = {1};  // of any integer, low byte first
    const void* p = kind == pw::kKindF32   ? static_cast<const void*>(&f)
                    : kind == pw::kKindF64 ? static_cast<const void*>(&d)
                                           : one;
    return static_cast<const char*>(p);
  }

  void begin_sums(int64_t n) {
    for (std::size_t s = 0; s < plan_.stores.size(); ++s)
      with_type(nodes_[plan_.nest->stores[s].node].dtype, [&](auto tag) {
        using T = decltype(tag);
        std::fill_n(reinterpret_cast<Sum<T>*>(sums_[s]), n,
                    neutral<T>(plan_.nest->stores[s].update));
      });
  }

  template <class T>
  static void add_typed(lp::Update update, Sum<T>* sums, const T* values, int64_t n) {
    if (update == lp::Update::kSum && !std::is_same_v<T, bool>) {
      for (int64_t k = 0; k < n; ++k)
        sums[k] = wrapped_sum(sums[k], static_cast<Sum<T>>(values[k]));
      return;
    }
    for (int64_t k = 0; k < n; ++k)
      sums[k] = combined<T>(update, sums[k], static_cast<Sum<T>>(values[k]));
  }

  void add_elements(int64_t n) {
    for (std::size_t s = 0; s < plan_.stores.size(); ++s) {
      const lp::Store& it = plan_.nest->stores[s];
      with_type(nodes_[it.node].dtype, [&](auto tag) {
        using T = decltype(tag);
        add_typed(it.update, reinterpret_cast<Sum<T>*>(sums_[s]),
                  reinterpret_cast<const T*>(values_[it.node]), n);
      });
    }
  }

  // A run into one element, by lanes that are joined in order.
  void add_run(int64_t n) {
    constexpr int64_t kLanes = 16;
    for (std::size_t s = 0; s < plan_.stores.size(); ++s) {
      const lp::Store& it = plan_.nest->stores[s];
      with_type(nodes_[it.node].dtype, [&](auto tag) {
        using T = decltype(tag);
        const T* values = reinterpret_cast<const T*>(values_[it.node]);
        Sum<T>& sum = *reinterpret_cast<Sum<T>*>(sums_[s]);
        Sum<T> lanes[kLanes];
        std::fill_n(lanes, kLanes, neutral<T>(it.update));
        int64_t k = 0;
        for (; k + kLanes <= n; k += kLanes) add_typed(it.update, lanes, values + k, kLanes);
        add_typed(it.update, lanes, values + k, n - k);
        for (const Sum<T> lane : lanes) sum = combined<T>(it.update, sum, lane);
      });
    }
  }

  void end_sums(int64_t n) {
    for (std::size_t s = 0; s < plan_.stores.size(); ++s) {
      const lp::Store& it = plan_.nest->stores[s];
      char* to = store_address(s);
      const int64_t step = plan_.stores[s].steps.back();
      with_type(nodes_[it.node].dtype, [&](auto tag) {
        using T = decltype(tag);
        const Sum<T>* sums = reinterpret_cast<const Sum<T>*>(sums_[s]);
        for (int64_t k = 0; k < n; ++k) {
          T& element = *reinterpret_cast<T*>(to + k * step);
          element = static_cast<T>(
              it.from_neutral ? sums[k]
                              : combined<T>(it.update, static_cast<Sum<T>>(element), sums[k]));
        }
      });
    }
  }

  const lp::Program& program_;
  const lp::Binding& binding_;
  const std::vector<Memory>& arrays_;
  const Plan& plan_;
  const std::vector<lp::Node>& nodes_;
  std::unique_ptr<char[]> room_;
  std::vector<char*> registers_;
  std::vector<char*> sums_;
  std::vector<const char*> values_;  // by node: of the block
  std::vector<int64_t> point_;
};

}  // namespace

bool takes(const lp::Program& program, const lp::Nest& nest) {
  const std::vector<bool> named = named_loops(nest, nest.stores[0]);
  const bool assigns = nest.stores[0].update == lp::Update::kAssign;
  for (const lp::Store& it : nest.stores)
    if (named_loops(nest, it) != named || (it.update == lp::Update::kAssign) != assigns)
      return false;
  for (const lp::Node& it : nest.nodes) {
    if (it.kind == Kind::kPhilox || it.dtype == Dtype::kHalf || it.dtype == Dtype::kBfloat16)
      return false;
    if (is_operation(it) && loop_of(it, operand_kind(nest, it)) == nullptr) return false;
  }
  return program.arrays.size() < 4096;
}

void run_nest(const lp::Program& program, const lp::Binding& binding, std::size_t nest,
              const std::vector<Memory>& arrays) {
  const Plan plan = Planner(program, binding, nest, arrays).plan();
  const std::size_t last = plan.extents.size() - 1;
  const bool in_runs = plan.named[last];  // tasks cut the innermost loop
  const int64_t inner = in_runs ? plan.extents[last] : 1;
  const int64_t blocks = (inner + kBlock - 1) / kBlock;
  int64_t tasks = blocks, points = in_runs ? std::min(inner, kBlock) : plan.extents[last];
  for (std::size_t l = 0; l < last; ++l) (plan.named[l] ? tasks : points) *= plan.extents[l];
  if (tasks == 0 || (points == 0 && !plan.is_reduction)) return;
  sdk::parallel_for(tasks, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, points)),
                    [&](int64_t begin, int64_t end) {
                      Worker worker(program, binding, arrays, plan);
                      std::vector<int64_t>& point = worker.point();
                      for (int64_t task = begin; task < end; ++task) {
                        int64_t rest = task / blocks;
                        for (std::size_t l = last; l-- > 0;) {
                          point[l] = plan.named[l] ? rest % plan.extents[l] : 0;
                          if (plan.named[l]) rest /= plan.extents[l];
                        }
                        point[last] = in_runs ? task % blocks * kBlock : 0;
                        const int64_t n = std::min(kBlock, inner - point[last]);
                        if (plan.is_reduction)
                          worker.reduce_block(n);
                        else
                          worker.assign_block(n);
                      }
                    });
}

}  // namespace tenon::cpu::loop_program
