// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/optim/adam_base.h"

namespace tenon {
namespace optim {

struct TENON_API AdamOptions : public detail::FusedAdamOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3);
};

struct TENON_API AdamParamState : public detail::FusedAdamParamState<AdamParamState> {};

// Kingma and Ba, 2014; amsgrad is of Reddi and others, 2018.
class TENON_API Adam : public detail::FusedAdam<AdamOptions, AdamParamState> {
 public:
  using FusedAdam::FusedAdam;
};

}  // namespace optim
}  // namespace tenon
