// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What prim::fork starts. Jobs run on a few threads of their own, since a job may wait for others;
// a waiting thread runs jobs that nobody has begun, so that no number of nested forks blocks.
#pragma once

#include <functional>

#include "tenon/ivalue.h"

namespace tenon::jit {

// The future of what `job` returns or throws. The job runs with this thread's autograd mode.
core::Ref<ivalue::Future> start_job(std::function<IValue()> job);
// As Future::value, but runs waiting jobs meanwhile.
IValue wait_for(ivalue::Future& future);

}  // namespace tenon::jit
