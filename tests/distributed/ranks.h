// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tests that run on all ranks of a group.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tenon/distributed.h"
#include "tenon/tenon.h"

namespace tenon::distributed {

std::vector<int> rank_counts();  // that run_ranks takes
// Runs f(group) on n ranks: threads of this process (threads_as_ranks.cpp), or the processes that
// were started together, of which this is one (processes_as_ranks.cpp). An exception is thrown.
void run_ranks(int n, const std::function<void(const ProcessGroupPtr&)>& f);

}  // namespace tenon::distributed
