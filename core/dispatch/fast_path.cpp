// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fast path is for what nearly every pointwise call is: uniform operands, that is row-major
// floating tensors of one dtype and device, and of one shape or the end of it (a bias). Their
// result has that dtype (or bool) and shape, so there is nothing to infer, promote, cast or copy; a
// flag tells the kernel (TN_CALL_UNIFORM). Operators that qualify have a fast_path line in their
// definition. Whatever does not fit leaves everything as it was and takes the general path in
// call.cpp.
#include "core/dispatch/fast_path.h"
#include "core/dispatch/frame.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/run_kernel.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

namespace {

// Bit i: dtype i is floating, of the dtypes of every build.
constexpr uint64_t kFloating = 0
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  | uint64_t{DtypeClass::cls == DtypeClass::Floating} << (id)
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
    ;

inline bool is_floating(ScalarType dtype) {
  return static_cast<int>(dtype) < 64 && (kFloating >> static_cast<int>(dtype) & 1);
}

inline bool same_kind(const TensorImpl& tensor, const TensorImpl& other) {
  return tensor.contiguous() && tensor.dtype == other.dtype && tensor.device_id == other.device_id;
}

// Whether the sizes of `tensor` are the last sizes of `whole`.
inline bool is_suffix(const TensorImpl& whole, const TensorImpl& tensor) {
  const int lead = whole.ndim() - tensor.ndim();
  if (lead < 0) return false;
  for (int d = 0; d < tensor.ndim(); ++d) {
    if (tensor.size(d) != whole.size(d + lead)) return false;
  }
  return true;
}

struct Common {
  const TensorImpl* whole = nullptr;  // has the result's shape; null if the tensors are not uniform
  bool repeats = false;               // another has fewer dimensions
};

// Values that the operator may refuse for the tensors' dtype.
inline bool needs_slow_path(const Op& op, int i, const tn_value& value) {
  if (value.tag == TN_TAG_F64 || value.tag == TN_TAG_I64) return !every_float_holds(value);
  if (value.tag == TN_TAG_BOOL) return op.args[i].type == ArgType::Scalar;
  return value.tag == TN_TAG_COMPLEX || value.tag == TN_TAG_TENSOR_LIST;
}

// A complex number would lift the result's dtype.
inline Common common_of(const Op& op, const tn_value* in) {
  Common common;
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) {
      const TensorImpl& tensor = *TensorImpl::from_view(in[i].u.tensor);
      if (common.whole == nullptr) {
        if (!tensor.contiguous() || !is_floating(tensor.dtype)) return {};
        common.whole = &tensor;
        continue;
      }
      if (!same_kind(tensor, *common.whole)) return {};
      common.repeats |= tensor.ndim() != common.whole->ndim();
      if (TENON_LIKELY(is_suffix(*common.whole, tensor))) continue;
      if (!is_suffix(tensor, *common.whole)) return {};
      common.whole = &tensor;
    } else if (TENON_UNLIKELY(needs_slow_path(op, i, in[i]))) {
      return {};
    }
  }
  return common;
}

// Whether a given output can be written in place of a fresh one: uniform with the operands, and
// apart from every argument or exactly one that the kernel may overwrite.
bool takes_result(const Op& op, const tn_value* in, const KernelEntry& entry, const TensorImpl& out,
                  const TensorImpl& whole, ScalarType result) {
  if (out.dtype != result || !same_kind(out, whole) || out.ndim() != whole.ndim() ||
      !is_suffix(whole, out))
    return false;
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag != TN_TAG_TENSOR) continue;
    const TensorImpl& tensor = *TensorImpl::from_view(in[i].u.tensor);
    if (tensor.storage != out.storage) continue;
    if (tensor.view.byte_offset != out.view.byte_offset || tensor.ndim() != out.ndim())
      return false;
    if (i >= 8 || (entry.inplace >> (8 * i) & 1) == 0) return false;
  }
  return true;
}

}  // namespace

bool call_fast_path(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  const Common common = common_of(op, in);
  const TensorImpl* whole = common.whole;
  if (whole == nullptr) return false;
  KernelEntry* entry = find_kernel(op, whole->device_id.slot, 0, whole->dtype);
  if (TENON_UNLIKELY(entry == nullptr) ||
      (common.repeats && !(entry->flags & TN_KERNEL_BROADCASTS)))
    return false;
  const ScalarType result = op.flags & kOpBoolResult ? ScalarType::Bool : whole->dtype;
  CallFrame frame(op, in, outs, form);
  frame.device = whole->device_id;
  frame.dtype = whole->dtype;
  if (form == Form::Functional) {
    outs[0] = new_like(*whole, result).leak();
    frame.fresh = 1;
  } else if (!takes_result(op, in, *entry, *outs[0], *whole, result)) {
    return false;
  }
  frame.flags = TN_CALL_UNIFORM;
  frame.targets[0] = outs[0];
  bool done = false;
  try {
    done = run_kernel(frame, *entry);
  } catch (...) {
    drop_outputs(frame);
    throw;
  }
  if (TENON_UNLIKELY(!done))
    drop_outputs(frame);
  else if (form != Form::Functional)
    outs[0]->bump_version();
  return done;
}

}  // namespace tenon::core
