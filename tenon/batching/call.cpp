// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call with batched tensors: which level it is of, what is refused, the rule, the results.
#include "tenon/batching/call.h"

#include "tenon/call/era04.h"
#include "tenon/call/generated.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::batching {
namespace {

using core::Form;

// visit(argument, tensor)
template <class F>
void each_tensor(const core::Op& op, const tn_value* in, F&& visit) {
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) {
      visit(i, *core::TensorImpl::from_view(in[i].u.tensor));
    } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
      for (uint32_t k = 0; k < in[i].len; ++k) {
        if (in[i].u.tensors[k]) visit(i, *core::TensorImpl::from_view(in[i].u.tensors[k]));
      }
    }
  }
}

}  // namespace

BatchLevel* level_of(const core::Op& op, const tn_value* in, core::TensorImpl* const* outs,
                     Form form) {
  BatchLevel* found = nullptr;
  const auto look = [&](const core::TensorImpl& t) {
    if (t.batched() && (!found || t.batch->level->number > found->number)) found = t.batch->level;
    TENON_CHECK(!t.batched() || t.batch->level->alive.load(std::memory_order_relaxed), Error,
                op.name,
                ": vmap: a batched tensor was kept after the function had returned; return it "
                "from the function");
  };
  each_tensor(op, in, [&](int, const core::TensorImpl& t) { look(t); });
  for (int k = 0; form == Form::Out && k < op.n_results; ++k) {
    if (outs[k]) look(*outs[k]);
  }
  return found;
}

namespace {

[[noreturn]] void refuse_unbatched_write(const Call& call, int i) {
  const std::string name = core::join(call.op.name, call.form == Form::Inplace ? "_" : "");
  throw core::NeedsSlices(core::join(
      "vmap: ", name,
      "(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
      "that has more elements than `self`. This happened due to `other` being vmapped over but `",
      call.op.args[i].name,
      "` not being vmapped over. Please try to use out-of-place operators instead of ", name));
}

// What an argument is written with differs from slice to slice.
void check_writes(const Call& call) {
  each_tensor(call.op, call.in, [&](int i, const core::TensorImpl& t) {
    const bool written = call.op.args[i].mutates || (call.form == Form::Inplace && i == 0);
    const bool of_level = t.batched() && t.batch->level == &call.level;
    if (written && !of_level) refuse_unbatched_write(call, i);
  });
}

void check_call(Call& call) {
  const core::Op& op = call.op;
  TENON_CHECK(call.form != Form::Out, NotImplementedError, "Batching rule not implemented for ",
              op.name, " with out=; the fallback path doesn't work on out= or view ops");
  check_writes(call);
  if ((op.flags & core::kOpDynamic) == 0) {
    if (op.infer) op.infer(call.one);  // refuses what it would refuse of one slice
    return;
  }
  TENON_CHECK(std::string_view(op.family) == "rnn", core::NeedsSlices,
              "vmap: We do not support batching operators that can output dynamic shape. "
              "Attempted to vmap over ",
              op.name);
}

// A call that draws numbers; false if it has none of its own for each slice and is made as it is.
bool check_randomness(const Call& call, bool any_batched) {
  TENON_CHECK(call.level.random != Randomness::Error, Error, call.op.name,
              ": vmap: called random operation while in randomness error mode. Please either use "
              "the 'same' or 'different' randomness flags on vmap or perform the randomness "
              "operation out of vmap");
  if (any_batched) return true;
  if (call.level.random == Randomness::Same) return false;
  TENON_CHECK(call.form == Form::Functional, Error, call.op.name,
              "_: vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
              "will appear like same randomness");
  return true;
}

// The same numbers for each slice of argument 0, which are drawn once.
Results draw_once(Call& call) {
  for (int i = 1; i < call.op.n_args; ++i) {
    TENON_CHECK(!call.is_batched(i), NotImplementedError, call.op.name,
                ": Vmap does not currently support same randomness with a batched tensor input");
  }
  TENON_CHECK(call.form == Form::Inplace || std::string_view(call.op.name) == "native_dropout",
              NotImplementedError, call.op.name,
              ": Vmap does not currently support same randomness with a batched tensor input");
  const Tensor slices = call.front(0);
  if (call.form == Form::Inplace) {
    SameOperator once(call);
    const Tensor drawn = empty_like(slices.select(0, 0));
    once.set(0, drawn).run();
    slices.copy_(drawn);
    return {};
  }
  SameOperator once(call);
  const Results r = once.set(0, ones_like(slices.select(0, 0).detach())).run();
  return {slices * r[0], call.expanded(r[1])};
}

void deliver(Call& call, Results results, core::TensorImpl** outs) {
  if (call.form == Form::Inplace) {
    if (!call.written) call.front(0).copy_(results[0]);
    return;
  }
  for (int k = 0; k < call.op.n_results; ++k) {
    outs[k] = nullptr;
    if (results[static_cast<std::size_t>(k)].defined())
      outs[k] = make_batched(results[static_cast<std::size_t>(k)], 0, call.level)
                    .unsafeReleaseTensorImpl();
  }
}

}  // namespace

bool has_batched(const core::Op& op, const tn_value* in) {
  bool any = false;
  each_tensor(op, in, [&](int, const core::TensorImpl& t) { any |= t.batched(); });
  return any;
}

bool call_batched(const core::Op& op, const tn_value* in, core::TensorImpl** outs, Form form) {
  BatchLevel* level = level_of(op, in, outs, form);
  if (level && level->call) {
    level->call(op, in, outs, form);
    return true;
  }
  const bool draws = op.flags & core::kOpRandom;
  BatchLevel* drawing = draws ? innermost() : nullptr;
  if (!level && !drawing) return false;
  const bool any_batched = level && (!drawing || level->number >= drawing->number);
  Call call(op, in, form, any_batched ? *level : *drawing);
  const autograd::Today today;
  const ModeGuard without_autocast(autograd::t_mode & ~uint32_t{autograd::kAutocast});
  const BelowScope below(call.level);
  if (draws && !check_randomness(call, any_batched)) {
    if (form == Form::Functional) std::fill_n(outs, op.n_results, nullptr);
    core::call(op, in, outs, form);
    return true;
  }
  if (any_batched) check_call(call);
  const bool once = draws && call.level.random == Randomness::Same;
  const Rule rule = any_batched ? rule_of(op) : nullptr;
  deliver(call, once ? draw_once(call) : rule ? rule(call) : call_slice_by_slice(call), outs);
  return true;
}

}  // namespace tenon::batching
