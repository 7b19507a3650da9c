// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/deliver_result.h"

#include <utility>

#include "tenon/core/dispatch.h"

namespace tenon::core {
namespace {

// Of a call of a layout, whose outputs were not made.
void deliver_in_layout(CallFrame& frame, int k, Impl made) {
  if (frame.form == Form::Functional) {
    frame.outs[k] = made.leak();
    frame.fresh |= 1u << k;
  } else if (frame.outs[k]->composite()) {
    frame.outs[k]->take_components(*made);
  } else {
    frame.targets[k] = frame.keep(std::move(made));
    frame.write_back[k] = frame.outs[k];
  }
}

}  // namespace

void deliver_result(CallFrame& frame, int k, Impl made) {
  if (frame.layout != 0) return deliver_in_layout(frame, k, std::move(made));
  if (!frame.targets[k]) {  // dynamic: the result is what was made
    if (frame.form == Form::Functional) {
      frame.outs[k] = made.leak();
      frame.fresh |= 1u << k;
    } else {
      frame.targets[k] = frame.keep(std::move(made));
    }
    return;
  }
  TensorImpl& target = *frame.targets[k];
  const bool owned =
      made->use_count() == 1 && made->storage->use_count() == 1 && made->sizes() == target.sizes();
  TensorImpl* given = frame.write_back[k];
  if (owned && given && (made->dtype == target.dtype || given->dtype == target.dtype)) {
    frame.targets[k] =
        frame.keep(std::move(made));  // copied into what was given at the end of the call
    return;
  }
  if (owned && frame.outs[k] == &target && (frame.fresh >> k & 1) && made->dtype == target.dtype &&
      made->strides() == target.strides() && made->storage->bytes == target.storage->bytes) {
    Impl::adopt(std::exchange(frame.outs[k], made.leak()));
    frame.targets[k] = frame.outs[k];
    return;
  }
  copy(target, *made);
}

}  // namespace tenon::core
