// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/padding.h"

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  switch (options.mode().name()) {
    case enumtype::Name::Circular:
      return tenon::pad(input, options.pad(), "circular");
    case enumtype::Name::Reflect:
      return tenon::pad(input, options.pad(), "reflect");
    case enumtype::Name::Replicate:
      return tenon::pad(input, options.pad(), "replicate");
    default:
      return tenon::pad(input, options.pad(), "constant", options.value());
  }
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
