// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Vectors, sets, maps and pairs on streams, which libtorch's logging gives to every program: at
// most 100 elements, with a space between two.
#pragma once

#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace c10 {

template <class Iterator>
void PrintSequence(std::ostream& out, Iterator begin, Iterator end) {
  for (int i = 0; begin != end && i < 100; ++i, ++begin) {
    if (i > 0) out << ' ';
    out << *begin;
  }
  if (begin != end) out << " ...";
}

}  // namespace c10

// In std, where the containers' operators are looked up.
namespace std {

template <class First, class Second>
ostream& operator<<(ostream& out, const pair<First, Second>& p);

template <class... T>
ostream& operator<<(ostream& out, const vector<T...>& list) {
  c10::PrintSequence(out, list.begin(), list.end());
  return out;
}
template <class... T>
ostream& operator<<(ostream& out, const set<T...>& list) {
  c10::PrintSequence(out, list.begin(), list.end());
  return out;
}
template <class... T>
ostream& operator<<(ostream& out, const map<T...>& list) {
  c10::PrintSequence(out, list.begin(), list.end());
  return out;
}
template <class First, class Second>
ostream& operator<<(ostream& out, const pair<First, Second>& p) {
  return out << '(' << p.first << ", " << p.second << ')';
}

}  // namespace std
