// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The arguments of a batched call and of the calls that a rule makes of it.
#include <algorithm>

#include "tenon/batching/call.h"
#include "tenon/call/generated.h"
#include "tenon/ops.h"

namespace tenon::batching {

Call::Call(const core::Op& o, const tn_value* arguments, core::Form f, BatchLevel& l)
    : op(o), in(arguments), form(f), level(l), size(l.size), one(o, arguments, f) {}

int Call::position(std::string_view argument) const {
  for (int i = 0; i < op.n_args; ++i) {
    if (op.args[i].name == argument) return i;
  }
  return -1;
}

bool Call::any_batched(std::initializer_list<int> arguments) const {
  return std::any_of(arguments.begin(), arguments.end(), [&](int i) { return is_batched(i); });
}

Tensor Call::given(int i) const { return autograd::unbox_Tensor(in[i]); }
std::vector<Tensor> Call::given_list(int i) const { return autograd::unbox_TensorList(in[i]); }

Tensor Call::front(const Tensor& t) const { return is_batched_at(t, level) ? slices_of(t) : t; }

Tensor Call::aligned(const Tensor& t, int64_t rank) const {
  if (!is_batched_at(t, level) || t.dim() == rank) return front(t);
  std::vector<int64_t> sizes(static_cast<std::size_t>(rank - t.dim() + 1), 1);
  sizes[0] = size;
  sizes.insert(sizes.end(), t.sizes().begin(), t.sizes().end());
  return slices_of(t).view(sizes);
}

Tensor Call::expanded(const Tensor& t) const {
  if (!t.defined() || is_batched_at(t, level)) return front(t);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.insert(sizes.begin(), size);
  return t.expand(sizes);
}

std::vector<int64_t> Call::result_sizes(int k) const {
  const core::OutMeta& o = one.out[k];
  std::vector<int64_t> sizes(o.sizes, o.sizes + o.ndim);
  sizes.insert(sizes.begin(), size);
  return sizes;
}

SameOperator::SameOperator(Call& call) : call_(call) { std::copy_n(call.in, call.op.n_args, in_); }

SameOperator& SameOperator::set(int i, Tensor t) {
  in_[i] = t.defined() ? autograd::box(call_.op.index, i, t) : autograd::none_value();
  tensors_.push_back(std::move(t));
  return *this;
}

SameOperator& SameOperator::set(int i, const std::vector<Tensor>& list) {
  std::vector<const tn_tensor*> views;
  for (const Tensor& t : list) {
    views.push_back(t.defined() ? &t.unsafeGetTensorImpl()->view : nullptr);
    tensors_.push_back(t);
  }
  in_[i] = autograd::pointer_value(TN_TAG_TENSOR_LIST, views.data(), views.size());
  tensor_lists_.push_back(std::move(views));
  return *this;
}

SameOperator& SameOperator::set(int i, std::vector<int64_t> list) {
  in_[i] = autograd::box(IntArrayRef(list));
  int_lists_.push_back(std::move(list));
  return *this;
}

SameOperator& SameOperator::set(int i, int64_t v) {
  in_[i] = autograd::box(v);
  return *this;
}

namespace {

Results results_of(const core::Op& op, core::OwnedValue* values) {
  Results out;
  for (int k = 0; k < op.n_results; ++k) {
    TENON_CHECK(values[k].tag == TN_TAG_TENSOR || values[k].tag == TN_TAG_NONE, NotImplementedError,
                "vmap: ", op.name, " gives results that are not tensors");
    out.emplace_back(std::move(values[k].tensor));
  }
  return out;
}

}  // namespace

Results SameOperator::run() {
  const core::Op& op = call_.op;
  core::OwnedValue out[core::kMaxOutputs];
  const core::BoxedFn inplace =
      call_.form == core::Form::Inplace ? op.boxed_inplace.load() : nullptr;
  if (inplace) {
    inplace(in_, out);
    call_.written = true;
    return {};
  }
  if (const core::BoxedFn boxed = op.boxed_call.load()) {
    boxed(in_, out);
  } else {
    const core::RegisteredCall registered = core::g_registered_call.load();
    TENON_CHECK(registered, NotImplementedError, "vmap: ", op.name, " has no function");
    registered(op, in_, out);
  }
  return results_of(op, out);
}

}  // namespace tenon::batching
