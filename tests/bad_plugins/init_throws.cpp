// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// init lets a C++ exception out, against rule 7 of abi/base.h.
#include <stdexcept>

#include "tenon/abi/plugin.h"

#define PLUGIN_NAME "init_throws"
#define PLUGIN_INIT start
static tn_status start(const tn_host*, tn_str*) { throw std::runtime_error("thrown in init"); }

extern "C" {
#include "toy.h"
}
