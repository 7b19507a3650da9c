// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What torch.export.save writes: models/NAME.json has the program, data/ the weights. Until torch
// 2.7: serialized_exported_program.json next to archives of torch.save.
#include <algorithm>

#include "jit/formats/exported/build.h"
#include "jit/formats/exported/kept.h"
#include "jit/formats/exported/weights.h"
#include "jit/formats/read.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr int64_t kOldestSchema = 5, kNewestSchema = 8;  // major versions
constexpr std::size_t kMaxNesting = 128;                 // of modules

// A module that is being put together.
struct PartialModule {
  explicit PartialModule(ClassTypePtr c) : cls(std::move(c)) {}
  ClassTypePtr cls;
  std::vector<std::pair<std::string, IValue>> tensors;
  std::vector<std::string> order;  // of modules
  std::map<std::string, std::unique_ptr<PartialModule>> modules;
};

class ExportedReader {
 public:
  ExportedReader(std::shared_ptr<ZipReader> zip, std::optional<Device> device)
      : zip_(std::move(zip)),
        root_(zip_->root()),
        device_(device),
        unit_(std::make_shared<CompilationUnit>()) {}
  Module read();

 private:
  std::string find_program();
  static void check_version(const Json& program);
  void read_kinds(const Json& program);
  void name_kinds_of_shared(const std::vector<NamedWeight>& weights);
  PartialModule& part_of(PartialModule& top, const std::string& dotted);
  void add_weight(PartialModule& top, const NamedWeight& w);
  core::Ref<ivalue::Object> make(PartialModule& p);
  void keep(const std::string& entry, const std::vector<NamedWeight>& weights,
            const ClassType& cls);
  Device place(const std::string& name) const;
  std::size_t position(const std::string& name) const {
    const auto it = kinds_.find(name);
    return it == kinds_.end() ? kinds_.size() : it->second.position;
  }

  std::shared_ptr<ZipReader> zip_;
  std::string root_, name_;
  std::optional<Device> device_;
  std::shared_ptr<CompilationUnit> unit_;
  struct Kind {
    ClassAttribute::Kind kind;
    std::size_t position;  // in the signature
  };
  std::map<std::string, Kind> kinds_;  // by dotted name
};

// The entry of the program, and the name of the model. An archive may hold several.
std::string ExportedReader::find_program() {
  if (zip_->find(root_ + "serialized_exported_program.json"))
    return "serialized_exported_program.json";
  const std::string folder = root_ + "models/", suffix = ".json";
  std::string found;
  for (const ZipReader::Entry& e : zip_->entries()) {
    if (e.name.compare(0, folder.size(), folder) != 0 ||
        e.name.size() <= folder.size() + suffix.size() ||
        e.name.compare(e.name.size() - suffix.size(), suffix.size(), suffix) != 0)
      continue;
    const std::string name =
        e.name.substr(folder.size(), e.name.size() - folder.size() - suffix.size());
    TENON_CHECK(found.empty() || name == "model" || found == "model", NotImplementedError,
                "load: ", zip_->file(), ": it holds several programs ('", found, "' and '", name,
                "'), and none is named 'model'");
    if (found != "model") found = name;
  }
  TENON_CHECK(!found.empty(), ValueError, "load: ", zip_->file(),
              ": there is no program in the folder 'models/'; what AOTInductor compiled cannot be "
              "loaded");
  name_ = found;
  return "models/" + name_ + ".json";
}

void ExportedReader::check_version(const Json& program) {
  const Json& version = member(program, "schema_version");
  const int64_t major = integer_of(member(version, "major"), "the version of the schema");
  TENON_CHECK(major <= kNewestSchema, NotImplementedError, "the program is of schema version ",
              major, ", newer than ", kNewestSchema, ", the newest that is known");
  TENON_CHECK(major >= kOldestSchema, NotImplementedError, "the program is of schema version ",
              major, ", older than ", kOldestSchema,
              ", the oldest that is known; load and save it in torch 2.6 or later");
}

// Which names are parameters, and which buffers.
void ExportedReader::read_kinds(const Json& program) {
  const Json& signature = member(member(program, "graph_module"), "signature");
  for (const Json& spec : list_of(member(signature, "input_specs"), "input_specs")) {
    const Tagged t = tagged(spec, "an input's specification");
    const bool parameter = t.tag == "parameter";
    if (!parameter && t.tag != "buffer") continue;
    const char* key = parameter ? "parameter_name" : "buffer_name";
    kinds_.try_emplace(
        text_of(member(t.value, key), key),
        Kind{parameter ? ClassAttribute::Parameter : ClassAttribute::Buffer, kinds_.size()});
  }
}

// Of several names of one weight the signature has one, until torch 2.7; the others mean the same.
void ExportedReader::name_kinds_of_shared(const std::vector<NamedWeight>& weights) {
  std::map<const void*, Kind> known;
  for (const NamedWeight& w : weights)
    if (const auto it = kinds_.find(w.name); it != kinds_.end())
      known.try_emplace(w.value.unsafeGetTensorImpl(), it->second);
  for (const NamedWeight& w : weights)
    if (const auto it = known.find(w.value.unsafeGetTensorImpl()); it != known.end())
      kinds_.try_emplace(w.name, it->second);
}

// The module that has the attribute.
PartialModule& ExportedReader::part_of(PartialModule& top, const std::string& dotted) {
  PartialModule* at = &top;
  std::size_t begin = 0, depth = 0;
  for (std::size_t dot; (dot = dotted.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const std::string name = dotted.substr(begin, dot - begin);
    TENON_CHECK(!name.empty() && ++depth <= kMaxNesting, ValueError, "'", dotted.substr(0, 200),
                "' is not a name of a parameter");
    std::unique_ptr<PartialModule>& next = at->modules[name];
    if (!next) {
      next = std::make_unique<PartialModule>(ClassType::make(at->cls->name() + "." + name, true));
      unit_->add_type(next->cls);
      at->order.push_back(name);
    }
    at = next.get();
  }
  return *at;
}

void ExportedReader::add_weight(PartialModule& top, const NamedWeight& w) {
  PartialModule& p = part_of(top, w.name);
  const std::string name = w.name.substr(w.name.rfind('.') + 1);
  TENON_CHECK(!name.empty() && !p.cls->find_attribute(name), ValueError, "'", w.name.substr(0, 200),
              "' is there twice, or no name");
  const auto kind = kinds_.find(w.name);
  p.cls->add_attribute(name, Type::tensor(),
                       kind == kinds_.end() ? ClassAttribute::Plain : kind->second.kind);
  p.tensors.emplace_back(name, w.value);
}

core::Ref<ivalue::Object> ExportedReader::make(PartialModule& p) {
  std::vector<core::Ref<ivalue::Object>> parts;
  for (const std::string& name : p.order) {
    TENON_CHECK(!p.cls->find_attribute(name), ValueError, "'", name,
                "' is both a tensor and a module");
    parts.push_back(make(*p.modules[name]));
    p.cls->add_attribute(name, p.modules[name]->cls);
  }
  auto object =
      core::Ref<ivalue::Object>::adopt(new ivalue::Object(p.cls, p.cls->attributes().size()));
  for (auto& [name, value] : p.tensors) object->setAttr(name, std::move(value));
  for (std::size_t i = 0; i < parts.size(); ++i)
    object->setAttr(p.order[i], IValue(std::move(parts[i])));
  return object;
}

Device ExportedReader::place(const std::string& name) const {
  if (device_) return *device_;
  try {
    const Device wanted(name);
    (void)core::resolve(wanted);
    return wanted;
  } catch (const Error&) {
    return kCPU;
  }
}

void ExportedReader::keep(const std::string& entry, const std::vector<NamedWeight>& weights,
                          const ClassType& cls) {
  auto kept = std::make_shared<KeptProgram>();
  kept->zip = zip_;
  kept->program = root_ + entry;
  kept->name = name_;
  if (name_.empty())
    kept->layout = ExportedLayout::Flat;
  else if (zip_->find(root_ + "data/weights/" + name_ + ".pt"))
    kept->layout = ExportedLayout::SavedWeights;
  const std::string samples = root_ + (name_.empty() ? "serialized_example_inputs.pt"
                                                     : "data/sample_inputs/" + name_ + ".pt");
  if (zip_->find(samples)) kept->samples = samples;
  kept->cls = &cls;
  for (const NamedWeight& w : weights) {
    const auto kind = kinds_.find(w.name);
    const bool parameter = kind != kinds_.end() && kind->second.kind == ClassAttribute::Parameter;
    kept->weights.push_back({w.name, w.constant, parameter});
  }
  unit_->kept = std::move(kept);
}

Module ExportedReader::read() {
  const std::string entry = find_program();
  const ZipReader::Entry* e = zip_->find(root_ + entry);
  TENON_CHECK(e && e->size <= kMaxJsonBytes, ValueError, "load: ", zip_->file(), ": entry '", entry,
              "' is too large");
  const Json program = zip_->in_entry(entry, [&] {
    Json j = parse_json(zip_->read(*e), true);
    check_version(j);
    read_kinds(j);
    return j;
  });
  PartialModule top(ClassType::make("__torch__.ExportedProgram", true));
  unit_->add_type(top.cls);
  try {
    std::vector<NamedWeight> weights = ExportedWeights(zip_, name_, device_).read();
    name_kinds_of_shared(weights);
    std::stable_sort(weights.begin(), weights.end(), [&](const auto& a, const auto& b) {
      return position(a.name) < position(b.name);
    });
    for (const NamedWeight& w : weights) add_weight(top, w);
    keep(entry, weights, *top.cls);
  } catch (const Error& error) {
    core::throw_error(error.code(), core::join("load: ", zip_->file(), ": ", error.msg()));
  }
  Module m(make(top), unit_);
  return zip_->in_entry(entry, [&] {
    ExportedBuilder builder(program, *unit_, top.cls,
                            [this](const std::string& name) { return place(name); });
    auto [graph, schema] = builder.build();
    graph->lint();
    const std::string name = schema.name;
    top.cls->add_method(
        unit_->add_function(std::make_unique<Function>(name, graph, std::move(schema))));
    return m;
  });
}

}  // namespace

Module read_exported(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
                     ExtraFiles* extra) {
  Module m = ExportedReader(zip, device).read();
  for (const char* folder : {"extra/", "extra_files/"})
    read_extra_files(*zip, zip->root() + folder, extra);
  return m;
}

}  // namespace tenon::jit::formats
