// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/form.h"

#include <algorithm>
#include <cstdlib>

#include "tenon/abi/ext/onnx.h"
#include "tenon/core/extension.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_number_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+';
}

class FormParser {
 public:
  explicit FormParser(std::string_view text) : text_(text) {}
  std::vector<Form> parse() {
    std::vector<Form> forms;
    while (peek() != '\0') forms.push_back(form());
    return forms;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw ValueError(core::join("line ", line, ": expected ", expected, ", got '",
                                std::string(text_.substr(at_, 20)), "'"));
  }
  // The next character that is neither space nor comment; 0 at the end.
  char peek() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      else if (!std::isspace(static_cast<unsigned char>(text_[at_])))
        return text_[at_];
    }
    return '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void want(const char* token) {
    if (!take(token)) fail(core::join("'", token, "'").c_str());
  }
  template <class IsPart>
  std::string word(IsPart is_part, const char* expected) {
    peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    if (at_ == begin) fail(expected);
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string name() { return word(is_name_part, "a name"); }

  // std::vector<std::string> with commas between them; one may be left out.
  std::vector<std::string> names(const char* end, bool may_lack = false) {
    std::vector<std::string> all;
    if (take(end)) return all;
    do {
      const char next = peek();
      all.push_back(may_lack && (next == ',' || next == *end) ? "" : name());
    } while (take(","));
    want(end);
    return all;
  }

  Form form() {
    Form f;
    f.op = name();
    want("::");
    f.op += "::" + name();
    want("(");
    f.parameters = names(")");
    want("=>");
    want("(");
    f.results = names(")");
    want("{");
    while (!take("}")) f.nodes.push_back(node());
    return f;
  }
  FormNode node() {
    FormNode n;
    n.outputs = names("=");
    n.type = word([](char c) { return is_name_part(c) || c == '.'; }, "an operator");
    if (const std::size_t dot = n.type.rfind('.'); dot != std::string::npos) {
      n.domain = n.type.substr(0, dot);
      n.type.erase(0, dot + 1);
    }
    if (take("<") && !take(">")) {
      do n.attributes.push_back(attribute());
      while (take(","));
      want(">");
    }
    want("(");
    n.inputs = names(")", true);
    return n;
  }
  FormAttr attribute() {
    FormAttr a;
    a.name = name();
    if (take(":")) {  // its type, which the value tells, too
      name();
      if (take("[")) want("]");
    }
    want("=");
    if (take("@"))
      a.argument = name();
    else
      a.value = value();
    return a;
  }
  IValue value() {
    if (take("\"")) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) fail("the end of a text");
      std::string s(text_.substr(at_, end - at_));
      at_ = end + 1;
      return IValue(std::move(s));
    }
    if (!take("[")) return number();
    std::vector<int64_t> ints;
    std::vector<double> reals;
    bool whole = true;
    while (!take("]")) {
      if (!reals.empty()) want(",");
      const IValue v = number();
      whole = whole && v.isInt();
      ints.push_back(v.isInt() ? v.toInt() : 0);
      reals.push_back(v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble());
    }
    return whole ? IValue(ints) : IValue(reals);
  }
  IValue number() {
    const std::string s = word(is_number_part, "a number");
    char* end = nullptr;
    const bool whole = s.find_first_of(".eEnN") == std::string::npos;
    const IValue v = whole ? IValue(int64_t{std::strtoll(s.c_str(), &end, 10)})
                           : IValue(std::strtod(s.c_str(), &end));
    if (*end != '\0') {
      at_ -= s.size();
      fail("a number");
    }
    return v;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Form> parse_forms(std::string_view text) { return FormParser(text).parse(); }

std::map<std::string, Form> plugin_forms() {
  std::map<std::string, Form> forms;
  for (const core::OpenExtension& e : core::open_extensions(TN_EXT_ONNX)) {
    const auto* node = reinterpret_cast<const tn_ext_onnx*>(e.node);
    if (!TN_HAS(&node->head, tn_ext_onnx, functions)) continue;
    try {
      for (Form& f : parse_forms({node->functions.ptr, node->functions.len})) {
        const std::string op = f.op;
        forms.insert_or_assign(op, std::move(f));
      }
    } catch (const ValueError& fault) {
      throw ValueError("onnx::export_: what plugin '" + e.plugin +
                       "' says of its operators in ONNX: " + fault.msg());
    }
  }
  return forms;
}

}  // namespace tenon::onnx::exporting
