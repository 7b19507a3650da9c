// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks of the tensors that a function was given. Errors name the function, each argument, and
// what was expected.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>

#include "tenon/formatting.h"

namespace at {

// An argument: its name and its position, from 1.
struct TensorArg {
  TensorArg(Tensor t, const char* n, int p) : tensor(std::move(t)), name(n), pos(p) {}
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  Tensor tensor;
  const char* name;
  int pos;
};

using CheckedFrom = const char*;  // the function that checks

inline std::ostream& operator<<(std::ostream& out, const TensorArg& t) {
  return out << "argument #" << t.pos << " '" << t.name << "'";
}

inline void checkDefined(CheckedFrom c, const TensorArg& t) {
  TORCH_CHECK(t->defined(), c, ": expected ", t, " to be defined");
}
inline void checkDim(CheckedFrom c, const TensorArg& t, int64_t dim) {
  TORCH_CHECK(t->dim() == dim, c, ": expected ", t, " to have ", dim, " dimensions, got ",
              t->dim());
}
// At least `begin` dimensions, and less than `end`.
inline void checkDimRange(CheckedFrom c, const TensorArg& t, int64_t begin, int64_t end) {
  TORCH_CHECK(t->dim() >= begin && t->dim() < end, c, ": expected ", t, " to have ", begin, " to ",
              end - 1, " dimensions, got ", t->dim());
}
inline void checkContiguous(CheckedFrom c, const TensorArg& t) {
  TORCH_CHECK(t->is_contiguous(), c, ": expected ", t, " to be contiguous, got strides ",
              t->strides());
}
inline void checkSize(CheckedFrom c, const TensorArg& t, IntArrayRef sizes) {
  TORCH_CHECK(t->sizes().equals(sizes), c, ": expected ", t, " to have sizes ", sizes, ", got ",
              t->sizes());
}
inline void checkSize(CheckedFrom c, const TensorArg& t, int64_t dim, int64_t size) {
  TORCH_CHECK(t->size(dim) == size, c, ": expected ", t, " to have size ", size, " at dimension ",
              dim, ", got ", t->size(dim));
}
inline void checkNumel(CheckedFrom c, const TensorArg& t, int64_t numel) {
  TORCH_CHECK(t->numel() == numel, c, ": expected ", t, " to have ", numel, " elements, got ",
              t->numel());
}
inline void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType dtype) {
  TORCH_CHECK(t->scalar_type() == dtype, c, ": expected ", t, " to have the dtype ", dtype,
              ", got ", t->scalar_type());
}
inline void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> dtypes) {
  TORCH_CHECK(std::find(dtypes.begin(), dtypes.end(), t->scalar_type()) != dtypes.end(), c,
              ": expected ", t, " to have one of the dtypes ", dtypes, ", got ", t->scalar_type());
}
inline void checkDeviceType(CheckedFrom c, ArrayRef<Tensor> tensors, DeviceType type) {
  for (const Tensor& t : tensors)
    TORCH_CHECK(!t.defined() || t.device().type() == type, c, ": expected a tensor on ",
                Device(type), ", got one on ", t.device());
}
inline void checkLayout(CheckedFrom c, const Tensor& t, Layout layout) {
  TORCH_CHECK(!t.defined() || t.layout() == layout, c, ": expected a tensor of layout ", layout,
              ", got ", t.layout());
}

// Of two arguments, and of all: that they have a fact in common.
#define TENON_CHECK_SAME(Name, fact, words)                                            \
  inline void checkSame##Name(CheckedFrom c, const TensorArg& a, const TensorArg& b) { \
    TORCH_CHECK(a->fact == b->fact, c, ": expected ", a, " and ", b,                   \
                " to have the same " words ", got ", a->fact, " and ", b->fact);       \
  }                                                                                    \
  inline void checkAllSame##Name(CheckedFrom c, ArrayRef<TensorArg> tensors) {         \
    const TensorArg* first = nullptr;                                                  \
    for (const TensorArg& t : tensors) {                                               \
      if (!t->defined()) continue;                                                     \
      if (first) checkSame##Name(c, *first, t);                                        \
      first = &t;                                                                      \
    }                                                                                  \
  }
TENON_CHECK_SAME(Dim, dim(), "number of dimensions")
TENON_CHECK_SAME(Numel, numel(), "number of elements")
TENON_CHECK_SAME(Type, scalar_type(), "dtype")
TENON_CHECK_SAME(Size, sizes(), "sizes")
TENON_CHECK_SAME(GPU, device(), "device")
#undef TENON_CHECK_SAME

inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) checkDefined(c, t);
}
inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) {
    if (t->defined()) checkContiguous(c, t);
  }
}

}  // namespace at
