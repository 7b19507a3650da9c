// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs: outputs of one device with the inputs. Whoever runs the program reads its text,
// and compares shapes and dtypes with it (sdk/loop_program/call.h).
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

TENON_INFER(loop_program) {
  using A = args::loop_program;
  if (c.list_size(A::outputs) == 0)
    fail<ValueError>(c, "expected a non-empty list of tensors for 'outputs'");
  const TensorImpl& first = *c.list_tensor(A::outputs, 0);
  for (int list : {int{A::outputs}, int{A::inputs}}) {
    for (int k = 0; k < c.list_size(list); ++k) {
      const TensorImpl& t = *c.list_tensor(list, k);
      if (t.device_id != first.device_id) {
        fail<TypeError>(c, c.arg(list), " at position ", k, " is on ", t.device().str(),
                        "; expected ", first.device().str(), ", where the first output is");
      }
    }
  }
}

}  // namespace tenon::core
