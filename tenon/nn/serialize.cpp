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

// The first of the names that the state lacks, as libtorch reports it; empty if there is none.
std::string first_missing(const OrderedDict<std::string, Tensor>& wanted,
                          const OrderedDict<std::string, Tensor>& state) {
  const auto has_prefix = [&](const std::string& prefix) {
    for (const auto& item : state) {
      if (item.key().compare(0, prefix.size(), prefix) == 0) return true;
    }
    return false;
  };
  for (const auto& item : wanted) {
    const std::string& name = item.key();
    if (state.contains(name)) continue;
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (!has_prefix(name.substr(0, dot + 1))) {
        return core::join("No such serialized submodule: '", name.substr(0, dot), "'");
      }
    }
    return core::join("No such serialized tensor '", name, "'");
  }
  return "";
}

// What was saved on another device than the host goes there. A module that is already on a device
// keeps it when it loads what was saved on the host.
void follow_devices(const OrderedDict<std::string, Tensor>& state,
                    const OrderedDict<std::string, Tensor>& mine) {
  std::vector<std::pair<Tensor, Tensor>> moved;  // all or none
  for (const auto& item : mine) {
    const Device to = state[item.key()].device();
    if (!to.is_cpu() && to != item.value().device())
      moved.emplace_back(item.value(), item.value().detach().to(to));
  }
  for (auto& [tensor, data] : moved) tensor.set_data(data);
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
  try {
    load_state_dict(state);
    follow_devices(state, state_dict());
  } catch (const ValueError& e) {
    const std::string missing = first_missing(state_dict(), state);
    if (missing.empty()) throw;
    throw ValueError(core::join(missing, "; ", e.what()));
  }
}

}  // namespace nn
}  // namespace tenon
