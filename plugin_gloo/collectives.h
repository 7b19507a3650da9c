// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of gloo for each operation, as functions that run later: they copy what is borrowed.
#pragma once

#include <gloo/rendezvous/context.h>

#include <functional>
#include <memory>

#include "plugin_gloo/operation.h"
#include "tenon/abi/ext/collective.h"

namespace tenon::gloo_engine {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
std::function<void(Operation&)> make_collective(const Context& context,
                                                const tn_collective_call& call, uint16_t number);
std::function<void(Operation&)> make_transfer(const Context& context,
                                              const tn_collective_call& call);

}  // namespace tenon::gloo_engine
