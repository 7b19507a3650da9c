// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/densify.h"

#include "core/dispatch/arguments.h"
#include "core/dispatch/deliver_result.h"
#include "core/dispatch/fallback_counts.h"
#include "core/dispatch/known_ops.h"
#include "core/dispatch/layout_rules.h"
#include "runtime/base/settings.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

std::atomic<int> g_densify{-1};

// To the layout, 0: strided, by the kernel that the layout's plugin has for it.
Impl convert_layout(TensorImpl& tensor, int layout) {
  tn_value in[3] = {};
  in[0].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &tensor.view;
  if (layout != 0) {
    in[1].tag = TN_TAG_LAYOUT;
    in[1].u.i64 = abi_layout(layout);
  }
  TensorImpl* out[kMaxOutputs];
  call(layout == 0 ? known::to_dense() : known::to_layout(), in, out);
  return Impl::adopt(out[0]);
}

}  // namespace

bool call_densified(CallFrame& frame, const std::string& reason) {
  if (frame.layout == 0 || densify() == Densify::Forbid || frame.op().layout != nullptr ||
      layout_argument(frame.op(), frame.in) != 0)
    return false;
  uint64_t bytes = 0;
  Replaced args(frame.op(), frame.in, [&](int, TensorImpl& tensor) {
    if (!tensor.composite()) return Impl();
    bytes += static_cast<uint64_t>(tensor.numel) * tensor.itemsize();
    return convert_layout(tensor, 0);
  });
  count_fallback(frame, ServedBy::Densified, reason, bytes);
  if (densify() == Densify::Warn) {
    warn_once(join("densify:", frame.op().name), "fallback",
              join(frame.op().name, " makes its tensors of layout ", layout_name(frame.layout),
                   " strided: ", reason));
  }
  TensorImpl* outs[kMaxOutputs] = {};
  call(frame.op(), args.in, outs);
  for (int k = 0; k < frame.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (!made) continue;
    const bool back =
        frame.form == Form::Functional ? frame.result_layout[k] != 0 : frame.outs[k]->composite();
    if (back) made = convert_layout(*made, frame.layout);
    deliver_result(frame, k, std::move(made));
  }
  return true;
}

void set_densify(Densify d) { g_densify.store(static_cast<int>(d), std::memory_order_relaxed); }

Densify densify() {
  int d = g_densify.load(std::memory_order_relaxed);
  if (d < 0) {
    constexpr const char* kChoices[] = {"allow", "warn", "forbid"};
    constexpr Densify kMeant[] = {Densify::Allow, Densify::Warn, Densify::Forbid};
    d = static_cast<int>(kMeant[choice_setting("DENSIFY", kChoices, 3, 2)]);
    g_densify.store(d, std::memory_order_relaxed);
  }
  return static_cast<Densify>(d);
}

}  // namespace tenon::core
