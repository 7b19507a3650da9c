// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The short way for what nearly every pointwise call is: row-major floating tensors of one dtype, shape and device.
// Their result has that dtype (or bool) and shape, so there is nothing to infer, promote, broadcast, cast or copy.
// Whatever does not fit leaves everything as it was and takes the long way in dispatch.cpp.
#include "core/call.h"
#include "tenon/core/error.h"

namespace tenon::core {

extern const int g_row_count;
void infer_pointwise(Infer&);
void infer_pointwise_alike(Infer&);
void infer_pointwise_bool(Infer&);
void infer_pointwise_float(Infer&);
void infer_pointwise_pow(Infer&);
void infer_pointwise_same(Infer&);
void infer_pointwise_sub(Infer&);

Alike g_alike[kMaxOps];

namespace {

[[maybe_unused]] const bool g_filled = [] {
  for (int i = 0; i < g_row_count; ++i) {
    const Op& op = g_rows[i];
    if (op.n_results != 1 || (op.flags & (kOpDynamic | kOpRandom | kOpCrossDevice | kOpNoKernel))) continue;
    if (op.infer == infer_pointwise_bool) {
      g_alike[i] = Alike::Bool;
      continue;
    }
    for (InferFn same : {infer_pointwise, infer_pointwise_alike, infer_pointwise_float, infer_pointwise_pow,
                         infer_pointwise_same, infer_pointwise_sub}) {
      if (op.infer == same) g_alike[i] = Alike::Same;
    }
  }
  return true;
}();

constexpr uint64_t bit(ScalarType t) { return uint64_t{1} << static_cast<int>(t); }
constexpr uint64_t kFloating =
    bit(ScalarType::Half) | bit(ScalarType::Float) | bit(ScalarType::Double) | bit(ScalarType::BFloat16);

inline bool is_floating(ScalarType t) { return static_cast<int>(t) < 64 && (kFloating >> static_cast<int>(t) & 1); }

inline bool fits(const TensorImpl& t, const TensorImpl& first) {
  if (!t.contiguous() || t.dtype != first.dtype || t.slot != first.slot || t.index != first.index) return false;
  if (t.ndim() != first.ndim()) return false;
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) != first.size(d)) return false;
  }
  return true;
}

// The first tensor, if all of them are alike. A complex number would lift the result's dtype.
const TensorImpl* first_of_alike(const Op& op, const tn_value* in) {
  const TensorImpl* first = nullptr;
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) {
      const TensorImpl& t = *TensorImpl::from_view(in[i].u.tensor);
      if (first == nullptr) {
        if (!t.contiguous() || !is_floating(t.dtype)) return nullptr;
        first = &t;
      } else if (!fits(t, *first)) {
        return nullptr;
      }
    } else if (in[i].tag == TN_TAG_COMPLEX || in[i].tag == TN_TAG_TENSOR_LIST) {
      return nullptr;
    }
  }
  return first;
}

// Whether a given output can be written in place of a fresh one: alike, and apart from every argument or exactly one
// that the kernel may overwrite.
bool takes_result(const Op& op, const tn_value* in, const KernelEntry& e, const TensorImpl& out,
                  const TensorImpl& first, ScalarType result) {
  if (out.dtype != result || out.dtype != first.dtype || !fits(out, first)) return false;
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag != TN_TAG_TENSOR) continue;
    const TensorImpl& t = *TensorImpl::from_view(in[i].u.tensor);
    if (t.storage != out.storage) continue;
    if (t.view.byte_offset != out.view.byte_offset || i >= 8 || (e.inplace >> (8 * i) & 1) == 0) return false;
  }
  return true;
}

}  // namespace

bool call_alike(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  const TensorImpl* first = first_of_alike(op, in);
  if (first == nullptr) return false;
  KernelEntry* e = find_kernel(op, first->slot, 0, first->dtype);
  if (TENON_UNLIKELY(e == nullptr)) return false;
  const ScalarType result = g_alike[op.index] == Alike::Bool ? ScalarType::Bool : first->dtype;
  CallFrame f(op, in, outs, form);
  f.slot = first->slot;
  f.index = first->index;
  f.dtype = first->dtype;
  if (form == Form::Functional) {
    outs[0] = new_alike(*first, result).leak();
    f.fresh = 1;
  } else if (!takes_result(op, in, *e, *outs[0], *first, result)) {
    return false;
  }
  f.targets[0] = outs[0];
  bool done = false;
  try {
    done = run_kernel(f, *e);
  } catch (...) {
    drop_outputs(f);
    throw;
  }
  if (TENON_UNLIKELY(!done))
    drop_outputs(f);
  else if (form != Form::Functional)
    outs[0]->bump_version();
  return done;
}

}  // namespace tenon::core
