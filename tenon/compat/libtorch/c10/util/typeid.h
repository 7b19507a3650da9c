// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What x.dtype() returns, by the name that functions of programs give their argument.
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dtype.h"

namespace caffe2 {
using TypeMeta = ::tenon::ScalarType;
}

namespace c10 {

inline ::tenon::ScalarType typeMetaToScalarType(caffe2::TypeMeta type) { return type; }
inline caffe2::TypeMeta scalarTypeToTypeMeta(::tenon::ScalarType type) { return type; }

}  // namespace c10
namespace tenon {
using ::c10::scalarTypeToTypeMeta;
using ::c10::typeMetaToScalarType;
}  // namespace tenon
