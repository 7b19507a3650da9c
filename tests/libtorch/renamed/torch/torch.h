// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Makes a program of libtorch one for Tenon alone: other names of namespaces and macros, and
// libtorch's print style.
#pragma once

#include "tenon/tenon.h"

#define torch tenon
#define TORCH_MODULE TENON_MODULE
namespace c10 = tenon;

inline const bool kPrintsAsLibtorch = (tenon::set_print_style(tenon::PrintStyle::Libtorch), true);
