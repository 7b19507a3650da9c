// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loads and runs damaged ONNX models: their bytes, and their messages with other names, numbers,
// types and nesting. A finding is: a crash, a hang, an exception that is not the library's, and a
// load that takes much more memory than the file. TENON_FUZZ_ONNX names a folder of further models.
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "onnx/proto/model.pb.h"
#include "refused.h"
#include "tenon/creation.h"
#include "tenon/jit/limits.h"
#include "tenon/onnx.h"
#include "tenon/ops.h"

namespace tenon::fuzz {
namespace {

// Bytes beyond what the process has after its start; the models have some KB.
constexpr uint64_t kMemory = uint64_t{512} << 20;

std::vector<std::string> g_models;

void read_models(const std::filesystem::path& folder) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".onnx" || file.file_size() > 65536) continue;
    std::ifstream in(file.path(), std::ios::binary);
    g_models.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
}

void prepare() {
  read_models(TENON_FUZZ_MODELS);
  if (const char* more = std::getenv("TENON_FUZZ_ONNX")) read_models(more);
  jit::RunLimits limits;
  limits.instructions = 100000;
  limits.milliseconds = 5000;
  limits.call_depth = 200;
  jit::set_run_limits(limits);
  (void)onnx::load_bytes(g_models.at(0));
  mallopt(M_ARENA_MAX, 1);
  (void)ones({1 << 20}).sum();
  limit_address_space(kMemory);
}

int64_t number(Random& r) {
  return r.pick({int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{7}, int64_t{1000},
                 int64_t{1} << 31, int64_t{1} << 40, std::numeric_limits<int64_t>::max(),
                 std::numeric_limits<int64_t>::min()});
}

const std::string& name_in(const onnx::pb::GraphProto& g, Random& r) {
  static const std::string none;
  if (g.node_size() == 0) return none;
  const auto& n = g.node(static_cast<int>(r.below(static_cast<uint64_t>(g.node_size()))));
  if (r.chance(0.5) && n.input_size() > 0)
    return n.input(static_cast<int>(r.below(static_cast<uint64_t>(n.input_size()))));
  return n.output_size() > 0 ? n.output(0) : none;
}

void change_tensor(onnx::pb::TensorProto& t, Random& r) {
  switch (r.below(6)) {
    case 0:
      t.set_data_type(static_cast<int32_t>(r.below(30)));
      break;
    case 1:
      t.add_dims(number(r));
      break;
    case 2:
      if (t.dims_size() > 0)
        t.set_dims(static_cast<int>(r.below(static_cast<uint64_t>(t.dims_size()))), number(r));
      break;
    case 3:
      t.mutable_raw_data()->resize(r.below(64));
      break;
    case 4: {
      auto* e = t.add_external_data();
      e->set_key(r.pick({"location", "offset", "length"}));
      e->set_value(r.pick({"../x", "/etc/passwd", "x", "-1", "99999999999999999999"}));
      t.set_data_location(onnx::pb::TensorProto::EXTERNAL);
      break;
    }
    default:
      t.clear_raw_data();
      t.add_int64_data(number(r));
  }
}

void change_attribute(onnx::pb::NodeProto& n, Random& r) {
  if (n.attribute_size() == 0 || r.chance(0.2)) {
    auto* a = n.add_attribute();
    a->set_name(r.pick({"axis", "axes", "perm", "to", "value", "body", "kernel_shape", "mode"}));
    a->set_i(number(r));
    a->set_type(onnx::pb::AttributeProto::INT);
    return;
  }
  auto& a =
      *n.mutable_attribute(static_cast<int>(r.below(static_cast<uint64_t>(n.attribute_size()))));
  switch (r.below(6)) {
    case 0:
      a.set_i(number(r));
      break;
    case 1:
      a.add_ints(number(r));
      break;
    case 2:
      if (a.ints_size() > 0)
        a.set_ints(static_cast<int>(r.below(static_cast<uint64_t>(a.ints_size()))), number(r));
      break;
    case 3:
      a.set_type(static_cast<onnx::pb::AttributeProto::AttributeType>(r.below(15)));
      break;
    case 4:
      if (a.has_t()) change_tensor(*a.mutable_t(), r);
      break;
    default:
      a.set_s(r.pick({"", "SAME_UPPER", "bidirectional", "linear", "\xff\xfe"}));
  }
}

void change_graph(onnx::pb::GraphProto& g, Random& r, int depth) {
  if (g.node_size() == 0) return;
  auto& n = *g.mutable_node(static_cast<int>(r.below(static_cast<uint64_t>(g.node_size()))));
  for (auto& a : *n.mutable_attribute())
    if (a.has_g() && depth < 4 && r.chance(0.6)) return change_graph(*a.mutable_g(), r, depth + 1);
  static const std::vector<std::string> kOperators = [] {
    std::vector<std::string> all;
    for (const auto& o : onnx::operators()) all.push_back(o.name);
    return all;
  }();
  switch (r.below(9)) {
    case 0:
      n.set_op_type(r.pick(kOperators));
      break;
    case 1:
      if (n.input_size() > 0)
        n.set_input(static_cast<int>(r.below(static_cast<uint64_t>(n.input_size()))),
                    name_in(g, r));
      break;
    case 2:
      n.add_input(name_in(g, r));
      break;
    case 3:
      n.add_output(r.chance(0.5) ? name_in(g, r) : "made");
      break;
    case 4:
      change_attribute(n, r);
      break;
    case 5:
      if (g.initializer_size() > 0)
        change_tensor(*g.mutable_initializer(
                          static_cast<int>(r.below(static_cast<uint64_t>(g.initializer_size())))),
                      r);
      break;
    case 6: {  // the graph inside of itself
      auto* a = n.add_attribute();
      a->set_name(r.pick({"body", "then_branch", "else_branch"}));
      a->set_type(onnx::pb::AttributeProto::GRAPH);
      onnx::pb::GraphProto copy = g;
      *a->mutable_g() = std::move(copy);
      n.set_op_type(r.pick({"Loop", "If", "Scan", "SequenceMap"}));
      break;
    }
    case 7:
      n.clear_input();
      break;
    default:
      if (g.output_size() > 0) g.mutable_output(0)->set_name(name_in(g, r));
  }
}

std::string damaged(const std::string& bytes, Random& r) {
  if (r.chance(0.3)) return scramble(bytes, r);
  onnx::pb::ModelProto m;
  if (!m.ParseFromString(bytes)) return bytes;
  for (uint64_t k = r.below(4) + 1; k > 0; --k) {
    if (r.chance(0.05) && m.opset_import_size() > 0) {
      m.mutable_opset_import(0)->set_version(r.between(-1, 40));
    } else if (r.chance(0.05)) {  // a function that calls itself
      auto* f = m.add_functions();
      f->set_name(m.graph().node_size() > 0 ? m.graph().node(0).op_type() : "Add");
      *f->mutable_node() = m.graph().node();
      for (const auto& i : m.graph().input()) f->add_input(i.name());
      for (const auto& o : m.graph().output()) f->add_output(o.name());
    } else {
      change_graph(*m.mutable_graph(), r, 0);
    }
  }
  return m.SerializePartialAsString();
}

std::string use(const jit::Module& m) {
  std::vector<IValue> inputs;
  for (const auto& a : m.get_method("forward").function().schema().arguments) {
    if (a.name == "self") continue;
    if (!a.type->is(jit::TypeKind::Tensor)) return {};
    inputs.push_back(a.name == "x" ? randn({2, 3, 8, 8}) : ones({2, 3}));
  }
  try {
    const NoGradGuard no_grad;
    (void)m.forward(inputs);
    tally("run");
  } catch (const Error&) {
    tally("loaded, failed to run");
  }
  return {};
}

std::string check(Random& r) {
  return unless_refused([&] { return use(onnx::load_bytes(damaged(r.pick(g_models), r))); });
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  return tenon::fuzz::run(
      argc, argv,
      {"onnx", "Loads and runs damaged ONNX models.", tenon::fuzz::check, tenon::fuzz::prepare});
}
