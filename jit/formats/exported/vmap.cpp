// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch.func.vmap, which exporting leaves in programs (associative_scan is made of it, too): nodes
// between one that begins a level and one that ends it are written for one element of the batch.
// They become a loop over the batch, which is right for every operator: a rule per operator that
// adds the dimension would be faster, and torch has some 1000 of them.
#include "jit/formats/exported/build.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// "torch._functorch.predispatch._add_batch_dim" -> "_add_batch_dim"; empty for other targets.
std::string_view vmap_call(const Json& node) {
  const std::string_view target = text_of(member(node, "target"), "target");
  constexpr std::string_view kModule = "torch._functorch.predispatch.";
  return target.substr(0, kModule.size()) == kModule ? target.substr(kModule.size())
                                                     : std::string_view();
}
bool begins(const Json& node) { return vmap_call(node) == "_vmap_increment_nesting"; }
bool ends(const Json& node) { return vmap_call(node) == "_vmap_decrement_nesting"; }

// One past the node that ends the region which `from` begins.
std::size_t end_of_region(const Json& nodes, std::size_t from, std::size_t to) {
  std::size_t depth = 0;
  for (std::size_t i = from; i < to; ++i) {
    depth += begins(nodes[i]);
    depth -= ends(nodes[i]);
    if (depth == 0) return i + 1;
  }
  throw ValueError("a level of vmap begins and does not end");
}

bool depends(const Json& nodes, std::size_t from, std::size_t to, const Names& names) {
  for (std::size_t i = from; i < to; ++i)
    for (const Json& in : list_of(member(nodes[i], "inputs"), "inputs"))
      if (mentions(member(in, "arg"), names)) return true;
  return false;
}

// A call of vmap's own: tensor, dimension, ... by position.
const Json& vmap_argument(const Json& node, std::size_t i) {
  const Json& inputs = list_of(member(node, "inputs"), "inputs");
  TENON_CHECK(i < inputs.size(), ValueError, vmap_call(node), " has ", inputs.size(),
              " arguments, and needs ", i + 1);
  return member(inputs[i], "arg");
}
const std::string& only_output(const Json& node) {
  const Json& outputs = list_of(member(node, "outputs"), "outputs");
  TENON_CHECK(outputs.size() == 1, ValueError, vmap_call(node), " has ", outputs.size(),
              " outputs, not one");
  return text_of(member(tagged(outputs[0], "an output").value, "name"), "the name of a value");
}

// Nodes, or a region in the region, and whether they differ between the elements of the batch. What
// does not is computed once, before the loop: torch lets other nodes use it.
struct Part {
  std::size_t from, to;
  bool in_loop;
};
std::vector<Part> parts_of(const Json& nodes, std::size_t from, std::size_t to, bool draws) {
  Names elements;
  std::vector<Part> out;
  while (from < to) {
    const std::size_t after = begins(nodes[from]) ? end_of_region(nodes, from, to) : from + 1;
    const std::string_view call = vmap_call(nodes[from]);
    const bool takes = call == "_add_batch_dim", gives = call == "_remove_batch_dim";
    const bool size =
        text_of(member(nodes[from], "target"), "target").find("sym_") != std::string::npos;
    const bool in_loop =
        takes || gives || (draws && !size) || depends(nodes, from, after, elements);
    out.push_back({from, after, in_loop});
    for (; from < after; ++from)
      if (in_loop && !gives) add_names(member(nodes[from], "outputs"), elements);
  }
  return out;
}

}  // namespace

void ExportedBuilder::add_nodes(const Json& nodes, std::size_t from, std::size_t to, Scope& s) {
  while (from < to) {
    if (begins(nodes[from]))
      from = add_vmap(nodes, from, to, s);
    else if (vmap_call(nodes[from]) == "lazy_load_decompositions")
      ++from;
    else
      add_node(nodes[from++], s);
  }
}

// The region that begins at `from`; returns where the next node is.
std::size_t ExportedBuilder::add_vmap(const Json& nodes, std::size_t from, std::size_t to,
                                      Scope& s) {
  constexpr int kMaxLevels = 32;
  TENON_CHECK(depth_ < kMaxLevels, ValueError, "levels of vmap are nested more than ", kMaxLevels,
              " deep");
  const std::size_t next = end_of_region(nodes, from, to);
  describe(nodes[from]);
  Value* count = argument(vmap_argument(nodes[from], 0), s);
  TENON_CHECK(count->type()->is(TypeKind::Int), ValueError, "the size of a batch is not an int");
  const auto draws = to_constant(argument(vmap_argument(nodes[from], 1), s));
  const bool different = draws && draws->isString() && draws->toStringRef() == "different";
  std::vector<Value*> lists;  // of the elements of each result
  std::vector<const Json*> results;
  const std::vector<Part> parts = parts_of(nodes, from + 1, next - 1, different);
  ++depth_;
  for (const Part& p : parts) {
    if (!p.in_loop) add_nodes(nodes, p.from, p.to, s);
    if (vmap_call(nodes[p.from]) != "_remove_batch_dim") continue;
    results.push_back(&nodes[p.from]);
    lists.push_back(list({}, Type::tensor()));
  }
  Value* times = apply1("exported::batch_times", {count});
  Block* block = insert("prim::Loop", {times, constant(true)}, {})->add_block();
  Value* at = block->add_input("iteration", Type::integer());
  {
    const Graph::InsertPoint there(*graph_, block);
    Scope inside = s;
    std::size_t given = 0;
    for (const Part& p : parts) {
      const std::string_view call = vmap_call(nodes[p.from]);
      const auto input = [&](std::size_t i) {
        return argument(vmap_argument(nodes[p.from], i), inside);
      };
      if (call == "_add_batch_dim")
        inside.values[only_output(nodes[p.from])] =
            apply1("exported::batch_element", {input(0), input(1), at});
      else if (call == "_remove_batch_dim")
        apply("aten::append.t", {lists[given++], input(0)});
      else if (p.in_loop)
        add_nodes(nodes, p.from, p.to, inside);
    }
    block->register_output(constant(true));
  }
  --depth_;
  for (std::size_t i = 0; i < results.size(); ++i)
    s.values[only_output(*results[i])] =
        apply1("exported::batch_of", {lists[i], argument(vmap_argument(*results[i], 3), s), count});
  return next;
}

}  // namespace tenon::jit::formats
