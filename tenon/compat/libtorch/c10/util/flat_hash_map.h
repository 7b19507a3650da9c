// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace ska {
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
using flat_hash_map = std::unordered_map<K, V, Hash, Equal>;
template <class K, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
using flat_hash_set = std::unordered_set<K, Hash, Equal>;
}  // namespace ska
