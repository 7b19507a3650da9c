// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names of classes and functions of programs: "__torch__.net.Block".
#pragma once

#include <torch/namespaces.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/runtime/error.h"

namespace c10 {

class QualifiedName {
 public:
  QualifiedName() = default;
  // ValueError for an empty text, and for an empty part of it.
  QualifiedName(const std::string& text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('.', begin), text.size());
      TENON_CHECK(end > begin, ValueError, "QualifiedName: '", text, "' has an empty part");
      atoms_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    join();
  }
  QualifiedName(const char* text) : QualifiedName(std::string(text)) {}
  explicit QualifiedName(std::vector<std::string> atoms) : atoms_(std::move(atoms)) {
    for (const std::string& atom : atoms_) check_atom(atom);
    join();
  }
  QualifiedName(const QualifiedName& prefix, std::string name) : atoms_(prefix.atoms_) {
    check_atom(name);
    atoms_.push_back(std::move(name));
    join();
  }

  const std::string& qualifiedName() const { return text_; }
  // All but the last part, and that.
  const std::string& prefix() const { return prefix_; }
  const std::string& name() const { return atoms_.empty() ? text_ : atoms_.back(); }
  const std::vector<std::string>& atoms() const { return atoms_; }
  bool isPrefixOf(const QualifiedName& other) const {
    return atoms_.size() <= other.atoms_.size() &&
           std::equal(atoms_.begin(), atoms_.end(), other.atoms_.begin());
  }
  bool operator==(const QualifiedName& o) const { return text_ == o.text_; }
  bool operator!=(const QualifiedName& o) const { return !(*this == o); }

 private:
  static void check_atom(const std::string& atom) {
    TENON_CHECK(!atom.empty() && atom.find('.') == std::string::npos, ValueError,
                "QualifiedName: expected one part, got '", atom, "'");
  }
  void join() {
    for (const std::string& atom : atoms_) {
      prefix_ = text_;
      text_ += (text_.empty() ? "" : ".") + atom;
    }
  }
  std::string text_, prefix_;
  std::vector<std::string> atoms_;
};

}  // namespace c10

template <>
struct std::hash<c10::QualifiedName> {
  std::size_t operator()(const c10::QualifiedName& name) const noexcept {
    return std::hash<std::string>()(name.qualifiedName());
  }
};
