// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/adam_base.h"

namespace tenon {
namespace optim {

struct TENON_API AdamWOptions : public detail::FusedAdamOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3);
};

struct TENON_API AdamWParamState : public detail::FusedAdamParamState<AdamWParamState> {};

// Adam with the weight decay of Loshchilov and Hutter, 2017.
class TENON_API AdamW : public detail::FusedAdam<AdamWOptions, AdamWParamState> {
 public:
  using FusedAdam::FusedAdam;
};

}  // namespace optim
}  // namespace tenon
