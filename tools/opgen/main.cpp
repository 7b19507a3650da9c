// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// opgen: reads ops/*.ops and writes, only where something changed, the op table of core, the op
// headers of the SDK, the functions, methods and autograd nodes of tenon, and the pointwise
// kernels' sources.
//
//   opgen --core OUT  --sdk OUT  --tenon OUT  --docs OUT  --infer DIR  --autocast TSV  FILE.ops...
// --docs is for the headers of tenon that are installed: those of --tenon with comments.
//   opgen --pointwise DEF OUT FILES
//   opgen --pointwise-cuda DEF OUT FILES
//   opgen --pointwise-list DEF
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "tools/opgen/emit.h"
#include "tools/opgen/pointwise.h"

namespace fs = std::filesystem;
using namespace opgen;

namespace {

// Names of the infer functions that core defines: a typo in a definition is caught here, at its
// line.
std::set<std::string> infer_names(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& e : fs::directory_iterator(folder)) {
    if (e.path().extension() != ".cpp") continue;
    std::string text = read_file(e.path());
    const std::string mark = "TENON_INFER(";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      std::size_t b = at + mark.size();
      names.insert(text.substr(b, text.find(')', b) - b));
    }
  }
  return names;
}

void check_all(const std::vector<Definition>& definitions, const std::string& infer_folder) {
  std::set<std::string> infers = infer_names(infer_folder);
  std::map<std::string, const Definition*> seen;
  for (const Definition& r : definitions) {
    auto [it, fresh] = seen.emplace(r.ident(), &r);
    if (!fresh)
      throw DefinitionError(r.file, r.line,
                            r.schema.full() + " has a definition already at " + it->second->file +
                                ":" + std::to_string(it->second->line));
    if (!r.infer.empty() && !infers.count(r.infer))
      throw DefinitionError(r.file, r.line, "no TENON_INFER(" + r.infer + ") in " + infer_folder);
  }
  for (const Definition& r : definitions) {
    if (r.scalar_overload.empty()) continue;
    bool found = std::any_of(definitions.begin(), definitions.end(), [&](const Definition& o) {
      return o.schema.full() == r.scalar_overload;
    });
    if (!found)
      throw DefinitionError(r.file, r.line,
                            "scalar names '" + r.scalar_overload + "', which has no definition");
  }
}

// Overloads share what is said of them: one without a doc has that of the first of its name.
void share_docs(std::vector<Definition>& definitions) {
  std::map<std::string, std::string> of_name;
  for (const Definition& r : definitions) {
    if (!r.doc.empty()) of_name.emplace(r.schema.name, r.doc);
  }
  for (Definition& r : definitions) {
    auto it = of_name.find(r.schema.name);
    if (it == of_name.end()) throw DefinitionError(r.file, r.line, r.schema.full() + " has no doc");
    if (r.doc.empty()) r.doc = it->second;
  }
}

int generate(const std::map<std::string, std::string>& flags,
             const std::vector<std::string>& files) {
  std::vector<Definition> definitions;
  std::vector<std::string> families;
  for (const std::string& f : files) {
    std::vector<Definition> more = parse_file(f);
    families.push_back(fs::path(f).stem());
    definitions.insert(definitions.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < definitions.size(); ++i) definitions[i].index = static_cast<int>(i);
  check_all(definitions, flags.at("--infer"));
  read_autocast(flags.at("--autocast"), definitions);
  share_docs(definitions);
  find_broadcasting(definitions);
  emit_core_table(definitions, flags.at("--core") + "/op_table.gen.cpp");
  emit_infer_args(definitions, flags.at("--core") + "/infer_args.gen.h");
  emit_sdk_headers(definitions, flags.at("--sdk") + "/tenon/sdk/ops");
  std::string out = flags.at("--tenon");
  emit_op_ids(definitions, out + "/op_ids.gen.h");
  emit_headers(definitions, families, out + "/tenon", Docs::Without);
  emit_headers(definitions, families, flags.at("--docs") + "/tenon", Docs::With);
  for (const std::string& family : families) {
    emit_nodes(definitions, family, out);
    emit_functions(definitions, family, out + "/functions_" + family + ".gen.cpp");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::map<std::string, std::string> flags;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
      std::string a = argv[i];
      if (a == "--pointwise" && i + 3 < argc)
        return generate_pointwise(argv[i + 1], argv[i + 2], std::stoul(argv[i + 3]));
      if (a == "--pointwise-cuda" && i + 3 < argc) {
        return generate_pointwise_cuda(argv[i + 1], argv[i + 2], std::stoul(argv[i + 3]));
      }
      if (a == "--pointwise-list" && i + 1 < argc) {
        for (const std::string& n : pointwise_names(argv[i + 1])) std::printf("%s\n", n.c_str());
        return 0;
      }
      if (a.rfind("--", 0) == 0 && i + 1 < argc)
        flags[a] = argv[++i];
      else
        files.push_back(a);
    }
    for (const char* need : {"--core", "--sdk", "--tenon", "--docs", "--infer", "--autocast"}) {
      if (!flags.count(need))
        throw std::runtime_error(std::string("opgen: missing ") + need + " PATH");
    }
    return generate(flags, files);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
