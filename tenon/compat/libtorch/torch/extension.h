// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What kernels of extensions include. Of libtorch's header the part for C++: there are no bindings
// for Python.
#pragma once

#include <torch/all.h>
