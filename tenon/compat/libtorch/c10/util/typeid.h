// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What x.dtype() returns, by the name that functions of programs give their argument.
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dtype.h"

namespace caffe2 {
using TypeMeta = ::tenon::ScalarType;
}
