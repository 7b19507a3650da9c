// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The name by which programs take the states of an optimizer.
#pragma once

#include <unordered_map>

namespace ska {
template <class Key, class Value>
using flat_hash_map = std::unordered_map<Key, Value>;
}
