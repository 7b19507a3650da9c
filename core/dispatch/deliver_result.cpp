// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/deliver_result.h"

#include <utility>

#include "tenon/core/dispatch.h"

namespace tenon::core {
namespace {

// Of a call of a layout, whose outputs were not made.
void deliver_in_layout(CallFrame& f, int k, Impl made) {
  if (f.form == Form::Functional) {
    f.outs[k] = made.leak();
    f.fresh |= 1u << k;
  } else if (f.outs[k]->composite()) {
    f.outs[k]->take_components(*made);
  } else {
    f.targets[k] = f.keep(std::move(made));
    f.write_back[k] = f.outs[k];
  }
}

}  // namespace

void deliver_result(CallFrame& f, int k, Impl made) {
  if (f.layout != 0) return deliver_in_layout(f, k, std::move(made));
  if (!f.targets[k]) {  // dynamic: the result is what was made
    if (f.form == Form::Functional) {
      f.outs[k] = made.leak();
      f.fresh |= 1u << k;
    } else {
      f.targets[k] = f.keep(std::move(made));
    }
    return;
  }
  TensorImpl& target = *f.targets[k];
  const bool owned =
      made->use_count() == 1 && made->storage->use_count() == 1 && made->sizes() == target.sizes();
  TensorImpl* given = f.write_back[k];
  if (owned && given && (made->dtype == target.dtype || given->dtype == target.dtype)) {
    f.targets[k] = f.keep(std::move(made));  // copied into what was given at the end of the call
    return;
  }
  if (owned && f.outs[k] == &target && (f.fresh >> k & 1) && made->dtype == target.dtype &&
      made->strides() == target.strides() && made->storage->bytes == target.storage->bytes) {
    Impl::adopt(std::exchange(f.outs[k], made.leak()));
    f.targets[k] = f.outs[k];
    return;
  }
  copy(target, *made);
}

}  // namespace tenon::core
