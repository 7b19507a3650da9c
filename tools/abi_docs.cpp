// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes docs/abi.md: what the headers of abi/ declare, with their comments, in the order of the
// arguments. Sizes and offsets come from tests/abi/layout.golden, which a test holds to the
// compiler's.
//
//   abi_docs INCLUDE_DIR LAYOUT HEADER... > docs/abi.md
//
// A comment belongs to what follows it, or to what ends on the line where it begins. A comment of
// one word inside a struct heads the fields below. Anything else is an error.
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "abi_headers.h"

namespace {

using tenon::abi_headers::fail;
using tenon::abi_headers::read;

constexpr std::size_t kColumns = 118;

std::string replaced(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}
std::string trimmed(const std::string& text) { return replaced(text, R"(^\s+|\s+$)", ""); }
std::string one_line(const std::string& text) {
  return trimmed(replaced(replaced(text, R"(\s+)", " "), R"(\( )", "("));
}

// A comment, directive or declaration as it stands in the header; `beside`: it begins on the line
// where another ended.
struct Piece {
  enum Kind { kComment, kDirective, kDeclaration } kind;
  std::string text;
  bool beside;
};

// Declarations end at `end` outside of braces and parentheses; those of an enum (',') also at a
// comment.
std::vector<Piece> split_pieces(const std::string& text, char end) {
  std::vector<Piece> out;
  std::size_t at = 0;
  while (true) {
    std::size_t start = text.find_first_not_of(" \t\n", at);
    if (start == std::string::npos) return out;
    bool beside = at > 0 && text.substr(at, start - at).find('\n') == std::string::npos;
    if (text.compare(start, 2, "/*") == 0) {
      at = text.find("*/", start) + 2;
      out.push_back({Piece::kComment, text.substr(start, at - start), beside});
      continue;
    }
    if (text[start] == '#') {
      at = text.find('\n', start);
      while (at != std::string::npos && text[at - 1] == '\\') at = text.find('\n', at + 1);
      at = std::min(at, text.size());
      out.push_back({Piece::kDirective, text.substr(start, at - start), beside});
      continue;
    }
    int depth = 0;
    std::size_t i = start;
    for (; i < text.size() && (depth > 0 || text[i] != end); ++i) {
      if (text.compare(i, 2, "/*") == 0) {
        if (depth == 0 && end == ',') break;
        i = text.find("*/", i) + 1;
        continue;
      }
      if (text[i] == '{' || text[i] == '(') ++depth;
      if (text[i] == '}' || text[i] == ')') --depth;
    }
    out.push_back({Piece::kDeclaration, trimmed(text.substr(start, i - start)), beside});
    at = std::min(i + (i < text.size() && text[i] == end), text.size());
  }
}

// The lines of a comment without its marks; indentation behind the mark is kept.
std::vector<std::string> lines_of(const std::string& comment) {
  std::vector<std::string> out;
  std::istringstream in(replaced(comment, R"(^/\*+ ?|\s*\*/$)", ""));
  for (std::string line; std::getline(in, line);) {
    out.push_back(replaced(out.empty() ? line : replaced(line, R"(^\s*\* ?)", ""), R"(\s+$)", ""));
  }
  return out;
}

// Names as code, and what Markdown would take for a tag as text.
std::string marked(const std::string& text) {
  std::string out, part;
  bool code = false;
  std::istringstream in(text);
  for (bool first = true; std::getline(in, part, '`'); first = false, code = !code) {
    if (!first) out += '`';
    if (!code)
      part = replaced(replaced(part, R"(<)", R"(\<)"), R"(\b((TN_|tn_)[A-Za-z0-9_]+(\.\w+)?))",
                      "`$1`");
    out += part;
  }
  return out + (text.empty() || text.back() != '`' ? "" : "`");
}

std::string wrapped(const std::string& text, const std::string& first, const std::string& next) {
  std::string out, line = first;
  std::istringstream in(text);
  bool fresh = true;
  for (std::string word; in >> word; fresh = false) {
    if (!fresh && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = next;
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
  }
  return out + line + "\n";
}

// Paragraphs, numbered lists, and what is indented otherwise as it stands.
std::string prose(const std::string& comment) {
  std::string out, paragraph, lead;
  bool as_it_is = false;
  auto flush = [&] {
    if (!paragraph.empty()) out += wrapped(marked(paragraph), lead, std::string(lead.size(), ' '));
    paragraph.clear();
    lead.clear();
  };
  auto verbatim = [&](bool on) {
    if (on == as_it_is) return;
    flush();
    if (on && !out.empty() && out.substr(out.size() - 2) != "\n\n") out += "\n";
    out += on ? "```\n" : "```\n\n";
    as_it_is = on;
  };
  for (const std::string& line : lines_of(comment)) {
    std::smatch m;
    std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (line.empty()) {
      verbatim(false);
      flush();
      if (out.size() > 1 && out.substr(out.size() - 2) != "\n\n") out += "\n";
    } else if (std::regex_match(line, m, std::regex(R"(\s*(\d+\. )(.*))"))) {
      if (lead.empty()) {
        flush();
        if (!out.empty() && out.substr(out.size() - 2) != "\n\n" && out.back() == '\n') out += "\n";
      }
      flush();
      lead = m[1];
      paragraph = m[2];
    } else if (indent >= 2 && lead.empty()) {
      verbatim(true);
      out += line.substr(2) + "\n";
    } else {
      verbatim(false);
      paragraph += (paragraph.empty() ? "" : " ") + line.substr(indent);
    }
  }
  verbatim(false);
  flush();
  return trimmed(out) + "\n\n";
}

std::string sentence(const std::string& comment) {
  std::string all;
  for (const std::string& line : lines_of(comment)) all += line + " ";
  return marked(one_line(all));
}

using Row = std::vector<std::string>;

// Columns line up, the last one is as long as it is, and left out where it is empty.
std::string table(Row head, std::vector<Row> rows) {
  if (std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.back().empty(); })) {
    head.pop_back();
    for (Row& row : rows) row.pop_back();
  }
  for (Row& row : rows) {
    for (std::string& cell : row) cell = replaced(cell, R"(\|)", R"(\|)");
  }
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < head.size(); ++c) {
    width.push_back(head[c].size());
    for (const Row& row : rows) width[c] = std::max(width[c], row[c].size());
  }
  auto line = [&](const Row& row) {
    std::string out = "|";
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::size_t gap = c + 1 < row.size() ? width[c] - row[c].size() : 0;
      bool number = head[c] == "offset" || head[c] == "size" || head[c] == "value";
      out +=
          " " + (number ? std::string(gap, ' ') + row[c] : row[c] + std::string(gap, ' ')) + " |";
    }
    return replaced(out, R"( +\|$)", " |") + "\n";
  };
  std::string out = line(head) + "|";
  for (std::size_t c = 0; c < head.size(); ++c) {
    bool number = head[c] == "offset" || head[c] == "size" || head[c] == "value";
    out += std::string(c + 1 < head.size() ? width[c] + (number ? 1 : 2) : 3, '-') +
           (number ? ":|" : "|");
  }
  out += "\n";
  for (const Row& row : rows) out += line(row);
  return out + "\n";
}

// "struct" and "struct.field" to {offset, size}; a struct's offset is 0.
using Layout = std::map<std::string, std::pair<std::string, std::string>>;

Layout layout_of(const std::string& path) {
  Layout out;
  std::istringstream in(read(path));
  std::string type;
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (std::regex_match(line, m, std::regex(R"(struct (\w+): (\d+) bytes)"))) {
      type = m[1];
      out[type] = {"0", m[2]};
    } else if (std::regex_match(line, m, std::regex(R"( +(\d+) +(\d+)  ([\w.]+) .*)"))) {
      out[type + "." + m[3].str()] = {m[1], m[2]};
    }
  }
  return out;
}

struct Member {
  std::string name, type, meaning;
  bool function;
};

// "tn_status (*f)(int)" is the function f of the type "tn_status (int)"; "char name[128]" is name,
// "char[128]".
Member member_of(const std::string& where, const std::string& declaration) {
  std::smatch m;
  if (std::regex_match(declaration, m, std::regex(R"(([^(]+)\(\*(\w+)\)(\(.*\)))")))
    return {m[2], m[1].str() + m[3].str(), "", true};
  if (std::regex_match(declaration, m, std::regex(R"((.*[ *])(\w+)(\[\w+\])?)")))
    return {m[2], trimmed(m[1]) + m[3].str(), "", false};
  fail(where, "not understood: " + declaration);
}

class Page {
 public:
  Page(std::string header, const Layout& layout) : header_(std::move(header)), layout_(layout) {}

  std::string purpose;  // the header's first comment

  std::string written(const std::string& source) {
    std::string text = replaced(source, R"(#ifdef __cplusplus\n[^#]*#endif\n)", "");
    std::vector<Piece> all = split_pieces(text, ';');
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].beside && all[i].kind == Piece::kComment &&
          all[i - 1].kind == Piece::kDeclaration) {
        std::swap(all[i], all[i - 1]);
      }
    }
    bool license = true, after_define = false;
    for (const Piece& p : all) {
      if (p.kind == Piece::kComment) {
        if (std::exchange(license, false)) continue;
        if (!purpose.empty() && !pending_.empty()) out_ += prose(pending_);
        (purpose.empty() ? purpose : pending_) = p.text;
        continue;
      }
      bool defines = p.kind == Piece::kDirective && p.text.rfind("#define TN_", 0) == 0;
      if (defines && (after_define || !pending_.empty())) define(p.text);
      if (p.kind == Piece::kDirective && !defines) continue;
      if (p.kind == Piece::kDeclaration) declaration(p.text);
      after_define = defines;
    }
    finish();
    if (!pending_.empty()) out_ += prose(pending_);
    return out_;
  }

 private:
  void finish() {
    if (!defines_.empty())
      out_ += "### Macros\n\n" + table({"name", "value", "meaning"}, std::exchange(defines_, {}));
    if (!functions_.empty()) out_ += "### Functions\n\n" + std::exchange(functions_, {}) + "\n";
  }

  std::string said() { return sentence(std::exchange(pending_, {})); }

  void define(const std::string& text) {
    std::smatch m;
    if (!std::regex_match(text, m, std::regex(R"(#define (\w+)(\([^)]*\))? ([^]*))")))
      fail(header_, "not understood: " + text);
    defines_.push_back(
        {"`" + m[1].str() + m[2].str() + "`", m[2].matched ? "" : "`" + m[3].str() + "`", said()});
  }

  void declaration(const std::string& text) {
    std::smatch m;
    std::string flat = one_line(replaced(text, R"(/\*[^]*?\*/)", " "));
    if (!defines_.empty()) finish();
    if (std::regex_match(flat, m, std::regex(R"(enum \{.*)"))) return enumeration(text);
    if (std::regex_match(flat, m, std::regex(R"(typedef struct (\w+) \{.*)")))
      return structure(m[1], text);
    if (std::regex_match(flat, m, std::regex(R"(TN_API (.*?)(\w+)\((.*)\))"))) {
      functions_ +=
          function("**" + m[2].str() + "**: `" + m[1].str() + "(" + m[3].str() + ")`", said());
      return;
    }
    std::string name;
    if (std::regex_match(flat, m, std::regex(R"(typedef struct (\w+) \1)")))
      name = m[1];
    else if (std::regex_match(flat, m, std::regex(R"(typedef .*?\(\*(\w+)\)\(.*)")))
      name = m[1];
    else if (std::regex_match(flat, m, std::regex(R"(typedef .*?(\w+))")))
      name = m[1];
    else
      fail(header_, "not understood: " + flat);
    out_ += "### " + name + "\n\n`" + flat + "`\n\n";
    if (!pending_.empty()) out_ += prose(std::exchange(pending_, {}));
    of_typedef_ = flat.find("int") != std::string::npos;
  }

  void enumeration(const std::string& text) {
    std::vector<Row> rows;
    std::vector<std::string> names;
    for (Member& m : members(body(text), ',')) {
      rows.push_back({"`" + m.name + "`", m.type, m.meaning});
      names.push_back(m.name);
    }
    // The constants of a type stand below it; others are headed by the common prefix of their
    // names.
    if (!std::exchange(of_typedef_, false) || !pending_.empty()) {
      std::string shared = names[0];
      for (const std::string& n : names) {
        while (n.compare(0, shared.size(), shared) != 0) shared.pop_back();
      }
      shared.resize(shared.rfind('_') + 1);
      if (names.size() == 1)
        out_ += "### " + names[0] + "\n\n";
      else if (shared == "TN_")
        out_ += "### " + names.front() + " to " + names.back() + "\n\n";
      else
        out_ += "### " + shared + "*\n\n";
      if (!pending_.empty()) out_ += prose(std::exchange(pending_, {}));
    }
    out_ += table({"name", "value", "meaning"}, rows);
  }

  void structure(const std::string& type, const std::string& text) {
    std::string comment = std::exchange(pending_, {}), functions;
    std::vector<Row> rows;
    of_typedef_ = false;
    for (const Member& m : members(body(text), ';')) {
      if (m.type.empty()) {  // the head of a group
        std::string head = m.name;
        head[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(head[0])));
        functions += (functions.empty() ? "" : "\n") + head + ":\n\n";
        continue;
      }
      auto at = layout_.find(type + "." + m.name);
      if (at == layout_.end())
        fail(header_, type + "." + m.name + " is not in the layout: regenerate the layout first");
      auto [offset, size] = at->second;
      if (m.function) {
        functions +=
            function("**" + m.name + "** (at " + offset + "): `" + m.type + "`", m.meaning);
      } else {
        rows.push_back({offset, size, "`" + m.name + "`", "`" + m.type + "`", m.meaning});
      }
    }
    out_ += "### " + type + "\n\n";
    if (!comment.empty()) out_ += prose(comment);
    out_ += layout_.at(type).second + " bytes.\n\n" +
            table({"offset", "size", "field", "type", "meaning"}, rows);
    if (!functions.empty()) out_ += functions + "\n";
  }

  static std::string function(const std::string& what, std::string meaning) {
    if (!meaning.empty())
      meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
    return wrapped(what + (meaning.empty() ? "" : ". " + meaning), "- ", "  ");
  }

  static std::string body(const std::string& text) {
    std::size_t open = text.find('{') + 1;
    return text.substr(open, text.rfind('}') - open);
  }

  // Of a struct (';') or an enum (','). A member without a type is the head of a group.
  std::vector<Member> members(const std::string& text, char end) {
    std::vector<Member> out;
    std::string before;
    for (const Piece& p : split_pieces(text, end)) {
      if (p.kind == Piece::kComment) {
        if (p.beside && !out.empty())
          out.back().meaning += (out.back().meaning.empty() ? "" : " ") + sentence(p.text);
        else if (end == ';' && std::regex_match(sentence(p.text), std::regex("[a-z]+")))
          out.push_back({sentence(p.text), "", "", false});
        else
          before = sentence(p.text);
        continue;
      }
      std::smatch m;
      std::string flat = one_line(replaced(p.text, R"(/\*[^]*?\*/)", " "));
      if (std::regex_match(flat, m, std::regex(R"(union \{.*\} (\w+))"))) {
        std::string name = m[1];
        for (Member inner : members(body(p.text), end)) {
          inner.name = name + "." + inner.name;
          out.push_back(inner);
        }
      } else if (end == ',') {
        if (!std::regex_match(flat, m, std::regex(R"((\w+) = (.+))")))
          fail(header_, "a constant without a value: " + flat);
        out.push_back({m[1], replaced(m[2], R"((\d)u\b)", "$1"), "", false});
      } else {
        out.push_back(member_of(header_, flat));
      }
      out.back().meaning = std::exchange(before, {});
    }
    return out;
  }

  std::string header_;
  const Layout& layout_;
  std::string out_, pending_, functions_;
  std::vector<Row> defines_;
  bool of_typedef_ = false;
};

constexpr const char* kHead = R"(<!-- Cut from the headers by ./dev abi-docs: change those. -->
# The ABI

Everything that crosses a library boundary, as the headers in [abi/include](../abi/include/tenon/abi) declare it.
[abi/RULES.md](../abi/RULES.md) has their rules and says how they may change;
[docs/plugin.md](plugin.md) is a guide to writing a backend. `sdk/` wraps all of it for C++.

Sizes and offsets are bytes, on 64-bit platforms. Function types are written without the pointer: a field **count** of
the type `tn_status (void* context, int32_t* n)` is a pointer to such a function.

)";

std::string anchor(const std::string& heading) {
  return replaced(replaced(heading, R"([^\w])", ""), R"(^)", "#");
}

std::string first_sentence(const std::string& text) {
  std::smatch m;
  return std::regex_search(text, m, std::regex(R"(^[^]*?\.(?=\s))")) ? m[0].str() : text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("abi_docs", "usage: abi_docs INCLUDE_DIR LAYOUT HEADER...");
  Layout layout = layout_of(argv[2]);
  std::vector<Row> contents;
  std::string all;
  for (int i = 3; i < argc; ++i) {
    std::string name = replaced(argv[i], "^tenon/abi/", "");
    Page page(name, layout);
    std::string written = page.written(read(std::string(argv[1]) + "/" + argv[i]));
    std::string purpose = prose(page.purpose);
    contents.push_back({"[" + name + "](" + anchor(name) + ")", one_line(first_sentence(purpose))});
    all += "## " + name + "\n\n" + purpose + written;
  }
  all = kHead + table({"header", "what it declares"}, contents) + all;
  std::cout << all.substr(0, all.find_last_not_of('\n') + 2);
  return 0;
}
