// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names of dimensions. They are values alone: no tensor carries names.
#pragma once

#include <ATen/core/symbol.h>

#include <cctype>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "tenon/runtime/array_ref.h"

namespace tenon {

enum class NameType : uint8_t { BASIC, WILDCARD };

class Dimname {
 public:
  // ValueError unless it is a symbol of dimname:: and an identifier, or "*", the wildcard.
  static Dimname fromSymbol(Symbol name) {
    TENON_CHECK(name.is_dimname(), ValueError, "Dimname: expected a symbol of dimname::, got ",
                name.toQualString());
    if (name == wildcard_symbol()) return wildcard();
    TENON_CHECK(isValidName(name.toUnqualString()), ValueError,
                "Dimname: expected letters, digits and underscores without a digit first, got '",
                name.toUnqualString(), "'");
    return Dimname(name, NameType::BASIC);
  }
  static Dimname wildcard() { return Dimname(wildcard_symbol(), NameType::WILDCARD); }
  static bool isValidName(const std::string& name) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
    for (const unsigned char c : name) {
      if (!std::isalnum(c) && c != '_') return false;
    }
    return true;
  }

  NameType type() const { return type_; }
  Symbol symbol() const { return name_; }
  bool isBasic() const { return type_ == NameType::BASIC; }
  bool isWildcard() const { return type_ == NameType::WILDCARD; }
  bool matches(Dimname other) const { return unify(other).has_value(); }
  // What both are, if they are the same or one is the wildcard.
  std::optional<Dimname> unify(Dimname other) const {
    if (other.isWildcard() || name_ == other.name_) return *this;
    if (isWildcard()) return other;
    return std::nullopt;
  }
  friend bool operator==(const Dimname& a, const Dimname& b) { return a.name_ == b.name_; }
  friend bool operator!=(const Dimname& a, const Dimname& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Dimname& d) {
    if (d.isWildcard()) return out << "None";
    return out << "'" << d.name_.toUnqualString() << "'";
  }

 private:
  Dimname(Symbol name, NameType type) : name_(name), type_(type) {}
  static Symbol wildcard_symbol() { return Symbol::dimname("*"); }
  Symbol name_;
  NameType type_;
};

using DimnameList = ArrayRef<Dimname>;

}  // namespace tenon
