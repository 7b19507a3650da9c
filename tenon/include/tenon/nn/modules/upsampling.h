// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/vision.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Resamples the spatial dimensions to a size, or by factors.
class TENON_API UpsampleImpl : public Cloneable<UpsampleImpl> {
 public:
  explicit UpsampleImpl(UpsampleOptions options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  UpsampleOptions options;
};
TENON_MODULE(Upsample);

}  // namespace nn
}  // namespace tenon
