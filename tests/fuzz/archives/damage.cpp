// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "damage.h"

#include <algorithm>

#include "jit/formats/zip.h"

namespace tenon::fuzz {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void change_pickle(std::string& p, Random& r) {
  if (p.empty()) return;
  static const std::string kOpcodes("()]}ae0123RbcQhjqru.NKMJGXt\x81\x85\x86\x87\x88\x89\x8a\x93");
  const std::size_t at = r.below(p.size());
  switch (r.below(5)) {
    case 0:
      p[at] = kOpcodes[r.below(kOpcodes.size())];
      break;
    case 1:  // what is remembered under another key
      p.insert(at, std::string("h") + static_cast<char>(r.below(60)));
      break;
    case 2:
      p.insert(at, 1, kOpcodes[r.below(kOpcodes.size())]);
      break;
    case 3: {  // a number or a name in another's place
      static const std::vector<std::string> kWords = {"FloatStorage",
                                                      "LongStorage",
                                                      "BoolStorage",
                                                      "QInt8Storage",
                                                      "UntypedStorage",
                                                      "storage",
                                                      "cpu",
                                                      "cuda:0",
                                                      "meta",
                                                      "List[int]",
                                                      "Optional[Tensor]",
                                                      "Dict[str, List[int]]",
                                                      "_rebuild_tensor_v2",
                                                      "_rebuild_qtensor",
                                                      "restore_type_tag",
                                                      "build_intlist",
                                                      "OrderedDict"};
      const std::string &from = r.pick(kWords), &to = r.pick(kWords);
      const std::size_t found = p.find(from, at);
      if (found != std::string::npos) p.replace(found, from.size(), to);
      break;
    }
    default:  // depth
      p.insert(at, std::string(r.below(r.chance(0.05) ? 20000 : 20), r.pick({']', '}', '(', ')'})));
  }
}

void change_code(std::string& text, Random& r) {
  if (text.empty()) return;
  static const std::vector<std::string> kWords = {"Tensor",
                                                  "int",
                                                  "float",
                                                  "bool",
                                                  "str",
                                                  "List[int]",
                                                  "Optional[Tensor]",
                                                  "Tuple[()]",
                                                  "__torch__.programs.Inner",
                                                  "__torch__.programs.Attributes",
                                                  "torch",
                                                  "ops.prim",
                                                  "CONSTANTS",
                                                  "CONSTANTS.c0",
                                                  "CONSTANTS.c9",
                                                  "self",
                                                  "None",
                                                  "(",
                                                  ")",
                                                  "[",
                                                  "]",
                                                  ":",
                                                  "\n",
                                                  "    ",
                                                  "if",
                                                  "while",
                                                  "return",
                                                  "break",
                                                  "0",
                                                  "-1",
                                                  "9223372036854775807",
                                                  "\"",
                                                  "annotate",
                                                  "isinstance",
                                                  "class M(Module):\n",
                                                  "__setstate__",
                                                  "__parameters__",
                                                  "pass"};
  const auto word = [&](std::size_t from) {
    const std::size_t begin = text.find_first_not_of(" .,()[]:=\n", from);
    if (begin == std::string::npos) return std::pair<std::size_t, std::size_t>(0, 0);
    const std::size_t end = std::min(text.find_first_of(" .,()[]:=\n", begin), text.size());
    return std::pair(begin, end - begin);
  };
  const auto [to, size] = word(r.below(text.size()));
  switch (r.below(4)) {
    case 0:
      text.replace(to, size, r.pick(kWords));
      break;
    case 1: {
      const auto [from, bytes] = word(r.below(text.size()));
      text.replace(to, size, text.substr(from, bytes));
      break;
    }
    case 2: {  // a line twice, or gone
      const std::size_t begin = text.find('\n', to), end = text.find('\n', begin + 1);
      if (begin == std::string::npos || end == std::string::npos) return;
      const std::string line = text.substr(begin, end - begin);
      r.chance(0.5) ? text.insert(end, line) : text.erase(begin, line.size());
      break;
    }
    default:
      text.insert(to, std::string(r.below(r.chance(0.02) ? 50000 : 12), r.pick({'(', '[', '-'})));
  }
}

// A name, a number or a bracket in another's place.
void change_json(std::string& text, Random& r) {
  if (text.empty()) return;
  static const std::vector<std::string> kWords = {"as_tensor",
                                                  "as_tensors",
                                                  "as_int",
                                                  "as_ints",
                                                  "as_sym_int",
                                                  "as_none",
                                                  "as_graph",
                                                  "as_float",
                                                  "as_string",
                                                  "as_expr",
                                                  "as_name",
                                                  "as_custom_obj",
                                                  "as_device",
                                                  "true",
                                                  "null",
                                                  "0",
                                                  "-1",
                                                  "7",
                                                  "9223372036854775807",
                                                  "18446744073709551615",
                                                  "1e999",
                                                  "[]",
                                                  "{}",
                                                  "user_input",
                                                  "buffer_mutation",
                                                  "parameter",
                                                  "constant_input",
                                                  "torch.ops.aten.add.Tensor",
                                                  "torch.ops.higher_order.cond",
                                                  "torch.ops.higher_order.while_loop",
                                                  "_operator.add",
                                                  "builtins.list",
                                                  "builtins.dict",
                                                  "collections.namedtuple",
                                                  "cuda",
                                                  "weight_1"};
  const auto word = [&](std::size_t from) {
    constexpr const char* kBetween = "\"{}[],: \n\\";
    const std::size_t begin = text.find_first_not_of(kBetween, from);
    if (begin == std::string::npos) return std::pair<std::size_t, std::size_t>(0, 0);
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    return std::pair(begin, end - begin);
  };
  const auto [to, size] = word(r.below(text.size()));
  const auto [from, bytes] = word(r.below(text.size()));
  switch (r.below(5)) {
    case 0:
      text.replace(to, size, r.pick(kWords));
      break;
    case 1:
    case 2:
      text.replace(to, size, text.substr(from, bytes));
      break;
    case 3:
      text[r.below(text.size())] = r.pick({'{', '}', '[', ']', ',', ':', '"', '9', '-'});
      break;
    default:
      text.insert(to, std::string(r.below(r.chance(0.02) ? 50000 : 12), r.pick({'[', '{', '1'})));
  }
}

void change_entry(Archive::Entry& e, Random& r) {
  if (r.chance(0.1)) {
    e.second = scramble(e.second, r);
    return;
  }
  if (ends_with(e.first, ".pkl")) {
    for (uint64_t k = r.below(3) + 1; k > 0; --k) change_pickle(e.second, r);
  } else if (ends_with(e.first, ".py")) {
    for (uint64_t k = r.below(3) + 1; k > 0; --k) change_code(e.second, r);
  } else if (ends_with(e.first, ".json")) {
    for (uint64_t k = r.below(3) + 1; k > 0; --k) change_json(e.second, r);
  } else if (e.first == "version") {
    e.second = r.pick<const char*>({"1", "2", "3\n", "4", "10", "11", "-1", "x", "", "1 1"});
  } else if (e.first == "byteorder") {
    e.second = r.pick<const char*>({"big", "little", "middle", ""});
  } else {
    e.second = scramble(e.second, r);
  }
}

}  // namespace

Archive Archive::read(const std::string& path) {
  const auto zip = jit::formats::ZipReader::open(path);
  Archive a;
  a.root = zip->root().substr(0, zip->root().size() - 1);
  for (const auto& e : zip->entries())
    a.entries.emplace_back(e.name.substr(zip->root().size()), zip->read(e));
  return a;
}

std::string Archive::whole() const {
  jit::formats::ZipWriter zip(root);
  for (const auto& [name, content] : entries) zip.add(name, content);
  return zip.finish();
}

std::string damaged(Archive a, Random& r) {
  if (r.chance(0.15)) return scramble(a.whole(), r);
  switch (r.below(12)) {
    case 0: {  // two entries in each other's place
      auto &x = a.entries[r.below(a.entries.size())], &y = a.entries[r.below(a.entries.size())];
      std::swap(x.second, y.second);
      break;
    }
    case 1:
      a.entries.erase(a.entries.begin() + static_cast<std::ptrdiff_t>(r.below(a.entries.size())));
      break;
    case 2: {
      const auto& e = r.pick(a.entries);
      a.entries.emplace_back(r.pick<const char*>({"data/0", "constants/0", "models/x.json", "../x",
                                                  "code/__torch__.py", "code/__torch__/a/b.py"}),
                             e.second);
      break;
    }
    default:
      change_entry(a.entries[r.below(a.entries.size())], r);
  }
  return a.whole();
}

std::string damaged(std::string pickles, Random& r) {
  if (r.chance(0.3)) return scramble(std::move(pickles), r);
  for (uint64_t k = r.below(3) + 1; k > 0; --k) change_pickle(pickles, r);
  return pickles;
}

}  // namespace tenon::fuzz
