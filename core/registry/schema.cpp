// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/registry/schema.h"

#include <algorithm>
#include <cctype>

namespace tenon::core {
namespace {

class Scanner {
 public:
  explicit Scanner(const std::string& text) : s_(text) {}

  void space() {
    while (i_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[i_]))) ++i_;
  }
  bool take(const std::string& word) {
    space();
    if (s_.compare(i_, word.size(), word) != 0) return false;
    i_ += word.size();
    return true;
  }
  void expect(const std::string& word) {
    if (!take(word)) fail("expected '" + word + "' at '" + s_.substr(i_, 24) + "'");
  }
  std::string ident() {
    space();
    std::size_t b = i_;
    while (i_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[i_])) || s_[i_] == '_'))
      ++i_;
    if (b == i_) fail("expected a name at '" + s_.substr(i_, 24) + "'");
    return s_.substr(b, i_ - b);
  }
  // A default: up to the next comma or closing parenthesis outside of brackets and quotes.
  std::string value() {
    space();
    std::size_t b = i_;
    int depth = 0;
    char quote = 0;
    for (; i_ < s_.size(); ++i_) {
      char c = s_[i_];
      if (quote) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'')
        quote = c;
      else if (c == '[')
        ++depth;
      else if (c == ']')
        --depth;
      else if ((c == ',' || c == ')') && depth == 0)
        break;
    }
    std::size_t e = i_;
    while (e > b && std::isspace(static_cast<unsigned char>(s_[e - 1]))) --e;
    return s_.substr(b, e - b);
  }
  bool done() {
    space();
    return i_ >= s_.size();
  }
  [[noreturn]] void fail(const std::string& what) { throw SchemaError(what); }

 private:
  const std::string& s_;
  std::size_t i_ = 0;
};

const char* const kBases[] = {"Tensor",     "Scalar", "int",    "float",        "bool",     "str",
                              "ScalarType", "Layout", "Device", "MemoryFormat", "Generator"};

Type parse_type(Scanner& in, bool& mutates) {
  Type t;
  t.base = in.ident();
  if (t.base == "SymInt") t.base = "int";
  bool known = false;
  for (const char* b : kBases) known |= t.base == b;
  if (!known) in.fail("unknown type '" + t.base + "'");
  if (in.take("(")) {  // alias annotation: (a), (a!), (a -> *)
    in.ident();
    mutates = in.take("!");
    in.take("->");
    in.take("*");
    in.expect(")");
  }
  bool question = in.take("?");
  if (in.take("[")) {
    t.list = true;
    t.optional_items = question;
    question = false;
    if (!in.take("]")) {
      t.fixed = std::stoi(in.ident());
      in.expect("]");
    }
    question = in.take("?");
  }
  t.optional = question;
  return t;
}

std::string type_text(const Type& t) {
  std::string s = t.base;
  if (t.optional_items) s += "?";
  if (t.list) s += t.fixed ? "[" + std::to_string(t.fixed) + "]" : "[]";
  if (t.optional) s += "?";
  return s;
}

// The canonical form: one space after commas, no alias annotations, defaults as written, result
// names left out.
std::string canonical_text(const Schema& s) {
  std::string out = s.full() + "(";
  bool star = false;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const Arg& a = s.args[i];
    if (i) out += ", ";
    if (a.keyword_only && !star) {
      out += "*, ";
      star = true;
    }
    out += type_text(a.type) + " " + a.name;
    if (a.def) out += "=" + *a.def;
  }
  out += ") -> ";
  if (s.results.size() != 1) out += "(";
  for (std::size_t i = 0; i < s.results.size(); ++i)
    out += (i ? ", " : "") + type_text(s.results[i].type);
  if (s.results.size() != 1) out += ")";
  return out;
}

}  // namespace

Schema parse_schema(const std::string& text) {
  Scanner in(text);
  Schema s;
  s.name = in.ident();
  if (in.take("::")) s.name += "::" + in.ident();
  if (in.take(".")) s.overload = in.ident();
  in.expect("(");
  bool keyword_only = false;
  while (!in.take(")")) {
    if (in.take("*")) {
      keyword_only = true;
      in.expect(",");
      continue;
    }
    Arg a;
    a.keyword_only = keyword_only;
    a.type = parse_type(in, a.mutates);
    a.name = in.ident();
    if (in.take("=")) a.def = in.value();
    for (const Arg& other : s.args)
      if (other.name == a.name) in.fail("argument '" + a.name + "' is a duplicate");
    s.args.push_back(a);
    if (!in.take(",")) {
      in.expect(")");
      break;
    }
  }
  in.expect("->");
  auto result = [&] {
    Result r;
    bool ignored = false;
    r.type = parse_type(in, ignored);
    return r;
  };
  if (in.take("(")) {
    while (!in.take(")")) {
      Result r = result();
      if (!in.take(",")) {
        if (in.take(")")) {
          s.results.push_back(r);
          break;
        }
        r.name = in.ident();
        s.results.push_back(r);
        if (!in.take(",")) {
          in.expect(")");
          break;
        }
        continue;
      }
      s.results.push_back(r);
    }
  } else {
    Result r = result();
    if (!in.done()) r.name = in.ident();
    s.results.push_back(r);
  }
  if (!in.done()) in.fail("text after the results");
  s.canonical = canonical_text(s);
  s.text = text;
  return s;
}

// ATen writes int[1] for dimensions and the sizes of a transform (s), of which there may be any
// number, and takes one number for all
// of a window's.
int list_lengths(const Schema& s, const Arg& a) {
  const int n = a.type.fixed;
  if (!a.type.list || n == 0) return 0;
  const auto is = [&](std::string_view name) { return a.name == name; };
  if (n == 1 && (is("dim") || is("dims") || is("shifts") || is("s"))) return 0;
  // Of an operator without windows `padding` has two numbers for each dimension.
  const bool border =
      is("padding") && std::none_of(s.args.begin(), s.args.end(),
                                    [](const Arg& other) { return other.name == "stride"; });
  const bool window =
      is("kernel_size") || is("stride") || is("padding") || is("dilation") || is("output_padding");
  int lengths = kLengthFixed;
  if (window && !border) lengths |= kLengthOne;
  if (is("stride") && (!a.def || *a.def == "[]"))
    lengths |= kLengthNone;  // then that of kernel_size
  return lengths;
}

namespace {

struct ArgTypeName {
  const char *name, *base;
  bool list, optional, optional_items;
};
constexpr ArgTypeName kArgTypes[] = {
#define TENON_ARG_TYPE(Enum, base, list, optional, optional_items) \
  {#Enum, base, list, optional, optional_items},
#include "tenon/core/arg_types.def"
#undef TENON_ARG_TYPE
};

}  // namespace

// Some types are optional in every schema, others in none: the one entry serves both.
int type_index(const Type& t) {
  int found = -1, index = 0;
  for (const ArgTypeName& k : kArgTypes) {
    if (t.base == k.base && t.list == k.list && t.optional_items == k.optional_items) {
      if (t.optional == k.optional) return index;
      found = index;
    }
    ++index;
  }
  if (found < 0) throw SchemaError("type " + t.base + " cannot be a list here");
  return found;
}

std::string type_name(const Type& t) { return kArgTypes[type_index(t)].name; }

}  // namespace tenon::core
