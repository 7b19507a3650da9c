// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names in namespaces, "aten::add", as values that are cheap to compare.
#pragma once

#include <torch/namespaces.h>

#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tenon/runtime/error.h"

namespace tenon {

class Symbol {
 public:
  Symbol() : Symbol(fromQualString("prim::")) {}
  // ValueError for a text without "::".
  static Symbol fromQualString(std::string_view text) {
    TENON_CHECK(text.find("::") != std::string_view::npos, ValueError,
                "Symbol: expected namespace::name, got '", text, "'");
    return Symbol(interned(text));
  }
  static Symbol fromDomainAndUnqualString(std::string_view domain, std::string_view name) {
    constexpr std::string_view kBefore = "org.pytorch.";
    TENON_CHECK(domain.substr(0, kBefore.size()) == kBefore, ValueError,
                "Symbol: expected a domain that begins with ", kBefore, ", got '", domain, "'");
    return in(domain.substr(kBefore.size()), name);
  }
#define TENON_SYMBOL_SPACE(space)                                         \
  static Symbol space(std::string_view name) { return in(#space, name); } \
  bool is_##space() const { return space_of() == std::string_view(#space); }
  TENON_SYMBOL_SPACE(attr)
  TENON_SYMBOL_SPACE(aten)
  TENON_SYMBOL_SPACE(cuda)
  TENON_SYMBOL_SPACE(onnx)
  TENON_SYMBOL_SPACE(prim)
  TENON_SYMBOL_SPACE(user)
  TENON_SYMBOL_SPACE(caffe2)
  TENON_SYMBOL_SPACE(dimname)
#undef TENON_SYMBOL_SPACE

  const char* toQualString() const { return text_->c_str(); }
  const char* toUnqualString() const { return text_->c_str() + text_->find("::") + 2; }
  const char* toDisplayString() const { return toQualString(); }
  Symbol ns() const { return in("namespaces", space_of()); }
  std::string domainString() const { return "org.pytorch." + std::string(space_of()); }
  friend bool operator==(Symbol a, Symbol b) { return a.text_ == b.text_; }
  friend bool operator!=(Symbol a, Symbol b) { return a.text_ != b.text_; }
  friend bool operator<(Symbol a, Symbol b) { return std::less<const void*>()(a.text_, b.text_); }
  friend std::ostream& operator<<(std::ostream& out, Symbol s) { return out << s.toQualString(); }

 private:
  friend struct std::hash<Symbol>;
  explicit Symbol(const std::string* text) : text_(text) {}
  static Symbol in(std::string_view space, std::string_view name) {
    return Symbol(interned(std::string(space) + "::" + std::string(name)));
  }
  std::string_view space_of() const { return std::string_view(*text_).substr(0, text_->find(':')); }
  // Lives until the process ends.
  static const std::string* interned(std::string_view text) {
    struct Table {
      std::mutex lock;  // fork: held for one insertion
      std::unordered_set<std::string> texts;
    };
    static Table& table = *new Table;
    const std::lock_guard<std::mutex> hold(table.lock);
    return &*table.texts.emplace(text).first;
  }
  const std::string* text_;
};

}  // namespace tenon

template <>
struct std::hash<tenon::Symbol> {
  std::size_t operator()(tenon::Symbol s) const noexcept {
    return std::hash<const void*>()(s.text_);
  }
};
