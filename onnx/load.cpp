// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From a file to a module, for tenon::onnx::load and for jit::load.
#include <fstream>
#include <iterator>

#include "onnx/import/builder.h"
#include "onnx/import/missing.h"
#include "onnx/proto/read.h"
#include "tenon/jit/foreign.h"
#include "tenon/onnx.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kNewestOpset = 28;
constexpr int64_t kOldestOpset = 1;

struct KeptInfo : jit::CompilationUnit::Kept {
  ModelInfo info;
};

ModelInfo read_info(const pb::ModelProto& m) {
  ModelInfo i;
  i.ir_version = m.ir_version();
  i.model_version = m.model_version();
  i.producer_name = m.producer_name();
  i.producer_version = m.producer_version();
  i.domain = m.domain();
  i.doc_string = m.doc_string();
  i.graph_name = m.graph().name();
  for (const auto& o : m.opset_import())
    i.opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  for (const auto& e : m.metadata_props()) i.metadata[e.key()] = e.value();
  for (const auto& v : m.graph().input()) i.inputs.push_back(v.name());
  for (const auto& v : m.graph().output()) i.outputs.push_back(v.name());
  return i;
}

void check_model(const pb::ModelProto& m) {
  TENON_CHECK(m.has_graph(), ValueError, "there is no graph in it");
  TENON_CHECK(m.graph().output_size() > 0, ValueError, "its graph has no output");
  for (const auto& o : m.opset_import()) {
    if (!o.domain().empty() && o.domain() != "ai.onnx") continue;
    TENON_CHECK(o.version() >= kOldestOpset, ValueError, "its operator set has version ",
                o.version());
  }
}

jit::Module read_model(const std::string& name, std::string_view bytes,
                       const ExternalData& external, std::optional<Device> device) {
  const std::string file = name.empty() ? "the stream" : name;
  pb::ModelProto model;
  parse_message(bytes, model, "load: " + file);
  try {
    check_model(model);
    check_operators(model);
    auto kept = std::make_shared<KeptInfo>();
    kept->info = read_info(model);
    jit::Module m("__torch__.ONNXModel");
    Builder(model, m, external).build();
    m.unit()->kept = std::move(kept);
    m.eval();
    if (device && !device->is_cpu()) m.to(*device);
    return m;
  } catch (const Error& e) {
    core::throw_error(e.code(), "load: " + file + ": " + e.msg());
  }
}

bool probe(std::string_view head) noexcept { return looks_like_model(head); }

jit::Module read_foreign(const std::string& path, std::string_view bytes,
                         std::optional<Device> device, std::map<std::string, std::string>* extra) {
  const ExternalData external = path.empty() ? ExternalData() : ExternalData(path);
  jit::Module m = read_model(path, bytes, external, device);
  if (extra) {
    const ModelInfo info = *model_info(m);
    for (auto& [name, text] : *extra)
      if (const auto it = info.metadata.find(name); it != info.metadata.end()) text = it->second;
  }
  return m;
}

std::string describe(const jit::Module& m) {
  const auto info = model_info(m);
  if (!info) return {};
  std::string text = core::join("ONNX model, IR version ", info->ir_version);
  for (const auto& [domain, version] : info->opsets)
    text += core::join(", ", domain.empty() ? "opset" : domain, " ", version);
  if (!info->producer_name.empty())
    text += ", by " + info->producer_name +
            (info->producer_version.empty() ? "" : " " + info->producer_version);
  for (const auto& [key, value] : info->metadata)
    text += "\nmetadata    " + key + ": " + value.substr(0, 200);
  return text;
}

constexpr jit::ForeignFormat kFormat{"ONNX", probe, read_foreign, describe};
struct Register {
  Register() { jit::register_foreign_format(kFormat); }
} const kRegister;

}  // namespace

jit::Module load(const std::string& path, std::optional<Device> device) {
  std::ifstream in(path, std::ios::binary);
  TENON_CHECK(in, ValueError, "load: ", path, ": it cannot be opened");
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  return read_model(path, bytes, ExternalData(path), device);
}

jit::Module load_bytes(std::string_view bytes, std::optional<Device> device) {
  return read_model({}, bytes, ExternalData(), device);
}

std::optional<ModelInfo> model_info(const jit::Module& module) {
  const auto* kept = dynamic_cast<const KeptInfo*>(module.unit()->kept.get());
  return kept ? std::optional(kept->info) : std::nullopt;
}

std::vector<OperatorInfo> operators() {
  std::vector<OperatorInfo> out;
  for (const NamedEntry& e : all_entries())
    out.push_back({e.domain, e.entry->name, e.entry->since, e.entry->until});
  return out;
}

int64_t newest_opset() noexcept { return kNewestOpset; }

}  // namespace tenon::onnx
