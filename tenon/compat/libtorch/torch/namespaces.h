// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch is another spelling of tenon: a program may reopen torch::nn, and write nn:: after `using
// namespace torch`. With using-directives only one of these would compile. at and c10 are
// namespaces of their own, as `at` names functions, too; names that they lack are looked up in
// ours.
#pragma once

#define torch tenon

#include "tenon/core/complex.h"

namespace tenon {}
namespace at {
using namespace ::tenon;
}
namespace c10 {
using namespace ::tenon;
using ::tenon::core::complex;
}  // namespace c10
