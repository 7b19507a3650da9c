// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/opgen/definition.h"

namespace opgen {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_if_changed(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  if (std::filesystem::exists(path) && read_file(path) == text) return;
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

namespace {

std::string trim(const std::string& s) {
  std::size_t b = s.find_first_not_of(" \t\r"), e = s.find_last_not_of(" \t\r");
  return b == std::string::npos ? "" : s.substr(b, e - b + 1);
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> out;
  std::size_t b = 0;
  while (b <= text.size()) {
    std::size_t e = text.find_first_of(separators, b);
    if (e == std::string::npos) e = text.size();
    std::string part = trim(text.substr(b, e - b));
    if (!part.empty()) out.push_back(part);
    b = e + 1;
  }
  return out;
}

// A comment starts at '#' with nothing or a space before it.
std::string without_comment(const std::string& line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return line.substr(0, i);
  }
  return line;
}

void set_forms(Definition& definition, const std::string& rest) {
  definition.function = definition.method = false;
  for (const std::string& f : split(rest, " \t")) {
    if (f == "function")
      definition.function = true;
    else if (f == "method")
      definition.method = true;
    else if (f == "name")
      definition.named = true;
    else if (f == "inplace")
      definition.inplace = true;
    else if (f == "out")
      definition.out = true;
    else
      throw DefinitionError(definition.file, definition.line,
                            "unknown form '" + f + "' (function, method, name, inplace, out)");
  }
}

void add_grad(Definition& definition, const std::string& rest, int line) {
  std::size_t eq = rest.find('=');
  if (eq == std::string::npos)
    throw DefinitionError(definition.file, line, "a grad line is 'argument = formula'");
  Grad g;
  g.line = line;
  g.targets = split(rest.substr(0, eq), ",");
  g.expr = trim(rest.substr(eq + 1));
  for (const std::string& t : g.targets) {
    bool found = false;
    for (const Arg& a : definition.schema.args) found |= a.name == t && a.type.tensor();
    if (!found)
      throw DefinitionError(definition.file, line,
                            "'" + t + "' is not a tensor argument of " + definition.schema.full());
  }
  definition.grads.push_back(g);
}

void require(Definition& definition, const std::string& rest, int line) {
  for (const std::string& name : split(rest, " \t,")) {
    bool found = false;
    for (Arg& a : definition.schema.args) {
      if (a.name != name) continue;
      a.required = found = true;
    }
    if (!found)
      throw DefinitionError(definition.file, line,
                            "'" + name + "' is not an argument of " + definition.schema.full());
  }
}

void set_era(Definition& definition, const std::string& rule, int line) {
  for (const char* known : {"float", "index", "mask", "operands", "truncate"}) {
    if (rule == known) definition.era04 = rule;
  }
  if (definition.era04.empty()) {
    throw DefinitionError(
        definition.file, line,
        "unknown era04 rule '" + rule + "' (float, index, mask, operands, truncate)");
  }
}

// Nothing: a function over definitions that every device serves. "primitives": a function over
// those too. "unary exp", "binary add": one call of a primitive.
void set_decomp(Definition& definition, const std::string& rest, int line) {
  const std::vector<std::string> words = split(rest, " \t");
  definition.on_primitives = !words.empty();
  definition.decomp = words.size() < 2;
  if (words.empty() || (words.size() == 1 && words[0] == "primitives")) return;
  if (words.size() != 2 || (words[0] != "unary" && words[0] != "binary")) {
    throw DefinitionError(
        definition.file, line,
        "unknown decomp '" + rest + "' (nothing, primitives, unary CODE, binary CODE)");
  }
  definition.by_code = words[0] == "unary" ? "Unary" : "Binary";
  definition.code = "TN_" + words[0] + "_" + words[1];
  for (char& c : definition.code)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

// Calls of uniform floating operands (core/dispatch/fast_path.cpp) need no shape rule: the result
// has their shape, and their dtype ("same") or bool.
void set_fast_path(Definition& definition, const std::string& rest, int line) {
  if (rest != "same" && rest != "bool")
    throw DefinitionError(definition.file, line, "unknown fast_path '" + rest + "' (same, bool)");
  definition.fast_path = rest;
}

void set_property(Definition& definition, const std::string& key, const std::string& rest,
                  int line) {
  if (key == "infer")
    definition.infer = rest;
  else if (key == "dtypes")
    definition.dtypes = rest;
  else if (key == "forms")
    set_forms(definition, rest);
  else if (key == "kind") {
    if (rest != "kernel" && rest != "view" && rest != "composite") {
      throw DefinitionError(definition.file, line,
                            "unknown kind '" + rest + "' (kernel, view, composite)");
    }
    definition.kind = rest;
  } else if (key == "decomp")
    set_decomp(definition, rest, line);
  else if (key == "complex")
    definition.complex_decomp = true;
  else if (key == "fast_path")
    set_fast_path(definition, rest, line);
  else if (key == "layout")
    definition.layout = rest;
  else if (key == "values")
    definition.on_values = true;
  else if (key == "body")
    definition.body += (definition.body.empty() ? "" : " ") + rest;
  else if (key == "broadcasts")
    definition.broadcasts = rest;
  else if (key == "primitive")
    definition.primitive = true;
  else if (key == "dynamic")
    definition.dynamic = true;
  else if (key == "nokernel")
    definition.no_kernel = true;
  else if (key == "crossdevice")
    definition.cross_device = true;
  else if (key == "ondemand")
    definition.on_demand = true;
  else if (key == "scalar")
    definition.scalar_overload = rest;
  else if (key == "random")
    definition.random_words = std::stoi(rest);
  else if (key == "version")
    definition.version = std::stoi(rest);
  else if (key == "required")
    require(definition, rest, line);
  else if (key == "mutates")
    definition.mutates = split(rest, " \t,");
  else if (key == "since")
    definition.since.push_back(parse_schema(rest, definition.file, line));
  else if (key == "grad")
    add_grad(definition, rest, line);
  else if (key == "era04")
    set_era(definition, rest, line);
  else if (key == "samples")
    definition.samples += (definition.samples.empty() ? "" : ";") + rest;
  else if (key == "doc")
    definition.doc += (definition.doc.empty() ? "" : " ") + rest;
  else
    throw DefinitionError(definition.file, line, "unknown property '" + key + "'");
}

void check(const Definition& definition) {
  auto bad = [&](const std::string& what) {
    throw DefinitionError(definition.file, definition.line, definition.schema.full() + ": " + what);
  };
  if (!definition.layout.empty() && definition.infer != "layout")
    bad("a layout line is for definitions that say 'infer layout'");
  if (!definition.body.empty() && !definition.composite())
    bad("a body line is for definitions of 'kind composite'");
  if (definition.on_values &&
      (definition.grads.size() != 1 || definition.infer.rfind("pointwise", 0) != 0))
    bad("a values line is for pointwise definitions with one grad line");
  if (!definition.fast_path.empty() &&
      (definition.infer.rfind("pointwise", 0) != 0 || definition.schema.results.size() != 1 ||
       definition.dynamic || definition.random_words > 0 || definition.cross_device ||
       definition.no_kernel)) {
    bad("a fast_path line is for pointwise operators with one result that depends on the operands "
        "alone");
  }
  if (definition.composite() && !definition.infer.empty())
    bad("a composite definition has no infer line");
  if (!definition.composite() && definition.infer.empty()) bad("no infer line");
  if (!definition.composite()) {
    for (const Result& r : definition.schema.results) {
      if (!r.type.plain_tensor()) bad("a kernel definition returns tensors; make it a composite");
    }
  }
  if (definition.inplace &&
      (definition.schema.args.empty() || !definition.schema.args[0].type.plain_tensor())) {
    bad("an in-place form needs a tensor as its first argument");
  }
  if (definition.composite() && !definition.grads.empty())
    bad("a composite definition gets its gradient from what it calls");
  for (const std::string& m : definition.mutates) {
    bool found = false;
    for (const Arg& a : definition.schema.args) found |= a.name == m;
    if (!found) bad("mutates names '" + m + "', which is not an argument");
  }
}

// One property, or the first line of a definition. Lines that are indented by six or more go on
// with the one before.
struct Line {
  int number;
  bool indented;
  std::string text;
};

std::vector<Line> read_lines(const std::string& path) {
  std::vector<Line> lines;
  std::istringstream in(read_file(path));
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    text = without_comment(text);
    if (trim(text).empty()) continue;
    const bool goes_on = text.rfind("      ", 0) == 0 && !lines.empty();
    if (goes_on)
      lines.back().text += " " + trim(text);
    else
      lines.push_back({number, text[0] == ' ' || text[0] == '\t', trim(text)});
  }
  return lines;
}

Definition start_definition(const std::string& path, int line, const std::string& schema) {
  Definition definition;
  definition.file = path;
  definition.line = line;
  definition.family = std::filesystem::path(path).stem();
  definition.schema = parse_schema(schema, path, line);
  const auto& args = definition.schema.args;
  definition.method = !args.empty() && args[0].type.plain_tensor() && !args[0].type.optional &&
                      args[0].name == "self";
  return definition;
}

}  // namespace

std::vector<Definition> parse_file(const std::string& path) {
  std::vector<Definition> definitions;
  for (const Line& line : read_lines(path)) {
    const std::size_t gap = line.text.find_first_of(" \t");
    const std::string key = line.text.substr(0, gap),
                      rest = gap == std::string::npos ? "" : trim(line.text.substr(gap));
    if (!line.indented) {
      if (key != "op")
        throw DefinitionError(path, line.number,
                              "a definition starts with 'op', not '" + key + "'");
      if (!definitions.empty()) check(definitions.back());
      definitions.push_back(start_definition(path, line.number, rest));
    } else {
      if (definitions.empty())
        throw DefinitionError(path, line.number, "a property before the first definition");
      set_property(definitions.back(), key, rest, line.number);
    }
  }
  if (!definitions.empty()) check(definitions.back());
  return definitions;
}

void read_autocast(const std::string& path, std::vector<Definition>& definitions) {
  const auto policy = [&](const std::string& word, int line) -> std::string {
    for (const char* known : {"lower_precision_fp", "fp32", "promote", "banned"}) {
      if (word == known) return word;
    }
    if (word != "-") throw DefinitionError(path, line, "unknown policy '" + word + "'");
    return "none";
  };
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = split(line, "\t");
    if (columns.size() != 3)
      throw DefinitionError(path, number, "a line is operator, policy on the CPU, on devices");
    bool found = false;
    for (Definition& d : definitions) {
      if (d.schema.name != columns[0]) continue;
      d.autocast = {policy(columns[1], number), policy(columns[2], number)};
      found = true;
    }
    if (!found) throw DefinitionError(path, number, "no operator is called " + columns[0]);
  }
}

}  // namespace opgen
