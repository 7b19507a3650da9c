// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Locks of autograd that a fork waits for.
#pragma once

#include <functional>
#include <mutex>

namespace tenon::autograd {

void each_view_lock(const std::function<void(std::mutex&)>& f);  // history.cpp

}  // namespace tenon::autograd
