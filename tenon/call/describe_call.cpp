// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/describe_call.h"

#include "tenon/core/tensor_impl.h"
#include "tenon/runtime/error.h"
#include "tenon/types.h"

namespace tenon::autograd {
namespace {

std::string describe_tensor(const tn_tensor* view) {
  if (!view) return "none";
  const core::TensorImpl& t = *core::TensorImpl::from_view(view);
  return core::join(dtype_name(t.dtype), " ", t.sizes());
}

std::string describe_value(const tn_value& v) {
  switch (v.tag) {
    case TN_TAG_NONE:
      return "none";
    case TN_TAG_TENSOR:
      return describe_tensor(v.u.tensor);
    case TN_TAG_I64:
      return std::to_string(v.u.i64);
    case TN_TAG_F64:
      return core::join(v.u.f64);
    case TN_TAG_BOOL:
      return v.u.i64 ? "true" : "false";
    case TN_TAG_STR:
      return core::join("'", std::string_view(v.u.str, v.len), "'");
    case TN_TAG_I64_LIST:
      return core::join(IntArrayRef(v.u.i64s, v.len));
    case TN_TAG_TENSOR_LIST: {
      std::string out;
      for (uint32_t i = 0; i < v.len; ++i) out += (i ? ", " : "") + describe_tensor(v.u.tensors[i]);
      return "[" + out + "]";
    }
    default:
      return "...";
  }
}

}  // namespace

std::string describe_call(const core::Op& op, const tn_value* in) {
  std::string out;
  for (int i = 0; i < op.n_args; ++i) out += (i ? ", " : "") + describe_value(in[i]);
  return core::join(op.name, "(", out, ")");
}

}  // namespace tenon::autograd
