// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Row-major tensors whose dtype is known when the kernel runs, and sums of their elements.
#pragma once

#include "plugin_cuda/device/element.cuh"
#include "tenon/sdk/view.h"

namespace tenon::cuda {

// Null: absent.
struct Dense {
  char* p = nullptr;
  Code code = Code::F32;
  int32_t item = 4;

  Dense() = default;
  explicit Dense(const sdk::Tensor& t) {
    if (!t.defined()) return;
    p = t.data<char>();
    code = code_of(t.dtype());
    item = static_cast<int32_t>(sdk::item_size(t.dtype()));
  }
  template <class C>
  TN_DEVICE C get(int64_t i) const {
    return load<C>(p + i * item, code);
  }
  template <class C>
  TN_DEVICE C get_or(int64_t i, C absent) const {
    return p == nullptr ? absent : get<C>(i);
  }
  template <class C>
  TN_DEVICE void put(int64_t i, C v) const {
    store(p + i * item, code, v);
  }
};

struct Add {
  template <class C>
  TN_DEVICE C operator()(C a, C b) const {
    return a + b;
  }
};

template <class C>
struct Two {
  C a, b;
};
struct AddTwo {
  template <class C>
  TN_DEVICE Two<C> operator()(const Two<C>& x, const Two<C>& y) const {
    return {x.a + y.a, x.b + y.b};
  }
};

}  // namespace tenon::cuda
