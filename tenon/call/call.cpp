// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call.h"

#include "tenon/abi/client.h"
#include "tenon/call/box.h"
#include "tenon/runtime/error.h"

namespace tenon {

using autograd::pointer_value;
using autograd::value_of;

CallArgument::CallArgument(const Tensor& t) {
  TENON_CHECK(t.defined(), TypeError,
              "call: an argument is an undefined tensor; nullopt stands for none");
  value_ = pointer_value(TN_TAG_TENSOR, &t.unsafeGetTensorImpl()->view);
}
CallArgument::CallArgument(TensorList list) {
  for (const Tensor& t : list)
    list_.push_back(t.defined() ? &t.unsafeGetTensorImpl()->view : nullptr);
  value_ = value_of(TN_TAG_TENSOR_LIST, 0, static_cast<uint32_t>(list.size()));
}
CallArgument::CallArgument(bool v) : value_(autograd::box(v)) {}
CallArgument::CallArgument(IntArrayRef v) : value_(autograd::box(v)) {}
CallArgument::CallArgument(ArrayRef<double> v) : value_(autograd::box(v)) {}
CallArgument::CallArgument(std::string_view v) : value_(autograd::box(v)) {}
CallArgument::CallArgument(ScalarType t) : value_(autograd::box(t)) {}
CallArgument::CallArgument(Device d) : value_(autograd::box(d)) {}
CallArgument::CallArgument(Layout l) : value_(autograd::box(l)) {}

const tn_value& CallArgument::abi() {
  if (value_.tag == TN_TAG_TENSOR_LIST) value_.u.tensors = list_.data();
  return value_;
}

std::vector<Tensor> call(std::string_view name, std::initializer_list<CallArgument> arguments) {
  const core::Op& op = core::get_op(name);
  std::vector<CallArgument> kept(arguments);
  std::vector<tn_value> in;
  in.reserve(kept.size());
  for (CallArgument& a : kept) in.push_back(a.abi());
  std::vector<tn_value> out(op.n_results);
  const tn_status s =
      tn_call_op(tn_str{name.data(), name.size()}, in.data(), static_cast<uint32_t>(in.size()),
                 out.data(), static_cast<uint32_t>(out.size()));
  if (s != TN_OK) core::throw_error(s, tn_last_error());
  std::vector<Tensor> results;
  bool others = false;
  for (tn_value& v : out) {
    others |= v.tag != TN_TAG_TENSOR && v.tag != TN_TAG_NONE;
    results.push_back(v.tag == TN_TAG_TENSOR
                          ? Tensor(core::Impl::share(core::TensorImpl::from_view(v.u.tensor)))
                          : Tensor());
    tn_release_value(&v);
  }
  TENON_CHECK(!others, TypeError, "call: a result of ", name,
              " is not a tensor; call the function of this name instead");
  return results;
}

}  // namespace tenon
