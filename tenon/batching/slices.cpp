// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What has no rule is called once for each slice: as many calls as there are slices, and a copy of
// the results. torch does the same.
#include <algorithm>
#include <optional>

#include "tenon/batching/call.h"
#include "tenon/batching/composite.h"
#include "tenon/batching/stack.h"
#include "tenon/call/generated.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::batching {
namespace {

// Argument i of one slice; views, so that an operator may write to them.
void set_slice(Call& call, SameOperator& one, int i, int64_t slice) {
  if (call.is_batched(i)) {
    one.set(i, call.front(i).select(0, slice));
    return;
  }
  if (call.in[i].tag != TN_TAG_TENSOR_LIST) return;
  std::vector<Tensor> list = call.given_list(i);
  for (Tensor& t : list) {
    if (is_batched_at(t, call.level)) t = slices_of(t).select(0, slice);
  }
  one.set(i, list);
}

void set_slices(Call& call, SameOperator& one, int64_t slice) {
  for (int i = 0; i < call.op.n_args; ++i) set_slice(call, one, i, slice);
}

// Result k of each slice, all of one shape; empty where there is none.
std::vector<Tensor> parts_of(const Call& call, const std::vector<Results>& slices, std::size_t k) {
  std::vector<Tensor> parts;
  for (const Results& r : slices) {
    if (!r[k].defined()) continue;
    parts.push_back(r[k]);
    TENON_CHECK(parts.back().sizes() == parts.front().sizes(), Error,
                "vmap: We do not support batching operators that can output dynamic shape. "
                "Attempted to vmap over ",
                call.op.name, ", which gives ", parts.front().sizes(), " and ",
                parts.back().sizes());
  }
  return parts;
}

// The tensors among the results of a composite; empty if there are other results.
std::vector<Tensor> tensors_of(const core::Op& op, core::OwnedValue* values) {
  std::vector<Tensor> out;
  for (int k = 0; k < op.n_results; ++k) {
    if (values[k].tag == TN_TAG_TENSOR_LIST) {
      for (core::Impl& t : values[k].tensors) out.emplace_back(std::move(t));
    } else if (values[k].tag == TN_TAG_TENSOR || values[k].tag == TN_TAG_NONE) {
      out.emplace_back(std::move(values[k].tensor));
    } else {
      return {};
    }
  }
  return out;
}

// Of each slice its own numbers, or none.
class DrawScope {
 public:
  explicit DrawScope(BatchLevel& level) : level_(level), before_(level.random) {
    if (before_ == Randomness::Different)
      below_.emplace(level);
    else
      level_.random = Randomness::Error;
  }
  ~DrawScope() { level_.random = before_; }
  DrawScope(const DrawScope&) = delete;

 private:
  BatchLevel& level_;
  Randomness before_;
  std::optional<BelowScope> below_;
};

// Of no slices the results have the shapes that the operator says.
Results empty_results(const Call& call) {
  Results out;
  for (int k = 0; k < call.op.n_results; ++k) {
    const core::OutMeta& o = call.one.out[k];
    out.push_back(o.defined ? empty(call.result_sizes(k), TensorOptions(o.dtype)) : Tensor());
  }
  return out;
}

}  // namespace

Results call_slice_by_slice(Call& call) {
  TENON_CHECK(call.op.kind != core::OpKind::View, NotImplementedError,
              "Batching rule not implemented for ", call.op.name,
              "; the fallback path doesn't work on out= or view ops");
  if (call.size == 0) {
    call.written = true;
    return empty_results(call);
  }
  std::vector<Results> slices;
  for (int64_t s = 0; s < call.size; ++s) {
    SameOperator one(call);
    set_slices(call, one, s);
    slices.push_back(one.run());
  }
  Results out;
  for (std::size_t k = 0; k < slices[0].size(); ++k) {
    const std::vector<Tensor> parts = parts_of(call, slices, k);
    out.push_back(parts.empty() ? Tensor() : stack(parts));
  }
  return out;
}

namespace {

// The tensors among the arguments of a composite, in order; undefined ones for those that it was
// not given.
std::vector<Tensor> tensors_given(const Call& call) {
  std::vector<Tensor> out;
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_tensor(i)) out.push_back(call.given(i));
    if (call.in[i].tag != TN_TAG_TENSOR_LIST) continue;
    for (Tensor& t : call.given_list(i)) out.push_back(std::move(t));
  }
  return out;
}

// The composite of one slice; empty if it gives something else than tensors.
std::vector<Tensor> call_composite(Call& call, const std::vector<std::vector<Tensor>>& slices,
                                   std::size_t at) {
  SameOperator one(call);
  std::size_t next = 0;
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_tensor(i)) {
      one.set(i, slices[next++][at]);
    } else if (call.in[i].tag == TN_TAG_TENSOR_LIST) {
      std::vector<Tensor> list(call.in[i].len);
      for (Tensor& t : list) t = slices[next++][at];
      one.set(i, list);
    }
  }
  core::OwnedValue values[core::kMaxOutputs];
  call.op.boxed_call.load()(one.values(), values);
  return tensors_of(call.op, values);
}

using SlicesOf = std::vector<Tensor> (*)(const Tensor&, BatchLevel&);

// The results by slice; empty if there are others than tensors.
std::vector<Results> call_all(Call& call, const std::vector<Tensor>& given, SlicesOf slices_of) {
  std::vector<std::vector<Tensor>> slices;
  slices.reserve(given.size());
  for (const Tensor& t : given)
    slices.push_back(t.defined() ? slices_of(t, call.level)
                                 : std::vector<Tensor>(static_cast<std::size_t>(call.size)));
  std::vector<Results> out;
  for (std::size_t s = 0; s < static_cast<std::size_t>(call.size); ++s) {
    out.push_back(call_composite(call, slices, s));
    if (out.back().empty()) return {};
    TENON_CHECK(out.back().size() == out.front().size(), Error, "vmap: ", call.op.name,
                " gives lists of different lengths, which cannot be stacked");
  }
  return out;
}

// Which of the two histories the arguments have.
struct Histories {
  bool function = false, values = false;
  Histories(const std::vector<Tensor>& given, BatchLevel& level) {
    for (const Tensor& t : given) {
      if (!autograd::recording() || !t.defined()) continue;
      function |= t.requires_grad();
      values |= (is_batched_at(t, level) ? slices_of(t) : t).requires_grad();
    }
  }
};

}  // namespace

std::vector<Tensor> slice_composite(int id, const tn_value* in) {
  const core::Op& op = core::op_at(id);
  BatchLevel* level = level_of(op, in, nullptr, core::Form::Functional);
  if (!level || level->size == 0 ||
      std::any_of(op.args, op.args + op.n_args, [](const core::ArgInfo& a) { return a.mutates; }))
    return {};
  Call call(op, in, core::Form::Functional, *level);
  const std::vector<Tensor> given = tensors_given(call);
  const Histories has(given, *level);
  const DrawScope draws(*level);
  const bool twice = has.function && has.values;
  const std::vector<Results> values = call_all(call, given, value_slices);
  if (values.empty()) return {};
  const std::vector<Results> recorded =
      has.function ? call_all(call, given, recorded_slices) : std::vector<Results>();
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < values[0].size(); ++k) {
    const std::vector<Tensor> parts = parts_of(call, values, k);
    out.emplace_back();
    if (parts.empty()) continue;
    out.back() = stack_recorded(stack(parts),
                                has.function ? parts_of(call, recorded, k) : std::vector<Tensor>(),
                                *level, twice);
  }
  return out;
}

}  // namespace tenon::batching
