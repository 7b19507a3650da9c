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
  Type type;
  type.base = in.ident();
  if (type.base == "SymInt") type.base = "int";
  bool known = false;
  for (const char* b : kBases) known |= type.base == b;
  if (!known) in.fail("unknown type '" + type.base + "'");
  if (in.take("(")) {  // alias annotation: (a), (a!), (a -> *)
    in.ident();
    mutates = in.take("!");
    in.take("->");
    in.take("*");
    in.expect(")");
  }
  bool question = in.take("?");
  if (in.take("[")) {
    type.list = true;
    type.optional_items = question;
    question = false;
    if (!in.take("]")) {
      type.fixed = std::stoi(in.ident());
      in.expect("]");
    }
    question = in.take("?");
  }
  type.optional = question;
  return type;
}

std::string type_text(const Type& type) {
  std::string text = type.base;
  if (type.optional_items) text += "?";
  if (type.list) text += type.fixed ? "[" + std::to_string(type.fixed) + "]" : "[]";
  if (type.optional) text += "?";
  return text;
}

// The canonical form: one space after commas, no alias annotations, defaults as written, result
// names left out.
std::string canonical_text(const Schema& schema) {
  std::string out = schema.full() + "(";
  bool star = false;
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    const Arg& arg = schema.args[i];
    if (i) out += ", ";
    if (arg.keyword_only && !star) {
      out += "*, ";
      star = true;
    }
    out += type_text(arg.type) + " " + arg.name;
    if (arg.def) out += "=" + *arg.def;
  }
  out += ") -> ";
  if (schema.results.size() != 1) out += "(";
  for (std::size_t i = 0; i < schema.results.size(); ++i)
    out += (i ? ", " : "") + type_text(schema.results[i].type);
  if (schema.results.size() != 1) out += ")";
  return out;
}

void parse_arguments(Scanner& in, Schema& schema) {
  in.expect("(");
  bool keyword_only = false;
  while (!in.take(")")) {
    if (in.take("*")) {
      keyword_only = true;
      in.expect(",");
      continue;
    }
    Arg arg;
    arg.keyword_only = keyword_only;
    arg.type = parse_type(in, arg.mutates);
    arg.name = in.ident();
    if (in.take("=")) arg.def = in.value();
    for (const Arg& other : schema.args)
      if (other.name == arg.name) in.fail("argument '" + arg.name + "' is a duplicate");
    schema.args.push_back(arg);
    if (!in.take(",")) {
      in.expect(")");
      break;
    }
  }
}

Result parse_result_type(Scanner& in) {
  Result result;
  bool ignored = false;
  result.type = parse_type(in, ignored);
  return result;
}

// One result, or several in parentheses; each may have a name.
void parse_results(Scanner& in, Schema& schema) {
  if (!in.take("(")) {
    schema.results.push_back(parse_result_type(in));
    if (!in.done()) schema.results.back().name = in.ident();
    return;
  }
  while (!in.take(")")) {
    Result& result = schema.results.emplace_back(parse_result_type(in));
    if (in.take(",")) continue;
    if (in.take(")")) return;
    result.name = in.ident();
    if (!in.take(",")) {
      in.expect(")");
      return;
    }
  }
}

}  // namespace

Schema parse_schema(const std::string& text) {
  Scanner in(text);
  Schema schema;
  schema.name = in.ident();
  if (in.take("::")) schema.name += "::" + in.ident();
  if (in.take(".")) schema.overload = in.ident();
  parse_arguments(in, schema);
  in.expect("->");
  parse_results(in, schema);
  if (!in.done()) in.fail("text after the results");
  schema.canonical = canonical_text(schema);
  schema.text = text;
  return schema;
}

// ATen writes int[1] for dimensions and the sizes of a transform (s), of which there may be any
// number, and takes one number for all of a window's.
int list_lengths(const Schema& schema, const Arg& arg) {
  const int n = arg.type.fixed;
  if (!arg.type.list || n == 0) return 0;
  const auto is = [&](std::string_view name) { return arg.name == name; };
  if (n == 1 && (is("dim") || is("dims") || is("shifts") || is("s"))) return 0;
  // Of an operator without windows `padding` has two numbers for each dimension.
  const bool border =
      is("padding") && std::none_of(schema.args.begin(), schema.args.end(),
                                    [](const Arg& other) { return other.name == "stride"; });
  const bool window =
      is("kernel_size") || is("stride") || is("padding") || is("dilation") || is("output_padding");
  int lengths = kLengthFixed;
  if (window && !border) lengths |= kLengthOne;
  if (is("stride") && (!arg.def || *arg.def == "[]"))
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
int type_index(const Type& type) {
  int found = -1, index = 0;
  for (const ArgTypeName& k : kArgTypes) {
    if (type.base == k.base && type.list == k.list && type.optional_items == k.optional_items) {
      if (type.optional == k.optional) return index;
      found = index;
    }
    ++index;
  }
  if (found < 0) throw SchemaError("type " + type.base + " cannot be a list here");
  return found;
}

std::string type_name(const Type& type) { return kArgTypes[type_index(type)].name; }

}  // namespace tenon::core
