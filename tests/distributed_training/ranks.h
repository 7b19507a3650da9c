// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ranks of a test: processes of this program that run one test each, and a group that joins them.
// The group stands for an engine: all bytes go to all ranks by Unix sockets, and each adds up in
// the order of the ranks.
#pragma once

#include <string>
#include <vector>

#include "tenon/distributed/parallel/group.h"

namespace tenon::distributed::test {

// Of the ranks that `members` lists, under a name that no group before it had; in the order of the
// list. Throws an Error that names a rank which has ended or does not answer in ten seconds.
GroupPtr make_group(const std::string& name, const std::vector<int>& members);

struct RankResult {
  std::string text;  // what the body returned
  std::string output;
  int signal = 0;
};

// In the test: starts n processes that run the same test, expects them to succeed, and returns what
// they say. In such a process: runs the body and does not return. Ranks that may be killed are
// told.
using Body = std::string (*)(const GroupPtr& all);
std::vector<RankResult> on_ranks(int n, Body body, const std::vector<int>& killed = {});

// A folder that all ranks of a test see.
std::string shared_folder();

}  // namespace tenon::distributed::test
