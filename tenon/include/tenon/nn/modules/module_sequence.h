// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tenon {
namespace nn {
namespace detail {

// What Sequential and ModuleList have in common: modules in order.
template <class Element>
class ModuleSequence {
 public:
  using Iterator = typename std::vector<Element>::iterator;
  using ConstIterator = typename std::vector<Element>::const_iterator;

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  std::size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

 protected:
  std::vector<Element> modules_;
};

}  // namespace detail
}  // namespace nn
}  // namespace tenon
