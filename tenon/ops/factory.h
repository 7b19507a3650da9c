// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to libtenon: what a factory fills is made without history; the caller sets requires_grad
// at the end.
#pragma once

#include "tenon/tensor.h"

namespace tenon::composite {

inline TensorOptions plain(const TensorOptions& o) { return o.requires_grad(std::nullopt); }

}  // namespace tenon::composite
