// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/DeviceGuard.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Dimname.h>
#include <ATen/core/Generator.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/Optional.h>
#include <c10/util/SmallVector.h>
#include <c10/util/Type.h>
#include <c10/util/accumulate.h>
#include <c10/util/complex.h>
#include <c10/util/irange.h>
#include <c10/util/overloaded.h>
#include <c10/util/string_view.h>
#include <c10/util/typeid.h>
#include <torch/namespaces.h>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/print.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>  // need what is above
#include <ATen/TensorUtils.h>

namespace torch::detail {
// Tensors print as libtorch prints them, in the whole program.
inline const bool print_as_libtorch =
    (::tenon::set_print_style(::tenon::PrintStyle::Libtorch), true);
}  // namespace torch::detail
