// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/opgen/pointwise.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tools/opgen/definition.h"

namespace opgen {
namespace {

std::string trim(const std::string& s) {
  const std::size_t b = s.find_first_not_of(" \t"), e = s.find_last_not_of(" \t\r");
  return b == std::string::npos ? "" : s.substr(b, e - b + 1);
}

std::vector<std::string> words(const std::string& s) {
  std::istringstream in(s);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

struct Overload {
  std::string name, kinds;
};

struct Line {
  std::string name, dtypes, result, expr, guard = "None";
  std::string complex;  // the expression for complex numbers; empty if there is none
  std::vector<Overload> overloads;
  std::vector<std::string> operands, params;
  bool simd = false, mask = false, shared = false;
};

struct Fault {
  const std::string& file;
  int line;
  [[noreturn]] void operator()(const std::string& what) const {
    throw DefinitionError(file, line, what);
  }
};

const std::map<std::string, std::string>& type_lists() {
  static const std::map<std::string, std::string> lists = {{"all", "PW_ALL"},
                                                           {"number", "PW_NUMBER"},
                                                           {"floating", "PW_FLOATING"},
                                                           {"integral", "PW_INTEGRAL"},
                                                           {"integral,bool", "PW_BITS"}};
  return lists;
}

// The last '|' columns may hold '|' themselves only as '||'.
std::vector<std::string> columns(const std::string& text) {
  std::vector<std::string> out(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool spaced = text[i] == '|' && (i == 0 || text[i - 1] == ' ') &&
                        (i + 1 == text.size() || text[i + 1] == ' ');
    if (spaced)
      out.emplace_back();
    else
      out.back() += text[i];
  }
  for (std::string& c : out) c = trim(c);
  return out;
}

void read_options(Line& l, const std::string& text, const Fault& fault) {
  for (const std::string& w : words(text)) {
    if (w == "simd")
      l.simd = true;
    else if (w == "shared")
      l.shared = true;
    else if (w.rfind("guard=", 0) == 0)
      l.guard = w.substr(6);
    else if (w == "complex")
      l.complex = l.expr;
    else if (w.rfind("complex=", 0) == 0)
      l.complex = w.substr(8);
    else
      fault("unknown option '" + w + "'");
  }
}

Line parse_line(const std::string& text, const Fault& fault) {
  const std::vector<std::string> c = columns(text);
  if (c.size() < 6)
    fault("a line has the columns name | overloads | dtypes | result | operands | expression");
  Line l;
  l.name = c[0];
  for (const std::string& w : words(c[1])) {
    const std::size_t colon = w.find(':');
    if (colon == std::string::npos) fault("an overload is written name:kinds, not '" + w + "'");
    l.overloads.push_back({w.substr(0, colon), w.substr(colon + 1)});
  }
  l.dtypes = c[2];
  if (!type_lists().count(l.dtypes)) fault("unknown dtypes '" + l.dtypes + "'");
  l.result = c[3];
  if (l.result != "same" && l.result != "bool")
    fault("a result is same or bool, not '" + l.result + "'");
  for (const std::string& w : words(c[4])) {
    if (w == "m" || w == "a" || w == "b" || w == "c")
      l.operands.push_back(w);
    else
      l.params.push_back(w);
  }
  l.mask = !l.operands.empty() && l.operands[0] == "m";
  if (l.operands.empty() || l.operands.size() > 3) fault("one to three operands named m, a, b, c");
  l.expr = c[5];
  if (c.size() > 6) read_options(l, c[6], fault);
  for (const Overload& o : l.overloads) {
    if (o.kinds.size() != l.operands.size() + l.params.size())
      fault("overload '" + o.name + "' has another number of arguments");
  }
  return l;
}

std::vector<std::pair<int, std::string>> lines_of(const std::string& def_file) {
  std::vector<std::pair<int, std::string>> out;
  std::istringstream in(read_file(def_file));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trim(line);
    if (!line.empty() && line[0] != '#') out.emplace_back(number, line);
  }
  return out;
}

std::string apply_of(const Line& l, const std::string& mark, const std::string& expr) {
  std::string s = "template <class T, class P> static " + mark + " auto apply(";
  for (std::size_t i = 0; i < l.operands.size(); ++i) {
    s += (i ? ", " : "") + std::string(l.operands[i] == "m" ? "bool " : "T ") + l.operands[i];
  }
  s += l.params.empty() ? ", const P&) { " : ", const P& p) { ";
  for (std::size_t i = 0; i < l.params.size(); ++i) {
    s += "const T " + l.params[i] + " = p[" + std::to_string(i) + "]; ";
  }
  return s + "return " + expr + "; }";
}

// One kernel: typed parameters, and which go into the loop as operands and which as numbers. `run`
// begins the call and `end` ends it; `traits` are added to what the kernel says of itself.
std::string kernel_of(const Line& l, const Overload& o, const std::string& run,
                      const std::string& end, const std::string& dtypes,
                      const std::string& traits) {
  static const std::map<char, std::string> types = {{'t', "Tensor"},
                                                    {'n', "Scalar"},
                                                    {'l', "Scalar"},
                                                    {'f', "double"},
                                                    {'i', "int64_t"},
                                                    {'m', "std::optional<Scalar>"},
                                                    {'M', "std::optional<Scalar>"}};
  const std::string ident = o.name.empty() ? l.name : l.name + "_" + o.name;
  std::string head = "tn_status " + ident + "_kernel(sdk::Call& call, Tensor out", operands, params,
              inplace;
  for (std::size_t i = 0; i < o.kinds.size(); ++i) {
    const bool operand = i < l.operands.size();
    const std::string name = operand ? l.operands[i] : l.params[i - l.operands.size()];
    const char k = o.kinds[i];
    head += ", " + types.at(k) + " " + name;
    std::string use = name;
    if (k == 'l') use = "limited(" + name + ", a.dtype())";
    if (k == 'm') use = "Param(" + name + ", Limit::Lowest)";
    if (k == 'M') use = "Param(" + name + ", Limit::Highest)";
    std::string& list = operand ? operands : params;
    list += (list.empty() ? "" : ", ") + use;
    const bool shares = k == 't' && !(l.result == "bool" && l.dtypes == "floating");
    if (shares) inplace += (inplace.empty() ? "0=" : ",0=") + std::to_string(i);
  }
  return head + ") {\n  return " + run + ", out, {" + operands + "}, {" + params + "}" + end +
         ");\n}\n" + "TN_KERNEL(" + ident + ", " + ident + "_kernel, dtypes(\"" + dtypes +
         "\").any_strides().broadcasts().inplace(\"" + inplace + "\")" + traits + ");\n";
}

constexpr const char* kWritten =
    "// Written by opgen from pointwise.def; edit the lines there instead.\n";

// What is compiled for each instruction set.
std::string body_of(const Line& l) {
  const auto flag = [](bool b) { return b ? "1\n" : "0\n"; };
  std::string s = "#define PW_TABLE PwLoops_" + l.name + "\n";
  s += "#define PW_NAMESPACE of_" + l.name + "\n";
  s += "#define PW_INPUTS " + std::to_string(l.operands.size()) + "\n";
  s += "#define PW_PARAMS " + std::to_string(l.params.size()) + "\n";
  s += std::string("#define PW_MASK ") + flag(l.mask);
  s += std::string("#define PW_OUT_BOOL ") + flag(l.result == "bool");
  s += std::string("#define PW_SIMD ") + flag(l.simd);
  s += "#define PW_TYPES " + type_lists().at(l.dtypes) + "\n";
  s += "#define PW_APPLY " + apply_of(l, "PW_INLINE", l.expr) + "\n";
  return s + "#include \"plugin_cpu/pointwise/body-inl.h\"\n";
}

// What the loops of an operator are made from where they are templates.
std::string op_of(const Line& l, const std::string& name, const std::string& rest) {
  std::string s = "struct " + name + " {\n";
  s += "  static constexpr int kInputs = " + std::to_string(l.operands.size()) +
       ", kParams = " + std::to_string(l.params.size()) + ";\n";
  s += std::string("  static constexpr bool kMask = ") + (l.mask ? "true" : "false") +
       ", kOutBool = " + (l.result == "bool" ? "true" : "false") + ";\n";
  return s + rest + "};\n";
}

std::string source_of(const std::vector<Line>& lines, const std::string& bodies) {
  std::string s = kWritten;
  s += "#include \"plugin_cpu/pointwise/complex.h\"\n";
  s += "#include \"plugin_cpu/pointwise/driver.h\"\n#include \"tenon/sdk/number.h\"\n";
  for (const Line& l : lines) s += "#include \"tenon/sdk/ops/" + l.name + ".h\"\n";
  s += "\n#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"" + bodies + "\"\n";
  s += "#include \"isa/targets.h\"\n\n#include \"" + bodies + "\"\n\n";
  s += "namespace tenon::cpu::pw {\nnamespace {\nTN_MATH_USING\nusing sdk::math::conj;\n}  // "
       "namespace\n";
  for (const Line& l : lines) {
    s += "\nnamespace {\n\nPW_LOOPS(" + l.name + ")\n\n";
    std::string end = ", Guard::" + l.guard, dtypes = l.dtypes;
    if (!l.complex.empty()) {
      const std::string op = "Complex_" + l.name;
      s += op_of(l, op, "  " + apply_of(l, "", l.complex) + "\n") + "\n";
      end += ", complex_loops<" + op + ">()";
      dtypes += ",complex";
    }
    for (const Overload& o : l.overloads) {
      s += kernel_of(l, o, "run(call, chosen_" + l.name + "()", end, dtypes, "") + "\n";
    }
    s += "}  // namespace\n";
    if (l.shared)
      s += "\nconst Loops& loops_" + l.name + "() { return chosen_" + l.name + "(); }\n";
  }
  return s + "\n}  // namespace tenon::cpu::pw\n";
}

// The same file for a name, whichever other lines there are.
std::size_t place_of(const std::string& name, std::size_t files) {
  std::size_t h = 0;
  for (const char c : name) h = h * 31 + static_cast<unsigned char>(c);
  return h % files;
}

const std::map<std::string, std::string>& cuda_types() {
  static const std::map<std::string, std::string> lists = {{"all", "All"},
                                                           {"number", "Number"},
                                                           {"floating", "Floating"},
                                                           {"integral", "Integral"},
                                                           {"integral,bool", "Bits"}};
  return lists;
}

std::string cuda_source_of(const std::vector<Line>& lines) {
  std::string s = kWritten;
  s += "#include \"plugin_cuda/device/pointwise.cuh\"\n";
  for (const Line& l : lines) s += "#include \"tenon/sdk/ops/" + l.name + ".h\"\n";
  s += "\nnamespace tenon::cuda::pw {\nnamespace {\n\nusing sdk::limited;\nTN_MATH_USING\n";
  for (const Line& l : lines) {
    const std::string op = "Op_" + l.name;
    s += "\n" + op_of(l, op,
                      "  static constexpr Guard kGuard = Guard::" + l.guard + ";\n  " +
                          apply_of(l, "TN_HD", l.expr) + "\n");
    for (const Overload& o : l.overloads) {
      s += kernel_of(l, o, "run<" + op + ">(call, " + cuda_types().at(l.dtypes) + "{}", "",
                     l.dtypes, ".capture_safe()");
    }
  }
  return s + "\n}  // namespace\n}  // namespace tenon::cuda::pw\n";
}

}  // namespace

int generate_pointwise_cuda(const std::string& def_file, const std::string& out_dir,
                            std::size_t files) {
  const auto all = lines_of(def_file);
  std::vector<std::vector<Line>> groups(files);
  for (std::size_t i = 0; i < all.size(); ++i) {
    groups[i % files].push_back(parse_line(all[i].second, Fault{def_file, all[i].first}));
  }
  for (std::size_t i = 0; i < files; ++i) {
    write_if_changed(out_dir + "/pw_" + std::to_string(i) + ".cu", cuda_source_of(groups[i]));
  }
  return 0;
}

int generate_pointwise(const std::string& def_file, const std::string& out_dir, std::size_t files) {
  std::vector<std::vector<Line>> groups(files);
  for (const auto& [number, text] : lines_of(def_file)) {
    Line l = parse_line(text, Fault{def_file, number});
    std::vector<Line>& group = groups[place_of(l.name, files)];
    group.push_back(std::move(l));
  }
  for (std::size_t i = 0; i < files; ++i) {
    const std::string name = "pw_" + std::to_string(i), bodies = name + "-inl.h";
    std::string all = kWritten;
    for (const Line& l : groups[i]) all += body_of(l);
    write_if_changed(out_dir + "/" + bodies, all);
    write_if_changed(out_dir + "/" + name + ".cpp", source_of(groups[i], bodies));
  }
  return 0;
}

std::vector<std::string> pointwise_names(const std::string& def_file) {
  std::vector<std::string> names;
  for (const auto& [number, text] : lines_of(def_file))
    names.push_back(parse_line(text, Fault{def_file, number}).name);
  return names;
}

}  // namespace opgen
