// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One call in flight, on the stack of the thread that made it: what this folder's parts share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/core/infer.h"
#include "tenon/runtime/random.h"

namespace tenon::core {

inline constexpr int kMaxSmallCasts = 3;
inline constexpr int64_t kSmallCastBytes = 64;

struct CallFrame {
  Infer infer;
  const tn_value* in;  // what the kernel gets: the caller's arguments, or `args`
  TensorImpl** outs;
  Form form;
  DeviceId device;
  ScalarType dtype = ScalarType::Undefined;  // selects the kernel
  int layout = 0;                            // slot; 0: every tensor is strided
  // Of results, filled where `layout` is not 0: layout slots, and flags from TN_LAYOUT_FLAG on.
  int result_layout[kMaxOutputs];
  uint32_t result_flags[kMaxOutputs];

  // Filled only when an argument needs a change.
  bool own_args = false;
  tn_value args[kMaxArgs];
  tn_value moved[kMaxArgs];  // what infer.in is after a number on the host went to the device
  int n_temps = 0;
  TensorImpl* temps[3 * kMaxArgs];  // owned
  int n_views = 0;
  tn_tensor views[kMaxArgs];
  int64_t view_strides[8][kMaxDims];
  int n_small = 0;  // operands cast on the stack (small_cast.cpp)
  alignas(16) char small[kMaxSmallCasts][kSmallCastBytes];
  struct Lists {  // arguments that are lists and had to change
    std::vector<std::vector<const tn_tensor*>> views;
    std::vector<Impl> tensors;
    std::vector<std::pair<TensorImpl*, TensorImpl*>>
        written;  // an argument and the copy that the kernel writes
  };
  std::unique_ptr<Lists> lists;
  tn_generator generator;

  // Outputs as the kernel gets them; where one stands in for a given output, `write_back` has that
  // output.
  TensorImpl* targets[kMaxOutputs];
  TensorImpl* write_back[kMaxOutputs];
  uint32_t flags = 0;  // TN_CALL_UNIFORM
  uint32_t fresh = 0;  // bit k: outs[k] was made here and is released on failure

  std::string error;  // text of set_error

  CallFrame(const Op& op, const tn_value* arguments, TensorImpl** outputs, Form form)
      : infer(op, arguments, form), in(arguments), outs(outputs), form(form) {}

  const Op& op() const { return infer.op; }
  TENON_INLINE ~CallFrame() {
    while (n_temps > 0) Impl::adopt(temps[--n_temps]);
  }
  CallFrame(const CallFrame&) = delete;
  // Keeps a tensor until the call is over.
  TensorImpl* keep(Impl tensor) {
    TENON_CHECK(n_temps < 3 * kMaxArgs, ValueError, op().name, ": too many temporaries");
    return temps[n_temps++] = tensor.leak();
  }
  // Arguments that may be changed.
  tn_value* mutable_args();
  void replace(int i, const TensorImpl& tensor) { mutable_args()[i].u.tensor = &tensor.view; }
  // The arguments as they were before prepare_args, but for a reserved generator.
  void restore_args();
};

}  // namespace tenon::core
