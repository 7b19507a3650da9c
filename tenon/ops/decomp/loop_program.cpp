// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs by ordinary operators: each node is a tensor of one dimension per loop, of size 1
// where it does not depend on the loop. Reads are strided views, or gathers where an index is a
// value. Serves every device, is what other takers are compared with, and where gradients are
// recorded is what a program's gradient is made of.
#include "tenon/ops/loop_program.h"

#include <algorithm>
#include <limits>
#include <string>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

using namespace sdk::loop_program;
using loop_program::dtype_of;
using sdk::loop_program::Dtype;

// One nest of a call.
class Evaluation {
 public:
  Evaluation(const Program& program, const Binding& binding, std::vector<Tensor>& arrays,
             size_t nest, const TensorOptions& options)
      : program_(program),
        binding_(binding),
        arrays_(arrays),
        nest_(program.nests[nest]),
        extents_(binding.extents[nest]),
        options_(options) {}

  void run() {
    const bool runs = std::find(extents_.begin(), extents_.end(), 0) == extents_.end();
    find_products();
    for (size_t i = 0; runs && i < nest_.nodes.size(); ++i)
      values_.push_back(products_[i] ? Tensor() : node(nest_.nodes[i]));
    for (const Store& it : nest_.stores) {
      bool touches = runs || it.from_neutral;
      for (const Affine& index : it.indices)
        touches = touches && (index.loops.empty() || extents_[index.loops[0].first] > 0);
      if (touches) store(it, runs);
    }
  }

 private:
  // Marks products that a sum alone takes: they are not computed element by element, as a tensor of
  // all loops, but with the sum, as a product of matrices is. Shorter floats round each product.
  void find_products() {
    const size_t n = nest_.nodes.size();
    std::vector<int> uses(n, 0);
    for (const Node& node : nest_.nodes)
      for (const int operand : node.operands)
        if (operand >= 0) ++uses[operand];
    for (const Node& node : nest_.nodes)
      for (const Index& it : node.indices)
        if (it.node >= 0) ++uses[it.node];
    for (const Store& it : nest_.stores) ++uses[it.node];
    products_.assign(n, false);
    for (const Store& it : nest_.stores) {
      const Node& node = nest_.nodes[it.node];
      products_[it.node] = it.update == Update::kSum && uses[it.node] == 1 &&
                           rank() <= kMaxLetters && node.kind == Kind::kBinary &&
                           node.code == TN_BINARY_MUL &&
                           (node.dtype == Dtype::kFloat || node.dtype == Dtype::kDouble);
    }
  }

  // The sum of a marked product over the loops that the store does not name, one dimension per
  // dimension of the array.
  Tensor sum_of_products(const Store& store) const {
    const Node& product = nest_.nodes[store.node];
    Tensor factors[] = {operand(product, 0), operand(product, 1)};
    std::string letters[2], result;
    for (int64_t l = rank(); l-- > 0;) {
      const int64_t n = extents_[l];
      bool has[] = {factors[0].size(l) == n, factors[1].size(l) == n};
      if (!has[0] && !has[1]) {
        std::vector<int64_t> sizes = factors[0].sizes().vec();
        sizes[l] = n;
        factors[0] = factors[0].expand(sizes);
      }
      has[0] = has[0] || !has[1];
      has[1] = has[1] && n > 1;  // where both have one element, it is a dimension of the first
      for (int i = 0; i < 2; ++i) {
        if (has[i])
          letters[i].insert(0, 1, letter(l));
        else
          factors[i] = factors[i].squeeze(l);
      }
    }
    std::vector<int64_t> shape;
    for (const Affine& it : store.indices) {
      shape.push_back(it.loops.empty() ? 1 : extents_[it.loops[0].first]);
      if (!it.loops.empty()) result += letter(it.loops[0].first);
    }
    return tenon::einsum(letters[0] + "," + letters[1] + "->" + result, {factors[0], factors[1]})
        .reshape(shape);
  }
  static constexpr int64_t kMaxLetters = 26;
  static char letter(int64_t loop) { return static_cast<char>('a' + loop); }

  int64_t rank() const { return static_cast<int64_t>(extents_.size()); }
  std::vector<int64_t> ones() const { return std::vector<int64_t>(extents_.size(), 1); }

  Tensor number(const Scalar& value, Dtype dtype) const {
    return full(ones(), value, options_.dtype(dtype_of(dtype)));
  }

  Tensor loop(int which) const {
    std::vector<int64_t> shape = ones();
    shape[which] = extents_[which];
    return arange(extents_[which], options_.dtype(kLong)).view(shape);
  }

  Tensor affine(const Affine& value) const {
    Tensor sum = number(evaluate(value, binding_.sizes), Dtype::kInt64);
    for (const auto& [which, by] : value.loops) sum = sum + loop(which) * by;
    return sum;
  }

  const Tensor& operand(const Node& node, int i) const { return values_[node.operands[i]]; }

  Tensor node(const Node& node) const {
    switch (node.kind) {
      case Kind::kConstant:
        return is_floating(node.dtype) ? number(node.real, node.dtype)
                                       : number(node.integer, node.dtype);
      case Kind::kParameter:
        return node.dtype == Dtype::kInt64 ? number(binding_.whole[node.source], node.dtype)
                                           : number(binding_.real[node.source], node.dtype);
      case Kind::kLoop:
        return loop(node.source);
      case Kind::kSize:
        return number(binding_.sizes[node.source], node.dtype);
      case Kind::kRead:
        return read(node);
      case Kind::kCast:
        return operand(node, 0).to(dtype_of(node.dtype));
      case Kind::kUnary:
        return unary(operand(node, 0), node.code);
      case Kind::kBinary: {
        const std::vector<Tensor> both = broadcast_tensors({operand(node, 0), operand(node, 1)});
        return binary(both[0], both[1], node.code);
      }
      case Kind::kSelect:
        return tenon::where(operand(node, 0), operand(node, 1), operand(node, 2));
      case Kind::kPhilox:
        return philox(operand(node, 0), operand(node, 1), operand(node, 2));
    }
    throw TypeError("_loop_program_: a node of no kind");
  }

  // Primitives have no gradient, the operators that they stand for have.
  Tensor unary(const Tensor& self, int code) const {
    return records_ ? decomp::prim_unary(self, code) : tenon::prim_unary(self, code);
  }
  Tensor binary(const Tensor& self, const Tensor& other, int code) const {
    return records_ ? decomp::prim_binary(self, other, code)
                    : tenon::prim_binary(self, other, code);
  }
  Tensor reduce_by(Tensor value, const std::vector<int64_t>& dims, int code) const {
    if (!records_) return reduced(value, dims, true, code);
    for (const int64_t d : dims) value = decomp::prim_reduce(value, d, code);
    return value;
  }

  Tensor read(const Node& node) const {
    for (const Index& it : node.indices)
      if (it.bound != Bound::kProven) return gather(node);
    return view(node);
  }

  // Steps against the memory's order become a flipped view.
  Tensor view(const Node& node) const {
    const Tensor& array = arrays_[node.source];
    int64_t offset = array.storage_offset();
    std::vector<int64_t> strides(extents_.size(), 0);
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const Affine& it = node.indices[d].affine;
      const int64_t stride = array.stride(static_cast<int64_t>(d));
      offset += evaluate(it, binding_.sizes) * stride;
      for (const auto& [which, by] : it.loops) strides[which] += by * stride;
    }
    std::vector<int64_t> sizes = ones(), flipped;
    for (size_t l = 0; l < strides.size(); ++l) {
      if (strides[l] != 0) sizes[l] = extents_[l];
      if (strides[l] >= 0) continue;
      offset += strides[l] * (extents_[l] - 1);
      strides[l] = -strides[l];
      flipped.push_back(static_cast<int64_t>(l));
    }
    const Tensor t = array.as_strided(sizes, strides, offset);
    return flipped.empty() ? t : t.flip(flipped);
  }

  Tensor gather(const Node& node) const {
    const Tensor array = arrays_[node.source].contiguous();
    Tensor flat = number(int64_t{0}, Dtype::kInt64);
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const Index& it = node.indices[d];
      const int64_t size = array.size(static_cast<int64_t>(d));
      Tensor index = it.bound == Bound::kProven ? affine(it.affine) : values_[it.node].to(kLong);
      if (it.bound == Bound::kClamped) index = index.clamp(0, size - 1);
      if (it.bound == Bound::kChecked) check_index(index, node, d, size);
      flat = flat + index * array.stride(static_cast<int64_t>(d));
    }
    return array.reshape({-1}).index_select(0, flat.reshape({-1})).view(flat.sizes());
  }

  void check_index(const Tensor& index, const Node& node, size_t d, int64_t size) const {
    const int64_t low = index.min().item<int64_t>(), high = index.max().item<int64_t>();
    TENON_CHECK(low >= 0 && high < size, IndexError, "_loop_program_: index ", d, " of ",
                program_.arrays[node.source].name, " is ", low < 0 ? low : high,
                ", its dimension has ", size, " elements");
  }

  // Word `word` of the stream: lane word % 4 of Philox 4x32-10 at counter offset + word / 4, in
  // int64, whose products wrap to the bits that are wanted.
  static Tensor philox(const Tensor& seed, const Tensor& offset, const Tensor& word) {
    constexpr int64_t mask = 0xffffffff;
    const auto low = [](const Tensor& t) { return t.bitwise_and(mask); };
    const auto high = [](const Tensor& t) { return t.bitwise_right_shift(32).bitwise_and(mask); };
    const Tensor counter = offset + word.bitwise_right_shift(2);
    Tensor c[4] = {low(counter), high(counter), zeros_like(counter), zeros_like(counter)};
    Tensor k0 = low(seed), k1 = high(seed);
    for (int round = 0; round < 10; ++round) {
      const Tensor p0 = c[0] * int64_t{0xD2511F53}, p1 = c[2] * int64_t{0xCD9E8D57};
      const Tensor a = high(p1).bitwise_xor(c[1]).bitwise_xor(k0);
      const Tensor b = high(p0).bitwise_xor(c[3]).bitwise_xor(k1);
      c[0] = a;
      c[1] = low(p1);
      c[2] = b;
      c[3] = low(p0);
      k0 = low(k0 + int64_t{0x9E3779B9});
      k1 = low(k1 + int64_t{0xBB67AE85});
    }
    const Tensor lane = word.bitwise_and(3);
    Tensor value = c[0];
    for (int i = 1; i < 4; ++i) value = tenon::where(lane.eq(i), c[i], value);
    return tenon::where(value.ge(int64_t{1} << 31), value - (int64_t{1} << 32), value).to(kInt);
  }

  // The elements of an array that a store names, one dimension per dimension of the array.
  Tensor target(const Store& store) const {
    Tensor t = arrays_[store.array];
    for (size_t d = 0; d < store.indices.size(); ++d) {
      const Affine& it = store.indices[d];
      const int64_t n = it.loops.empty() ? 1 : extents_[it.loops[0].first];
      t = t.narrow(static_cast<int64_t>(d), evaluate(it, binding_.sizes), n);
    }
    return t;
  }

  void store(const Store& store, bool runs) {
    // What was read of it may be kept for the gradient.
    if (records_) arrays_[store.array] = arrays_[store.array].clone();
    const Tensor to = target(store);
    if (!runs) {
      to.fill_(neutral(store.update, program_.arrays[store.array].dtype));
      return;
    }
    if (store.update == Update::kAssign) {
      to.copy_(arrange(values_[store.node].expand(extents_), store));
      return;
    }
    Tensor reduced = products_[store.node] ? sum_of_products(store) : reduced_value(store);
    if (!store.from_neutral) {
      constexpr int codes[] = {0, TN_BINARY_ADD, TN_BINARY_MUL, TN_BINARY_MAX, TN_BINARY_MIN};
      reduced =
          binary(to.to(reduced.scalar_type()), reduced, codes[static_cast<int>(store.update)]);
    }
    to.copy_(reduced);
  }

  Tensor reduced_value(const Store& store) const {
    const Tensor& value = values_[store.node];
    const Tensor wide_value = is_short_float(value.scalar_type()) ? value.to(kFloat) : value;
    return arrange(reduce(wide_value.expand(extents_), store), store);
  }

  // Over the loops that the store does not name; they keep size 1.
  Tensor reduce(Tensor value, const Store& store) const {
    std::vector<bool> named(extents_.size(), false);
    for (const Affine& it : store.indices)
      if (!it.loops.empty()) named[it.loops[0].first] = true;
    std::vector<int64_t> dims;
    for (int64_t l = 0; l < rank(); ++l)
      if (!named[l]) dims.push_back(l);
    constexpr int codes[] = {0, TN_REDUCE_SUM, TN_REDUCE_PROD, TN_REDUCE_MAX, TN_REDUCE_MIN};
    constexpr int of_bool[] = {0, TN_REDUCE_ANY, TN_REDUCE_ALL, TN_REDUCE_ANY, TN_REDUCE_ALL};
    const bool is_bool = value.scalar_type() == kBool;
    return dims.empty() ? value
                        : reduce_by(value, dims,
                                    (is_bool ? of_bool : codes)[static_cast<int>(store.update)]);
  }

  // From one dimension per loop to one per dimension of the array.
  static Tensor arrange(const Tensor& value, const Store& store) {
    std::vector<int64_t> order, shape;
    for (const Affine& it : store.indices) {
      if (!it.loops.empty()) order.push_back(it.loops[0].first);
      shape.push_back(it.loops.empty() ? 1 : value.size(it.loops[0].first));
    }
    for (int64_t l = 0; l < value.dim(); ++l)
      if (std::find(order.begin(), order.end(), l) == order.end()) order.push_back(l);
    return value.permute(order).reshape(shape);
  }

  static Scalar neutral(Update update, Dtype dtype) {
    const ScalarType t = dtype_of(dtype);
    const bool floating = is_floating(dtype);
    const double infinity = std::numeric_limits<double>::infinity();
    switch (update) {
      case Update::kProd:
        return 1;
      case Update::kMax:
        return floating ? Scalar(-infinity) : t == kBool ? Scalar(false) : lowest(t);
      case Update::kMin:
        return floating ? Scalar(infinity) : t == kBool ? Scalar(true) : highest(t);
      default:
        return 0;
    }
  }

  const Program& program_;
  const Binding& binding_;
  std::vector<Tensor>& arrays_;
  const Nest& nest_;
  const Shape& extents_;
  TensorOptions options_;
  const bool records_ = GradMode::is_enabled();
  std::vector<bool> products_;  // by node
  std::vector<Tensor> values_;
};

std::vector<Tensor> evaluate(const std::shared_ptr<const Program>& program, const Binding& binding,
                             TensorList inputs, const TensorOptions& options) {
  std::vector<Tensor> arrays(program->arrays.size());
  size_t next[] = {0, 0, 0};
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = program->arrays[i];
    const size_t k = next[static_cast<int>(array.role)]++;
    if (array.role == Role::kInput) {
      arrays[i] = inputs[k];
    } else {
      arrays[i] = zeros(binding.shapes[i], options.dtype(dtype_of(array.dtype)));
    }
  }
  for (size_t n = 0; n < program->nests.size(); ++n)
    Evaluation(*program, binding, arrays, n, options).run();
  std::vector<Tensor> results;
  for (const int k : arrays_of(*program, Role::kOutput)) results.push_back(arrays[k]);
  return results;
}

// What bind() returns; its error as one of an operator.
template <class F>
Binding bound(F&& bind) {
  try {
    return bind();
  } catch (const sdk::loop_program::Error& e) {
    throw ValueError(e.what());
  }
}

}  // namespace

void _loop_program_(TensorList outputs, TensorList inputs, std::string_view text,
                    IntArrayRef numbers, ArrayRef<double> reals) {
  const std::shared_ptr<const Program> program = loop_program::read(text);
  const Binding binding = bound([&] {
    return bind_call(*program, loop_program::given(outputs), loop_program::given(inputs),
                     {numbers.begin(), numbers.end()}, {reals.begin(), reals.end()});
  });
  const std::vector<Tensor> results = evaluate(program, binding, inputs, options_of(outputs[0]));
  for (size_t k = 0; k < results.size(); ++k) outputs[k].copy_(results[k]);
}

}  // namespace tenon::decomp

namespace tenon::loop_program {

std::vector<Tensor> by_operators(TensorList inputs, std::string_view text, IntArrayRef numbers,
                                 ArrayRef<double> reals) {
  const std::shared_ptr<const lp::Program> program = read(text);
  const lp::Binding binding = decomp::bound([&] {
    return lp::bind_inputs(*program, given(inputs), {numbers.begin(), numbers.end()},
                           {reals.begin(), reals.end()});
  });
  return decomp::evaluate(program, binding, inputs, decomp::options_of(inputs[0]));
}

}  // namespace tenon::loop_program
