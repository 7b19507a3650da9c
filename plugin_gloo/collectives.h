// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of gloo for each operation, as functions that run later: they copy what is borrowed.
#pragma once

#include "plugin_gloo/group.h"

namespace tenon::gloo_engine {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
std::function<void(Operation&)> make_collective(const Context& context,
                                                const tn_collective_call& call, uint32_t tag);
std::function<void(Operation&)> make_transfer(const Context& context,
                                              const tn_collective_call& call);

}  // namespace tenon::gloo_engine
