// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/opgen/row.h"

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

void set_forms(Row& row, const std::string& rest) {
  row.function = row.method = false;
  for (const std::string& f : split(rest, " \t")) {
    if (f == "function")
      row.function = true;
    else if (f == "method")
      row.method = true;
    else if (f == "inplace")
      row.inplace = true;
    else if (f == "out")
      row.out = true;
    else
      throw RowError(row.file, row.line,
                     "unknown form '" + f + "' (function, method, inplace, out)");
  }
}

void add_grad(Row& row, const std::string& rest, int line) {
  std::size_t eq = rest.find('=');
  if (eq == std::string::npos)
    throw RowError(row.file, line, "a grad line is 'argument = formula'");
  Grad g;
  g.line = line;
  g.targets = split(rest.substr(0, eq), ",");
  g.expr = trim(rest.substr(eq + 1));
  for (const std::string& t : g.targets) {
    bool found = false;
    for (const Arg& a : row.schema.args) found |= a.name == t && a.type.tensor();
    if (!found)
      throw RowError(row.file, line,
                     "'" + t + "' is not a tensor argument of " + row.schema.full());
  }
  row.grads.push_back(g);
}

void require(Row& row, const std::string& rest, int line) {
  for (const std::string& name : split(rest, " \t,")) {
    bool found = false;
    for (Arg& a : row.schema.args) {
      if (a.name != name) continue;
      a.required = found = true;
    }
    if (!found)
      throw RowError(row.file, line, "'" + name + "' is not an argument of " + row.schema.full());
  }
}

void set_era(Row& row, const std::string& rule, int line) {
  for (const char* known : {"float", "index", "mask", "operands", "truncate"}) {
    if (rule == known) row.era04 = rule;
  }
  if (row.era04.empty()) {
    throw RowError(row.file, line,
                   "unknown era04 rule '" + rule + "' (float, index, mask, operands, truncate)");
  }
}

// Nothing: a function over rows that every device serves. "primitives": a function over those too.
// "unary exp", "binary add": one call of a primitive.
void set_decomp(Row& row, const std::string& rest, int line) {
  const std::vector<std::string> words = split(rest, " \t");
  row.on_primitives = !words.empty();
  row.decomp = words.size() < 2;
  if (words.empty() || (words.size() == 1 && words[0] == "primitives")) return;
  if (words.size() != 2 || (words[0] != "unary" && words[0] != "binary")) {
    throw RowError(row.file, line,
                   "unknown decomp '" + rest + "' (nothing, primitives, unary CODE, binary CODE)");
  }
  row.by_code = words[0] == "unary" ? "Unary" : "Binary";
  row.code = "TN_" + words[0] + "_" + words[1];
  for (char& c : row.code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

// Calls of uniform floating operands (core/dispatch/fast_path.cpp) need no shape rule: the result
// has their shape, and their dtype ("same") or bool.
void set_fast_path(Row& row, const std::string& rest, int line) {
  if (rest != "same" && rest != "bool")
    throw RowError(row.file, line, "unknown fast_path '" + rest + "' (same, bool)");
  row.fast_path = rest;
}

void set_property(Row& row, const std::string& key, const std::string& rest, int line) {
  if (key == "infer")
    row.infer = rest;
  else if (key == "dtypes")
    row.dtypes = rest;
  else if (key == "forms")
    set_forms(row, rest);
  else if (key == "kind") {
    if (rest != "kernel" && rest != "view" && rest != "composite") {
      throw RowError(row.file, line, "unknown kind '" + rest + "' (kernel, view, composite)");
    }
    row.kind = rest;
  } else if (key == "decomp")
    set_decomp(row, rest, line);
  else if (key == "fast_path")
    set_fast_path(row, rest, line);
  else if (key == "layout")
    row.layout = rest;
  else if (key == "values")
    row.on_values = true;
  else if (key == "body")
    row.body += (row.body.empty() ? "" : " ") + rest;
  else if (key == "primitive")
    row.primitive = true;
  else if (key == "dynamic")
    row.dynamic = true;
  else if (key == "nokernel")
    row.no_kernel = true;
  else if (key == "crossdevice")
    row.cross_device = true;
  else if (key == "scalar")
    row.scalar_overload = rest;
  else if (key == "random")
    row.random_words = std::stoi(rest);
  else if (key == "version")
    row.version = std::stoi(rest);
  else if (key == "required")
    require(row, rest, line);
  else if (key == "mutates")
    row.mutates = split(rest, " \t,");
  else if (key == "since")
    row.since.push_back(parse_schema(rest, row.file, line));
  else if (key == "grad")
    add_grad(row, rest, line);
  else if (key == "era04")
    set_era(row, rest, line);
  else if (key == "samples")
    row.samples += (row.samples.empty() ? "" : ";") + rest;
  else if (key == "doc")
    row.doc += (row.doc.empty() ? "" : " ") + rest;
  else
    throw RowError(row.file, line, "unknown property '" + key + "'");
}

void check(const Row& row) {
  auto bad = [&](const std::string& what) {
    throw RowError(row.file, row.line, row.schema.full() + ": " + what);
  };
  if (!row.layout.empty() && row.infer != "layout")
    bad("a layout line is for rows that say 'infer layout'");
  if (!row.body.empty() && !row.composite()) bad("a body line is for rows of 'kind composite'");
  if (row.on_values && (row.grads.size() != 1 || row.infer.rfind("pointwise", 0) != 0))
    bad("a values line is for pointwise rows with one grad line");
  if (!row.fast_path.empty() &&
      (row.infer.rfind("pointwise", 0) != 0 || row.schema.results.size() != 1 || row.dynamic ||
       row.random_words > 0 || row.cross_device || row.no_kernel)) {
    bad("a fast_path line is for pointwise operators with one result that depends on the operands "
        "alone");
  }
  if (row.composite() && !row.infer.empty()) bad("a composite row has no infer line");
  if (!row.composite() && row.infer.empty()) bad("no infer line");
  if (!row.composite()) {
    for (const Result& r : row.schema.results) {
      if (!r.type.plain_tensor()) bad("a kernel row returns tensors; make it a composite");
    }
  }
  if (row.inplace && (row.schema.args.empty() || !row.schema.args[0].type.plain_tensor())) {
    bad("an in-place form needs a tensor as its first argument");
  }
  if (row.composite() && !row.grads.empty())
    bad("a composite row gets its gradient from what it calls");
  for (const std::string& m : row.mutates) {
    bool found = false;
    for (const Arg& a : row.schema.args) found |= a.name == m;
    if (!found) bad("mutates names '" + m + "', which is no argument");
  }
}

}  // namespace

std::vector<Row> parse_file(const std::string& path) {
  std::vector<Row> rows;
  std::istringstream in(read_file(path));
  std::string line;
  int number = 0;
  while (std::getline(in, line)) {
    ++number;
    line = without_comment(line);
    if (trim(line).empty()) continue;
    bool indented = line[0] == ' ' || line[0] == '\t';
    std::string body = trim(line);
    std::size_t gap = body.find_first_of(" \t");
    std::string key = body.substr(0, gap),
                rest = gap == std::string::npos ? "" : trim(body.substr(gap));
    if (!indented) {
      if (key != "op") throw RowError(path, number, "a row starts with 'op', not '" + key + "'");
      if (!rows.empty()) check(rows.back());
      Row row;
      row.file = path;
      row.line = number;
      row.family = std::filesystem::path(path).stem();
      row.schema = parse_schema(rest, path, number);
      const auto& args = row.schema.args;
      row.method = !args.empty() && args[0].type.plain_tensor() && !args[0].type.optional &&
                   args[0].name == "self";
      rows.push_back(row);
    } else {
      if (rows.empty()) throw RowError(path, number, "a property before the first row");
      set_property(rows.back(), key, rest, number);
    }
  }
  if (!rows.empty()) check(rows.back());
  return rows;
}

}  // namespace opgen
