// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The tensors among the arguments of a call, in lists too. Private to core.
#pragma once

#include <vector>

#include "tenon/core/infer.h"

namespace tenon::core {

// visit(argument, tensor)
template <class F>
void each_argument(const Op& op, const tn_value* in, F&& visit) {
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) {
      visit(i, *TensorImpl::from_view(in[i].u.tensor));
    } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
      for (uint32_t k = 0; k < in[i].len; ++k) {
        if (in[i].u.tensors[k]) visit(i, *TensorImpl::from_view(in[i].u.tensors[k]));
      }
    }
  }
}

// Arguments with others in place of some tensors, which it keeps: replace(argument, tensor) gives
// null for one that stays.
struct Replaced {
  tn_value in[kMaxArgs];
  std::vector<Impl> kept;
  std::vector<std::vector<const tn_tensor*>> lists;

  template <class F>
  Replaced(const Op& op, const tn_value* from, F&& replace) {
    auto one = [&](int i, const tn_tensor* view) {
      Impl tensor = replace(i, *TensorImpl::from_view(view));
      if (!tensor) return view;
      kept.push_back(std::move(tensor));
      return static_cast<const tn_tensor*>(&kept.back()->view);
    };
    for (int i = 0; i < op.n_args; ++i) {
      in[i] = from[i];
      if (in[i].tag == TN_TAG_TENSOR) {
        in[i].u.tensor = one(i, in[i].u.tensor);
      } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
        std::vector<const tn_tensor*> list(in[i].u.tensors, in[i].u.tensors + in[i].len);
        for (const tn_tensor*& p : list) {
          if (p) p = one(i, p);
        }
        lists.push_back(std::move(list));
        in[i].u.tensors = lists.back().data();
      }
    }
  }
};

}  // namespace tenon::core
