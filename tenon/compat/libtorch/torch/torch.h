// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtorch's one header: the names of programs, mapped onto Tenon.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/cuda.h>
#include <torch/macros.h>
#include <torch/mps.h>
#include <torch/stream.h>
#include <torch/xpu.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/print.h"
#include "tenon/tenon.h"

namespace torch::detail {
// Tensors print as libtorch prints them, in the whole program.
inline const bool print_as_libtorch =
    (::tenon::set_print_style(::tenon::PrintStyle::Libtorch), true);
}  // namespace torch::detail
