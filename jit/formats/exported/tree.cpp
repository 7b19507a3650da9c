// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/tree.h"

#include <algorithm>

#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr std::size_t kMaxLeaves = 1 << 16;

class TreeReader {
 public:
  explicit TreeReader(const Json* named_tuples) : named_tuples_(named_tuples) {}
  Tree read(const Json& spec, int depth = 0) {
    TENON_CHECK(depth < kMaxTreeDepth, ValueError, "containers are nested more than ",
                kMaxTreeDepth, " deep");
    TENON_CHECK(++count_ <= kMaxLeaves, ValueError, "there are more than ", kMaxLeaves,
                " values in containers");
    Tree out;
    const Json* type = find_member(spec, "type");
    for (const Json& child : list_of(member(spec, "children_spec"), "children_spec"))
      out.children.push_back(read(child, depth + 1));
    if (!type) {
      TENON_CHECK(out.children.empty(), ValueError, "a value without a container has children");
      return out;
    }
    read_kind(out, text_of(*type, "the type of a container"), member(spec, "context"));
    return out;
  }

 private:
  void read_kind(Tree& out, const std::string& type, const Json& context) {
    // Results of torch.max and the like are tuples with names.
    if (type == "builtins.tuple" || type == "torch.Size" ||
        type.compare(0, 19, "torch.return_types.") == 0) {
      out.kind = Tree::Kind::Tuple;
    } else if (type == "builtins.list" || type == "collections.deque" ||
               type == "torch.fx.immutable_collections.immutable_list") {
      out.kind = Tree::Kind::List;
    } else if (type == "builtins.dict" || type == "collections.OrderedDict" ||
               type == "torch.fx.immutable_collections.immutable_dict") {
      read_keys(out, type, parsed(context));
    } else if (type == "collections.defaultdict") {
      read_keys(out, type, member(parsed(context), "dict_context"));
    } else if (type == "collections.namedtuple") {
      read_named(out, text_of(parsed_or_text(context), "the name of a named tuple"));
    } else {
      read_class(out, type, context);
    }
  }
  // Classes that somebody registered. Those of transformers list the keys, dataclasses the fields
  // that they have and those that are None; of others nothing is known but the order.
  static void read_class(Tree& out, const std::string& type, const Json& context) {
    Json known;
    try {
      known = parsed(context);
    } catch (const Error&) {
    }
    const auto are_names = [&](const Json& names) {
      return names.is_array() && names.size() == out.children.size() &&
             std::all_of(names.begin(), names.end(), [](const Json& n) { return n.is_string(); });
    };
    if (are_names(known) && !known.empty()) return read_keys(out, type, known);
    out.kind = Tree::Kind::Tuple;
    if (!known.is_array() || known.size() != 2 || !are_names(known[0])) return;
    out.kind = Tree::Kind::NamedTuple;
    out.name = type;
    for (const Json& f : known[0]) out.fields.push_back(f.get<std::string>());
  }
  // The context is JSON in a text; some writers leave it an object.
  static Json parsed(const Json& context) {
    return context.is_string() ? parse_json(context.get_ref<const std::string&>()) : context;
  }
  static Json parsed_or_text(const Json& context) {
    const std::string& text = text_of(context, "the context of a container");
    return !text.empty() && text[0] == '"' ? parse_json(text) : context;
  }
  static void read_keys(Tree& out, const std::string& type, const Json& keys) {
    out.kind = Tree::Kind::Dict;
    for (const Json& key : list_of(keys, "the keys of a dictionary")) {
      if (key.is_string())
        out.keys.emplace_back(key.get<std::string>());
      else if (key.is_boolean())
        throw NotImplementedError("dictionaries with booleans as keys are not supported");
      else
        out.keys.emplace_back(integer_of(key, "the key of a dictionary"));
    }
    TENON_CHECK(out.keys.size() == out.children.size(), ValueError, "a ", type, " has ",
                out.keys.size(), " keys and ", out.children.size(), " values");
  }
  void read_named(Tree& out, const std::string& name) {
    out.kind = Tree::Kind::Tuple;
    if (!named_tuples_) return;  // torch 2.6 does not write which fields there are
    out.kind = Tree::Kind::NamedTuple;
    out.name = name;
    const Json* def = find_member(*named_tuples_, name.c_str());
    TENON_CHECK(def, NotImplementedError, "the program does not say which fields the named tuple ",
                name.substr(0, 200), " has");
    for (const Json& f : list_of(member(*def, "field_names"), "field_names"))
      out.fields.push_back(text_of(f, "the name of a field"));
    TENON_CHECK(out.fields.size() == out.children.size(), ValueError, "the named tuple ", name,
                " has ", out.fields.size(), " fields and ", out.children.size(), " values");
  }

  const Json* named_tuples_;
  std::size_t count_ = 0;
};

TypePtr common_type(const std::vector<TypePtr>& types) {
  for (const TypePtr& t : types)
    if (!same_type(*t, *types[0])) return Type::any();
  return types.empty() ? Type::any() : types[0];
}

TypePtr key_type(const std::vector<IValue>& keys) {
  const auto texts = std::count_if(keys.begin(), keys.end(), [](auto& k) { return k.isString(); });
  if (texts == static_cast<std::ptrdiff_t>(keys.size())) return Type::string();
  return texts == 0 ? Type::integer() : Type::any();
}

TypePtr named_tuple_type(const Tree& tree, std::vector<TypePtr> types, CompilationUnit& unit) {
  const std::string name = "__torch__." + tree.name;
  TypePtr made = Type::named_tuple(name, tree.fields, std::move(types));
  const TypePtr known = unit.find_type(name);
  if (known && same_type(*known, *made)) return known;
  if (!known) unit.add_type(made);
  return made;
}

}  // namespace

std::size_t Tree::leaves() const {
  if (kind == Kind::Leaf) return 1;
  std::size_t n = 0;
  for (const Tree& c : children) n += c.leaves();
  return n;
}

Tree parse_tree(const std::string& text, const Json* named_tuples) {
  const Json j = parse_json(text);
  const Json& parts = list_of(j, "a treespec");
  TENON_CHECK(parts.size() == 2, ValueError, "a treespec must be [version, spec]");
  const int64_t version = integer_of(parts[0], "the version of a treespec");
  TENON_CHECK(version == 1, NotImplementedError, "a treespec is of version ", version,
              "; version 1 is known");
  return TreeReader(named_tuples).read(parts[1]);
}

TypePtr type_of_tree(const Tree& tree, const std::vector<TypePtr>& leaves, std::size_t& at,
                     CompilationUnit& unit) {
  if (tree.kind == Tree::Kind::Leaf) return leaves.at(at++);
  std::vector<TypePtr> types;
  for (const Tree& c : tree.children) types.push_back(type_of_tree(c, leaves, at, unit));
  switch (tree.kind) {
    case Tree::Kind::List:
      return Type::list(common_type(types));
    case Tree::Kind::Dict:
      return Type::dict(key_type(tree.keys), common_type(types));
    case Tree::Kind::NamedTuple:
      return named_tuple_type(tree, std::move(types), unit);
    default:
      return Type::tuple(std::move(types));
  }
}

}  // namespace tenon::jit::formats
