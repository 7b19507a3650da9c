// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of gloo for each operation, as functions that run later: they copy what is borrowed.
#pragma once

#include <gloo/rendezvous/context.h>

#include <memory>

#include "tenon/sdk/collective_task.h"

namespace tenon::gloo_engine {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Task = sdk::CollectiveTask;
Task::Run make_collective(const Context& context, const tn_collective_call& call, uint16_t number);
Task::Run make_transfer(const Context& context, const tn_collective_call& call);

}  // namespace tenon::gloo_engine
