// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layout: "groups" (count), "N.size" and "N.FIELD" for the options of group N, "state.I.FIELD" for
// the state of the parameter at position I over all groups.
#include "tenon/serialize.h"

#include <utility>

#include "tenon/ops.h"
#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

namespace {

class Writer final : public FieldVisitor {
 public:
  explicit Writer(serialize::OutputArchive& archive) : archive_(archive) {}
  void field(const char* name, double& value) override { put(name, IValue(value)); }
  void field(const char* name, int64_t& value) override { put(name, IValue(value)); }
  void field(const char* name, bool& value) override { put(name, IValue(value)); }
  void field(const char* name, Tensor& value) override {
    ++count;
    if (value.defined()) archive_.write(name, value);
  }
  void field(const char* name, std::optional<int64_t>& value) override {
    ++count;
    if (value) archive_.write(name, IValue(*value));
  }
  void field(const char* name, std::optional<std::string>& value) override {
    ++count;
    if (value) archive_.write(name, IValue(*value));
  }
  void field(const char* name, std::vector<Tensor>& value) override {
    ++count;
    serialize::OutputArchive list;
    for (std::size_t i = 0; i < value.size(); ++i) list.write(core::join(i), value[i]);
    archive_.write(name, list);
  }
  std::size_t count = 0;

 private:
  void put(const char* name, const IValue& value) {
    ++count;
    archive_.write(name, value);
  }
  serialize::OutputArchive& archive_;
};

class Reader final : public FieldVisitor {
 public:
  explicit Reader(serialize::InputArchive& archive) : archive_(archive) {}
  void field(const char* name, double& value) override {
    value = read(name).toScalar().to<double>();
  }
  void field(const char* name, int64_t& value) override { value = read(name).toInt(); }
  void field(const char* name, bool& value) override { value = read(name).toBool(); }
  void field(const char* name, Tensor& value) override {
    value = Tensor();
    ++count;
    archive_.try_read(name, value);
  }
  void field(const char* name, std::optional<int64_t>& value) override {
    value = try_read(name).toOptional<int64_t>();
  }
  void field(const char* name, std::optional<std::string>& value) override {
    value = try_read(name).toOptional<std::string>();
  }
  void field(const char* name, std::vector<Tensor>& value) override {
    ++count;
    value.clear();
    serialize::InputArchive list;
    archive_.read(name, list);
    Tensor one;
    while (list.try_read(core::join(value.size()), one)) {
      value.push_back(std::exchange(one, Tensor()));
    }
  }
  std::size_t count = 0;

 private:
  IValue read(const char* name) {
    IValue value;
    ++count;
    archive_.read(name, value);
    return value;
  }
  IValue try_read(const char* name) {
    IValue value;
    ++count;
    archive_.try_read(name, value);
    return value;
  }
  serialize::InputArchive& archive_;
};

// A state that was read follows its parameter to its device and dtype. What a step writes into is
// a copy: in a file two tensors may share their data, or several elements of one may overlap.
class Placer final : public FieldVisitor {
 public:
  // `sizes` is what a tensor of the state has unless it is one number.
  Placer(const Tensor& param, std::vector<int64_t> sizes)
      : param_(param), sizes_(std::move(sizes)) {}
  void field(const char*, double&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, std::optional<int64_t>&) override {}
  void field(const char*, std::optional<std::string>&) override {}
  void field(const char* name, Tensor& value) override { place(name, value); }
  void field(const char* name, std::vector<Tensor>& value) override {
    for (Tensor& t : value) place(name, t);
  }

 private:
  void place(const char* name, Tensor& value) const {
    if (!value.defined()) return;
    TENON_CHECK(value.dim() == 0 || value.sizes() == IntArrayRef(sizes_), ValueError,
                "load: the state '", name, "' has sizes ", value.sizes(),
                " in the file, its parameter has ", IntArrayRef(sizes_));
    value = value.to(param_.options().layout(std::nullopt), /*non_blocking=*/false, /*copy=*/true);
  }
  const Tensor& param_;
  const std::vector<int64_t> sizes_;
};

void check_count(std::size_t count, const char* archive, const char* type, const char* subclass) {
  TENON_CHECK(count > 0, NotImplementedError, "void serialize(torch::serialize::", archive,
              "&) has not been implemented for torch::optim::", type,
              ". You must override it, or fields(), in your subclass of torch::optim::", subclass);
}

template <class T>
void write_fields(const T& value, serialize::OutputArchive& archive, const char* type,
                  const char* subclass) {
  Writer writer(archive);
  const_cast<T&>(value).fields(writer);  // a state may bring a count up to date first
  check_count(writer.count, "OutputArchive", type, subclass);
}

template <class T>
void read_fields(T& value, serialize::InputArchive& archive, const char* type,
                 const char* subclass) {
  Reader reader(archive);
  value.fields(reader);
  check_count(reader.count, "InputArchive", type, subclass);
}

int64_t numel_of(const std::vector<OptimizerParamGroup>& groups) {
  int64_t n = 0;
  for (const auto& group : groups) {
    for (const Tensor& p : group.params()) n += p.numel();
  }
  return n;
}

constexpr const char* kOptions = "OptimizerOptions";
constexpr const char* kOptionsClass = "OptimizerCloneableOptions<YourOptimizerOptions>.";
constexpr const char* kState = "OptimizerParamState";
constexpr const char* kStateClass = "OptimizerCloneableParamState<YourOptimizerParamState>.";

}  // namespace

void OptimizerOptions::serialize(serialize::OutputArchive& archive) const {
  write_fields(*this, archive, kOptions, kOptionsClass);
}
void OptimizerOptions::serialize(serialize::InputArchive& archive) {
  read_fields(*this, archive, kOptions, kOptionsClass);
}
void OptimizerParamState::serialize(serialize::OutputArchive& archive) const {
  write_fields(*this, archive, kState, kStateClass);
}
void OptimizerParamState::serialize(serialize::InputArchive& archive) {
  read_fields(*this, archive, kState, kStateClass);
}

void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.write("groups", IValue(static_cast<int64_t>(param_groups_.size())));
  serialize::OutputArchive states;
  int64_t position = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    serialize::OutputArchive nested;
    nested.write("size", IValue(static_cast<int64_t>(param_groups_[g].params().size())));
    param_groups_[g].options().serialize(nested);
    archive.write(core::join(g), nested);
    for (const Tensor& p : param_groups_[g].params()) {
      const auto found = state_.find(p.unsafeGetTensorImpl());
      const std::string name = core::join(position++);
      if (found == state_.end() || !found->second) continue;
      serialize::OutputArchive one;
      found->second->serialize(one);
      states.write(name, one);
    }
  }
  archive.write("state", states);
}

void Optimizer::load(serialize::InputArchive& archive) {
  IValue count;
  archive.read("groups", count);
  TENON_CHECK(count.toInt() == static_cast<int64_t>(param_groups_.size()), ValueError,
              "the file has ", count.toInt(), " parameter groups, the optimizer ",
              param_groups_.size());
  std::vector<serialize::InputArchive> groups(param_groups_.size());
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    IValue size;
    archive.read(core::join(g), groups[g]);
    groups[g].read("size", size);
    TENON_CHECK(size.toInt() == static_cast<int64_t>(param_groups_[g].params().size()), ValueError,
                "group ", g, " of the file has ", size.toInt(),
                " parameters, that of the optimizer ", param_groups_[g].params().size());
  }
  // All is read and checked before anything of this optimizer changes.
  StateMap fresh;
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  serialize::InputArchive states;
  const bool any = archive.try_read("state", states);
  int64_t position = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    options.push_back(param_groups_[g].options().clone());
    options.back()->serialize(groups[g]);
    options.back()->check();
    for (const Tensor& p : param_groups_[g].params()) {
      serialize::InputArchive one;
      const std::string name = core::join(position++);
      if (!any || !states.try_read(name, one)) continue;
      auto state = new_state();
      TENON_CHECK(state != nullptr, ValueError,
                  "the optimizer keeps no state, but the file has one");
      state->serialize(one);
      Placer placer(
          p, state_is_flat() ? std::vector<int64_t>{numel_of(param_groups_)} : p.sizes().vec());
      state->fields(placer);
      fresh[p.unsafeGetTensorImpl()] = std::move(state);
    }
  }
  for (std::size_t g = 0; g < options.size(); ++g) {
    param_groups_[g].options().assign(std::move(*options[g]));
  }
  state_ = std::move(fresh);
}

}  // namespace optim
}  // namespace tenon
