// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the ranks compute and what they exchange meanwhile, in one step of the training, as SVG.
#pragma once

#include <tenon/profiler.h>

#include <string>

namespace digits {

// Each rank gives the profile of its step, with the ranges "forward" and "optimizer" of its
// program. On rank 0 the picture is written to `path`, and the result is what part of the exchange
// goes on during the nodes of backward, in percent; on the others 0. The ranks are on one machine,
// whose clock they share. std::runtime_error if the file cannot be written.
double draw_timeline(const std::string& path, const tenon::autograd::profiler::Profile& step);

}  // namespace digits
