// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attributes that the program sets, which freezing left. A written program keeps none: what it sets
// and reads is a value of its own.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

bool is_same(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) return a.toTensor().is_same(b.toTensor());
  if (!a.isList() && !a.isTuple()) return !a.isTensor() && !b.isTensor() && a == b;
  if (a.isList() != b.isList() || a.isTuple() != b.isTuple()) return false;
  const auto& x = a.isList() ? a.toListRef().items : a.toTupleRef().items;
  const auto& y = b.isList() ? b.toListRef().items : b.toTupleRef().items;
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), is_same);
}

bool has_tensors(const IValue& v) {
  if (v.isTensor()) return v.toTensor().defined();
  if (!v.isList() && !v.isTuple()) return false;
  const auto& all = v.isList() ? v.toListRef().items : v.toTupleRef().items;
  return std::any_of(all.begin(), all.end(), has_tensors);
}

}  // namespace

// Of what freezing left, since it may be written. Each read sees what was written to the tensor; a
// weight has other values in the next call.
const ProgramWriter::Item* ProgramWriter::attribute(const Node& n) {
  const auto object = at(n.input(0)).example.toObject();
  const Attribute key{object.get(), n.s("name")};
  if (const auto it = set_attributes_.find(key); it != set_attributes_.end()) return it->second;
  read_attributes_.insert(key);
  const IValue v = object->getAttr(n.s("name"));
  const void* tensor = v.isTensor() ? v.toTensor().unsafeGetTensorImpl() : nullptr;
  const Item* known = tensor ? attributes_[tensor] : nullptr;
  if (known) return known;
  const bool constant = !tensor || !is_weight(v.toTensor());
  Item* made = make(v, constant);
  made->given = constant;
  if (tensor) attributes_[tensor] = made;
  return made;
}

// Each call begins with the file's value, as in torch.export: flags and what is computed once may
// be set again. Tensors are state, which another call reads.
void ProgramWriter::set_attribute(const Node& n) {
  const auto object = at(n.input(0)).example.toObject();
  const Attribute key{object.get(), n.s("name")};
  const Item& value = at(n.input(1));
  const IValue before = object->getAttr(key.second);
  if (read_attributes_.count(key) && has_tensors(value.example) &&
      !is_same(value.example, before)) {
    const bool of_tensor = before.isTensor() && before.toTensor().defined();
    if (of_tensor && !fits(value, before.toTensor()))
      refuse(n, "it sets attribute '" + key.second +
                    "' for the next call to a tensor of other sizes or of another dtype: write the "
                    "module after a call that gave it those it keeps");
    if (!of_tensor || !is_weight(before.toTensor()))
      refuse(n, "it sets attribute '" + key.second +
                    "' for the next call, which a written program cannot: make it a buffer and "
                    "write to it in place");
    const Item* buffer = attributes_.at(before.toTensor().unsafeGetTensorImpl());
    if (const std::pair of{key, buffer};
        std::find(state_.begin(), state_.end(), of) == state_.end())
      state_.push_back(of);
  }
  set_attributes_[key] = &value;
}

// Whether a buffer that holds `before` can hold the value, in every run.
bool ProgramWriter::fits(const Item& value, const Tensor& before) const {
  for (std::size_t r = 0; r < value.runs(); ++r) {
    const IValue& v = value.in_run(r);
    if (!v.isTensor() || !v.toTensor().defined() || v.toTensor().sizes() != before.sizes() ||
        v.toTensor().scalar_type() != before.scalar_type())
      return false;
  }
  return !has_sizes_by_data(value);
}

// After all nodes: buffers become what their attributes were set to. A value that shows a buffer is
// copied before any is written.
void ProgramWriter::write_state() {
  std::vector<std::pair<const Item*, const Item*>> writes;
  for (const auto& [key, buffer] : state_) {
    const Item* value = set_attributes_.at(key);
    if (is_same(value->example, buffer->example) || buffer->example.toTensor().numel() == 0)
      continue;
    if (is_weight(value->example.toTensor())) value = copied(*value);
    Item* target = make(buffer->example.toTensor().clone());  // the weight stays as it is
    target->name = name_of(*buffer);
    writes.emplace_back(target, value);
  }
  for (const auto& [target, value] : writes) emit("aten::copy_", {target, value});
}

}  // namespace tenon::jit::formats
