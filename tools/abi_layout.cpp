// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads the headers of abi/ and writes a C program that prints their layout: size and alignment of
// each struct, offset, size and declaration of each field, the value of each enumerator, each
// function's signature. Its output is compared with tests/abi/layout.golden; a difference is a
// change of the ABI and needs a line in abi/CHANGELOG.md.
//
//   abi_layout INCLUDE_DIR HEADER... > print.c
//
// It parses the few forms that these headers use. Anything else is an error, and a field that it
// missed is a hole in the printed layout.
#include <cctype>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "abi_headers.h"

namespace {

using tenon::abi_headers::fail;
using tenon::abi_headers::read;

// Without comments and directives, one blank between words; defined constants are kept apart.
std::string normalize(const std::string& source, std::vector<std::string>& constants) {
  std::string text = std::regex_replace(source, std::regex(R"(/\*[^]*?\*/)"), " ");
  std::string out;
  std::istringstream lines(std::regex_replace(text, std::regex(R"(\\\n)"), " "));
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, std::regex(R"(\s*#\s*define (TN_\w+) +(\d+|".*")\s*)")))
      constants.push_back(m[1]);
    std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    out += line + " ";
  }
  out = std::regex_replace(out, std::regex(R"(extern "C" \{)"), " ");
  out = std::regex_replace(out, std::regex(R"(\s+)"), " ");
  return std::regex_replace(out, std::regex(R"( ?([(){};,*\[\]]) ?)"), "$1");
}

// The declared name: of a function pointer, an array or a plain field.
std::string name_of(const std::string& declaration) {
  std::smatch m;
  if (std::regex_search(declaration, m, std::regex(R"(\(\*(\w+)\))"))) return m[1];
  if (std::regex_search(declaration, m, std::regex(R"((\w+)(\[\w+\])*$)"))) return m[1];
  return "";
}

std::string quoted(const std::string& s) {
  return "\"" + std::regex_replace(s, std::regex("\""), "\\\"") + "\"";
}

// "const char*ptr" -> "const char* ptr"
std::string pretty(const std::string& s) {
  std::string spaced = std::regex_replace(s, std::regex(R"(\*(?=[A-Za-z]))"), "* ");
  return std::regex_replace(std::regex_replace(spaced, std::regex(R"(,)"), ", "),
                            std::regex(R"(\(\* )"), "(*");
}

struct Parser {
  std::string header, text;
  std::size_t at = 0;
  std::ostream& out;

  bool done() const { return at >= text.size(); }
  bool accept(const std::string& word) {
    if (text.compare(at, word.size(), word) != 0) return false;
    at += word.size();
    return true;
  }
  // Up to the character at depth zero of braces and parentheses; that character is consumed.
  std::string until(char end) {
    int depth = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      if (text[i] == end && depth == 0) {
        std::string part = text.substr(at, i - at);
        at = i + 1;
        return part;
      }
      if (text[i] == '{' || text[i] == '(') ++depth;
      if (text[i] == '}' || text[i] == ')') --depth;
    }
    fail(header, "expected '" + std::string(1, end) + "' after: " + text.substr(at, 60));
  }
};

// Each field of a struct or union, in order; `path` leads from the struct to here ("u.").
void fields(const std::string& header, const std::string& type, const std::string& path,
            const std::string& body, std::ostream& out) {
  Parser p{header, body, 0, out};
  while (!p.done()) {
    std::string declaration;
    if (p.accept("union{")) {
      std::string inner = p.until('}');
      std::string name = p.until(';');
      fields(header, type, path + name + ".", inner, out);
      continue;
    }
    declaration = p.until(';');
    std::string name = name_of(declaration);
    if (name.empty()) fail(header, "field not understood: " + declaration);
    out << "  FIELD(" << type << ", " << path << name << ", " << quoted(pretty(declaration))
        << ");\n";
  }
}

void enumerators(const std::string& body, std::ostream& out) {
  std::istringstream items(body);
  for (std::string item; std::getline(items, item, ',');) {
    std::smatch m;
    if (std::regex_search(item, m, std::regex(R"(^\s*(\w+))")))
      out << "  CONSTANT(" << m[1] << ");\n";
  }
}

void declarations(const std::string& header, const std::string& text, std::ostream& out) {
  Parser p{header, text, 0, out};
  while (!p.done()) {
    if (p.accept(" ") || p.accept("}") || p.accept(";")) continue;
    if (p.accept("enum{")) {
      enumerators(p.until('}'), out);
      continue;
    }
    bool is_typedef = p.accept("typedef ");
    std::size_t start = p.at;
    if (is_typedef && p.accept("struct ")) {
      std::size_t brace = text.find_first_of("{;", p.at);
      std::string name = text.substr(p.at, brace - p.at);
      p.at = brace + 1;
      if (text[brace] == ';') continue;  // opaque
      std::string body = p.until('}');
      p.until(';');
      out << "  STRUCT(" << name << ");\n";
      fields(header, name, "", body, out);
      out << "  END(" << name << ");\n";
      continue;
    }
    p.at = start;
    std::string declaration = p.until(';');
    if (declaration.empty()) continue;
    if (!is_typedef && declaration.find('(') == std::string::npos)
      fail(header, "not understood: " + declaration);
    out << "  puts(" << quoted((is_typedef ? "typedef " : "function ") + pretty(declaration))
        << ");\n";
  }
}

constexpr const char* kProlog = R"(#include <stdio.h>
#include <stddef.h>
static size_t end_of_last;
#define STRUCT(T) (end_of_last = 0, printf("struct %s: %zu bytes\n", #T, sizeof(T)))
#define FIELD(T, f, text) field(#f, offsetof(T, f), sizeof(((T*)0)->f), text)
#define END(T) hole(sizeof(T))
#define CONSTANT(c) printf("constant %s = %lld\n", #c, (long long)(c))
#define TEXT(c) printf("constant %s = %s\n", #c, c)
static void hole(size_t to) {
  if (to >= end_of_last + 8) printf("  hole of %zu bytes\n", to - end_of_last);
}
static void field(const char* name, size_t offset, size_t size, const char* text) {
  hole(offset);
  printf("  %4zu %4zu  %-18s %s\n", offset, size, name, text);
  if (offset + size > end_of_last) end_of_last = offset + size;
}
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("abi_layout", "usage: abi_layout INCLUDE_DIR HEADER...");
  std::ostringstream body;
  std::cout << kProlog;
  for (int i = 2; i < argc; ++i) std::cout << "#include \"" << argv[i] << "\"\n";
  for (int i = 2; i < argc; ++i) {
    std::vector<std::string> constants;
    std::string source = read(std::string(argv[1]) + "/" + argv[i]);
    std::string text = normalize(source, constants);
    body << "  puts(\"\\n# " << argv[i] << "\");\n";
    for (const std::string& c : constants) {
      bool is_text = std::regex_search(source, std::regex("define " + c + " +\""));
      body << (is_text ? "  TEXT(" : "  CONSTANT(") << c << ");\n";
    }
    declarations(argv[i], text, body);
  }
  std::cout << "int main(void) {\n" << body.str() << "  return 0;\n}\n";
  return 0;
}
