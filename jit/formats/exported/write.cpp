// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes a module that was read from an exported program: the program as it was, the weights as
// they are now.
#include <map>

#include "jit/formats/exported/json.h"
#include "jit/formats/exported/kept.h"
#include "jit/formats/exported/writer/program_writer.h"
#include "jit/formats/pickle.h"
#include "jit/formats/write.h"
#include "tenon/autograd/mode.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

Tensor tensor_at(const Module& m, const std::string& dotted) {
  IValue at(m._ivalue());
  std::size_t begin = 0;
  for (std::size_t dot; (dot = dotted.find('.', begin)) != std::string::npos; begin = dot + 1)
    at = at.toObjectRef().getAttr(dotted.substr(begin, dot - begin));
  return at.toObjectRef().getAttr(dotted.substr(begin)).toTensor();
}

class ExportedWriter {
 public:
  ExportedWriter(const Module& m, const KeptProgram& kept, ZipWriter& zip)
      : m_(m), kept_(kept), zip_(zip) {}

  void run() {
    if (kept_.layout != ExportedLayout::RawWeights) return write_as_it_was();
    write_tensors("data/weights/", "weight_", "model_weights_config.json", false);
    write_tensors("data/constants/", "tensor_", "model_constants_config.json", true);
    zip_.add("models/model.json", kept_.zip->read(kept_.program));
    TENON_CHECK(!kept_.samples.empty(), NotImplementedError,
                "save: the archive that the program was read from has no sample inputs");
    zip_.add("data/sample_inputs/model.pt", kept_.zip->read(kept_.samples));
    zip_.add("archive_format", std::string_view("pt2"));
    zip_.add("archive_version", std::string_view("0"));
    zip_.add("byteorder", std::string_view("little"));
    zip_.add(".data/version", std::string_view("6\n"));
  }

 private:
  // The other entries are copied.
  void write_as_it_was() {
    const bool flat = kept_.layout == ExportedLayout::Flat;
    const std::string weights =
                          flat ? "serialized_state_dict.pt" : "data/weights/" + kept_.name + ".pt",
                      constants =
                          flat ? "serialized_constants.pt" : "data/constants/" + kept_.name + ".pt";
    const std::size_t root = kept_.zip->root().size();
    for (const ZipReader::Entry& e : kept_.zip->entries()) {
      const std::string name = e.name.substr(root);
      const bool extra = name.rfind("extra/", 0) == 0 || name.rfind("extra_files/", 0) == 0;
      if (extra || name == weights || name == constants) continue;
      zip_.add(name, kept_.zip->read(e));
    }
    zip_.add(weights, saved_tensors(false));
    zip_.add(constants, saved_tensors(true));
  }

  // A dictionary of tensors as torch.save writes it.
  std::string saved_tensors(bool constants) const {
    ZipWriter zip("archive");
    auto all = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
    std::map<const void*, Tensor> copies;       // a weight of several names is one
    std::map<const void*, bool> requires_grad;  // of copies of parameters
    for (const KeptProgram::Weight& w : kept_.weights) {
      if (w.constant != constants) continue;
      const Tensor t = tensor_at(m_, w.name);
      Tensor& copy = copies[t.unsafeGetTensorImpl()];
      if (!copy.defined()) {
        const NoGradGuard no_grad;
        copy = t.detach().to(kCPU).clone().contiguous();
      }
      if (w.parameter) requires_grad[copy.unsafeGetTensorImpl()] = t.requires_grad();
      all->insert_or_assign(w.name, copy);
    }
    int64_t next = 0;
    PickleHooks hooks;
    hooks.plain = true;
    hooks.save_storage = [&](const Tensor& t) {
      const std::string key = std::to_string(next++);
      zip.add("data/" + key, t.data_ptr(), t.unsafeGetTensorImpl()->storage->bytes);
      return key;
    };
    hooks.parameter = [&](const Tensor& t) -> std::optional<bool> {
      const auto it = requires_grad.find(t.unsafeGetTensorImpl());
      return it == requires_grad.end() ? std::nullopt : std::optional(it->second);
    };
    zip.add("data.pkl", pickle(all, hooks));
    zip.add("byteorder", std::string_view("little"));
    zip.add("version", std::string_view("3\n"));
    return zip.finish();
  }

  void write_tensors(const std::string& folder, const std::string& stem, const char* config,
                     bool constants) {
    Json all = Json::object();
    std::map<const void*, std::string> written;  // a weight of several names has one entry
    for (const KeptProgram::Weight& w : kept_.weights) {
      if (w.constant != constants) continue;
      const Tensor t = tensor_at(m_, w.name);
      std::string& path = written[t.unsafeGetTensorImpl()];
      if (path.empty()) {
        path = stem + std::to_string(written.size() - 1);
        const NoGradGuard no_grad;
        const Tensor bytes = t.detach().to(kCPU).contiguous();
        zip_.add(folder + path, bytes.data_ptr(), bytes.nbytes());
      }
      all[w.name] = Json{{"path_name", path},
                         {"is_param", w.parameter},
                         {"use_pickle", false},
                         {"tensor_meta", tensor_meta(t, t.requires_grad())}};
    }
    zip_.add(folder + config, Json{{"config", std::move(all)}}.dump());
  }

  const Module& m_;
  const KeptProgram& kept_;
  ZipWriter& zip_;
};

const KeptProgram* kept_by(const Module& m) {
  const auto* kept = dynamic_cast<const KeptProgram*>(m.unit()->kept.get());
  return kept && kept->cls == m.type().get() ? kept : nullptr;
}

}  // namespace

bool is_exported(const Module& m) { return kept_by(m) != nullptr; }

std::string archive_root(const Module& m, const std::string& name) {
  const KeptProgram* kept = kept_by(m);
  return kept && kept->layout == ExportedLayout::Flat ? "" : name;
}

void write_exported(const Module& m, ZipWriter& zip, const ExtraFiles& extra) {
  const KeptProgram* kept = kept_by(m);
  TENON_CHECK(kept, NotImplementedError,
              "save: only modules that were loaded from an exported program can be written as one");
  ExportedWriter(m, *kept, zip).run();
  const bool flat = kept->layout == ExportedLayout::Flat;
  for (const auto& [name, content] : extra)
    zip.add((flat ? "extra_files/" : "extra/") + name, content);
}

}  // namespace tenon::jit::formats
