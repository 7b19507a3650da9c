// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/serialize.h"

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {

namespace {

void collect(serialize::InputArchive& archive, const std::string& prefix,
             OrderedDict<std::string, Tensor>* out) {
  for (const std::string& key : archive.keys()) {
    Tensor tensor;
    serialize::InputArchive nested;
    if (archive.try_read(key, tensor)) {
      out->push_unique(prefix + key, tensor);
    } else if (archive.try_read(key, nested)) {
      collect(nested, prefix + key + ".", out);
    }
  }
}

}  // namespace

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& p : parameters_) {
    if (p.value().defined()) archive.write(p.key(), p.value());
  }
  for (const auto& b : buffers_) {
    if (b.value().defined()) archive.write(b.key(), b.value(), true);
  }
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::OutputArchive nested;
    child.value()->save(nested);
    archive.write(child.key(), nested);
  }
}

void Module::load(serialize::InputArchive& archive) {
  OrderedDict<std::string, Tensor> state("State");
  collect(archive, "", &state);
  load_state_dict(state);
}

}  // namespace nn
}  // namespace tenon
