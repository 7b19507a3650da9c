// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/DeviceGuard.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
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

#include <ATen/Functions.h>  // needs what is above
