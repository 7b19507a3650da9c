// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layout: "groups" (count), "N.size" and "N.FIELD" for the options of group N, "state.I.FIELD" for
// the state of the parameter at position I over all groups.
#include "tenon/serialize.h"

#include <variant>

#include "tenon/ops.h"
#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

namespace {

class Writer final : public FieldVisitor {
 public:
  explicit Writer(serialize::OutputArchive& archive) : archive_(archive) {}
  void field(const char* name, double& value) override { archive_.write(name, IValue(value)); }
  void field(const char* name, int64_t& value) override { archive_.write(name, IValue(value)); }
  void field(const char* name, bool& value) override { archive_.write(name, IValue(value)); }
  void field(const char* name, Tensor& value) override {
    if (value.defined()) archive_.write(name, value);
  }

 private:
  serialize::OutputArchive& archive_;
};

class Reader final : public FieldVisitor {
 public:
  Reader(serialize::InputArchive& archive, const Tensor& param)
      : archive_(archive), param_(param) {}
  void field(const char* name, double& value) override {
    value = read(name).toScalar().to<double>();
  }
  void field(const char* name, int64_t& value) override { value = read(name).toInt(); }
  void field(const char* name, bool& value) override { value = read(name).toBool(); }
  // The state follows its parameter to its device and dtype. What a step writes into is a copy: in
  // a file two tensors may share their data, or several elements of one may overlap.
  void field(const char* name, Tensor& value) override {
    Tensor given;
    if (!archive_.try_read(name, given)) {
      value = Tensor();
      return;
    }
    TENON_CHECK(given.dim() == 0 || given.sizes() == param_.sizes(), ValueError,
                "load: the state '", name, "' has sizes ", given.sizes(),
                " in the file, its parameter has ", param_.sizes());
    value = given.to(param_.options().layout(std::nullopt), /*non_blocking=*/false, /*copy=*/true);
  }

 private:
  IValue read(const char* name) {
    IValue value;
    archive_.read(name, value);
    return value;
  }
  serialize::InputArchive& archive_;
  const Tensor& param_;
};

// Copies fields from one object to another of its type; writing cannot fail.
class Carrier final : public FieldVisitor {
 public:
  void field(const char*, double& value) override { carry(value); }
  void field(const char*, int64_t& value) override { carry(value); }
  void field(const char*, bool& value) override { carry(value); }
  void field(const char*, Tensor& value) override { carry(value); }
  void begin_writing() { writes_ = true; }

 private:
  template <class T>
  void carry(T& value) {
    if (writes_) {
      value = *std::get_if<T>(&values_[at_++]);
    } else {
      values_.emplace_back(value);
    }
  }
  std::vector<std::variant<double, int64_t, bool, Tensor>> values_;
  std::size_t at_ = 0;
  bool writes_ = false;
};

}  // namespace

void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.write("groups", IValue(static_cast<int64_t>(param_groups_.size())));
  serialize::OutputArchive states;
  int64_t position = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    serialize::OutputArchive nested;
    nested.write("size", IValue(static_cast<int64_t>(param_groups_[g].params().size())));
    Writer writer(nested);
    param_groups_[g].options().clone()->fields(writer);
    archive.write(core::join(g), nested);
    for (const Tensor& p : param_groups_[g].params()) {
      const auto found = state_.find(p.unsafeGetTensorImpl());
      const std::string name = core::join(position++);
      if (found == state_.end() || !found->second) continue;
      serialize::OutputArchive one;
      Writer state_writer(one);
      found->second->fields(state_writer);
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
  Carrier options;
  serialize::InputArchive states;
  const bool any = archive.try_read("state", states);
  int64_t position = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    Reader reader(groups[g], param_groups_[g].params().front());
    const auto read = param_groups_[g].options().clone();
    read->fields(reader);
    read->check();
    read->fields(options);
    for (const Tensor& p : param_groups_[g].params()) {
      serialize::InputArchive one;
      const std::string name = core::join(position++);
      if (!any || !states.try_read(name, one)) continue;
      auto state = new_state();
      TENON_CHECK(state != nullptr, ValueError,
                  "the optimizer keeps no state, but the file has one");
      Reader state_reader(one, p);
      state->fields(state_reader);
      fresh[p.unsafeGetTensorImpl()] = std::move(state);
    }
  }
  options.begin_writing();
  for (auto& group : param_groups_) group.options().fields(options);
  state_ = std::move(fresh);
}

}  // namespace optim
}  // namespace tenon
