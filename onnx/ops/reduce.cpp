// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions. Axes are an attribute in old versions and an input in new ones.
#include <deque>

#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _abs(x: Tensor) -> Tensor:
  return torch.abs(x)
def _square(x: Tensor) -> Tensor:
  return x * x
def _log(x: Tensor) -> Tensor:
  return torch.log(x)
def _all_axes(x: Tensor, axes: Optional[List[int]]) -> List[int]:
  if axes is not None and len(axes) > 0:
    return axes
  return [i for i in range(x.dim())]
def _reduce_sum(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  return torch.sum(x, axes, keep, dtype=x.dtype)
def _reduce_mean(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  if x.is_floating_point():
    return torch.mean(x, axes, keep)
  n = torch.ones_like(x).sum(axes, keep)
  return torch.div(torch.sum(x, axes, keep, dtype=x.dtype), n, rounding_mode="trunc").to(x.dtype)
def _reduce_max(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  if x.numel() == 0:
    return _lowest(torch.sum(x, axes, keep).to(x.dtype))
  return torch.amax(x.to(torch.uint8), axes, keep).to(torch.bool) if x.dtype == torch.bool else torch.amax(x, axes, keep)
def _reduce_min(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  if x.numel() == 0:
    return _highest(torch.sum(x, axes, keep).to(x.dtype))
  return torch.amin(x.to(torch.uint8), axes, keep).to(torch.bool) if x.dtype == torch.bool else torch.amin(x, axes, keep)
def _lowest(like: Tensor) -> Tensor:
  if like.is_floating_point():
    return torch.full_like(like, -float("inf"))
  if like.dtype == torch.int64:
    return torch.full_like(like, -9223372036854775807 - 1)
  return torch.full_like(like, -2147483648 if like.dtype == torch.int32 else 0)
def _highest(like: Tensor) -> Tensor:
  if like.is_floating_point():
    return torch.full_like(like, float("inf"))
  if like.dtype == torch.int64:
    return torch.full_like(like, 9223372036854775807)
  if like.dtype == torch.bool:
    return torch.full_like(like, 1)
  return torch.full_like(like, 2147483647 if like.dtype == torch.int32 else 127)
def _reduce_prod(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  at = [a + x.dim() if a < 0 else a for a in axes]
  at.sort()
  for i in range(len(at)):
    x = torch.prod(x, at[len(at) - 1 - i], keep, dtype=x.dtype)
  return x
def _reduce_l1(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  return _reduce_sum(torch.abs(x), axes, keep)
def _reduce_square(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  return _reduce_sum(x * x, axes, keep)
def _reduce_l2(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  if x.is_floating_point():
    if len(axes) > 0:
      return torch.linalg_vector_norm(x, 2, axes, keep)  # whose gradient at 0 is 0
    return torch.sqrt(_reduce_sum(x * x, axes, keep))
  return torch.sqrt(_reduce_sum(x * x, axes, keep).to(torch.float64)).to(x.dtype)
def _reduce_log_sum(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  return torch.log(_reduce_sum(x, axes, keep)).to(x.dtype)
def _reduce_log_sum_exp(x: Tensor, axes: List[int], keep: bool) -> Tensor:
  if len(axes) == 0:
    return x
  return torch.logsumexp(x, axes, keep).to(x.dtype)
def _arg(x: Tensor, axis: int, keepdims: int, last: int, largest: bool) -> Tensor:
  y = x.flip([axis]) if last == 1 else x
  at = torch.argmax(y, axis, keepdims == 1) if largest else torch.argmin(y, axis, keepdims == 1)
  return x.size(axis) - 1 - at if last == 1 else at
def ArgMax(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
  return _arg(x, axis, keepdims, select_last_index, True)
def ArgMin(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
  return _arg(x, axis, keepdims, select_last_index, False)
def ReduceProd__1(x: List[int], axes: Optional[List[int]], *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> int:
  n = 1
  for i in x:
    n *= i
  return n
)py");

struct Reduction {
  const char *name, *function;
  const char* of_each;  // what it is over no axes; null: the input
};
constexpr Reduction kReductions[] = {{"ReduceSum", "_reduce_sum", nullptr},
                                     {"ReduceMean", "_reduce_mean", nullptr},
                                     {"ReduceMax", "_reduce_max", nullptr},
                                     {"ReduceMin", "_reduce_min", nullptr},
                                     {"ReduceProd", "_reduce_prod", nullptr},
                                     {"ReduceL1", "_reduce_l1", "_abs"},
                                     {"ReduceL2", "_reduce_l2", "_abs"},
                                     {"ReduceSumSquare", "_reduce_square", "_square"},
                                     {"ReduceLogSum", "_reduce_log_sum", "_log"},
                                     {"ReduceLogSumExp", "_reduce_log_sum_exp", nullptr}};

const Reduction& reduction_of(const Call& c) {
  for (const Reduction& r : kReductions)
    if (c.node.op_type() == r.name) return r;
  throw Error("no reduction");
}

// noop_with_empty_axes: without axes the elementwise part of the operator alone. Whether there are
// any may be known only when it runs.
std::vector<ItemPtr> reduce_or_each(Builder& b, Call& c, const Reduction& r, Value* keep) {
  Value* x = b.tensor(c.input(0));
  const auto each = [&] { return r.of_each ? b.call_text(r.of_each, {x}).at(0) : x; };
  const ItemPtr in = c.optional_input(1);
  if (!in || b.constant_ints(in)) return {Builder::item(each(), c.input(0)->dtype)};
  Value* axes = b.int_list(in);
  Value* any = b.emit1("aten::gt.int", {b.emit1("aten::len.t", {axes}), b.constant(int64_t{0})});
  jit::Node* n = b.insert("prim::If", {any}, {});
  for (const bool some : {true, false}) {
    jit::Block* block = n->add_block();
    Graph::InsertPoint at(b.graph(), block);
    block->register_output(some ? b.call_text(r.function, {x, axes, keep}).at(0) : each());
  }
  return {Builder::item(n->add_output(jit::Type::tensor()), c.input(0)->dtype)};
}

std::vector<ItemPtr> translate_reduce(Builder& b, Call& c) {
  const Reduction& r = reduction_of(c);
  for (const auto& [name, a] : c.attributes)
    TENON_CHECK(name == "keepdims" || name == "axes" || name == "noop_with_empty_axes",
                NotImplementedError, "attribute '", name, "' is not known");
  if (c.input(0)->ints && c.integer("keepdims", 1) == 0 && c.node.op_type() == "ReduceProd")
    return b.call_function(c, "ReduceProd", Gives::Same);
  Value* x = b.tensor(c.input(0));
  Value* keep = b.constant(c.integer("keepdims", 1) != 0);
  const std::vector<int64_t> attribute = c.integers("axes");
  const ItemPtr in = c.optional_input(1);
  const auto known = b.constant_ints(in);
  Value* axes;
  if (!attribute.empty()) {
    axes = b.constant(attribute);
  } else if (known && !known->empty()) {
    axes = b.constant(*known);
  } else if (c.integer("noop_with_empty_axes", 0) != 0) {
    return reduce_or_each(b, c, r, keep);
  } else {
    Value* given = in ? b.int_list(in) : b.constant(IValue());
    axes = b.call_text("_all_axes", {x, given}).at(0);
  }
  return {Builder::item(b.call_text(r.function, {x, axes, keep}).at(0), c.input(0)->dtype)};
}

constexpr Gives kSame = Gives::Same;
const std::vector<Entry>& reductions() {
  static const auto& all = *[] {
    auto* v = new std::vector<Entry>;
    for (const Reduction& r : kReductions)
      v->push_back({r.name, 1, 0, kSame, nullptr, translate_reduce});
    v->push_back({"ArgMax", 1, 0, Gives::Long});
    v->push_back({"ArgMin", 1, 0, Gives::Long});
    return v;
  }();
  return all;
}
const Entries kRegistered("", reductions().data(), reductions().size());

}  // namespace
}  // namespace tenon::onnx
