// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/external_data.h"

#include <string>

namespace tenon::onnx::exporting {
namespace {

constexpr std::size_t kSmall = 1024;  // below it a tensor stays in the model, as torch has it
constexpr uint64_t kPage = uint64_t{1} << 12;  // tensors begin at one, to be mapped

void add_entry(pb::TensorProto& t, const char* key, std::string value) {
  auto* entry = t.add_external_data();
  entry->set_key(key);
  entry->set_value(std::move(value));
}

}  // namespace

void move_weights(pb::ModelProto& model, serialize::detail::FileWriter& file,
                  const std::string& name) {
  uint64_t at = 0;
  for (pb::TensorProto& t : *model.mutable_graph()->mutable_initializer()) {
    const std::size_t bytes = t.raw_data().size();
    if (bytes < kSmall) continue;
    const std::string gap((kPage - at % kPage) % kPage, '\0');
    file.write(gap.data(), gap.size());
    at += gap.size();
    file.write(t.raw_data().data(), bytes);
    add_entry(t, "location", name);
    add_entry(t, "offset", std::to_string(at));
    add_entry(t, "length", std::to_string(bytes));
    t.set_data_location(pb::TensorProto::EXTERNAL);
    t.clear_raw_data();
    at += bytes;
  }
}

}  // namespace tenon::onnx::exporting
