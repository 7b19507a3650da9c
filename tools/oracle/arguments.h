// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The arguments of one case as the boxed call of an operator wants them.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "case_reader.h"
#include "tenon/core/op.h"

namespace tenon::oracle {

// Owns everything that values() points to. Each object creates its own tensors.
class Arguments {
 public:
  // Binds by name; what the case leaves out takes the operator's default. ValueError names an
  // argument that does not fit.
  Arguments(const core::Op& op, const CaseFile& file, const json& args, core::DeviceId place);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const tn_value* values() const { return values_.data(); }
  int count() const { return static_cast<int>(values_.size()); }
  // "self", or "tensors.2" for the third of a list. Null if there is none.
  core::Impl tensor(const std::string& name) const;
  const std::vector<core::Impl>& tensors() const { return tensors_; }
  // Replaces an argument that is one tensor.
  void replace(int argument, core::Impl with);

  // The name of an argument whose storage, geometry or dtype differs from what it was at binding;
  // empty if none. Arguments that the operator mutates are exempt.
  std::string changed() const;

 private:
  struct Snapshot {
    std::string name;
    core::Impl tensor;
    std::vector<int64_t> sizes, strides;
    std::vector<char> bytes;  // of the whole storage
    core::Impl whole;         // the tensor that this is a component of
    int part;
  };
  tn_value bind(const core::ArgInfo& info, const CaseFile& file, const json& given,
                core::DeviceId place);
  tn_value bind_list(const core::ArgInfo& info, const json& given);
  tn_value bind_tensors(const core::ArgInfo& info, const CaseFile& file, const json& given,
                        core::DeviceId place);
  void take_snapshot(const std::string& name, const core::Impl& t);
  const tn_tensor* add_tensor(const std::string& name, core::Impl t, bool mutates);

  std::vector<tn_value> values_;
  std::vector<core::Impl> tensors_;
  std::map<std::string, core::Impl> by_name_;
  std::vector<Snapshot> snapshots_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> floats_;
  std::deque<std::vector<uint8_t>> bools_;
  std::deque<std::vector<tn_value>> scalars_;
  std::deque<core::complex<double>> complex_numbers_;
  std::deque<std::vector<const tn_tensor*>> lists_;
  std::deque<std::string> strings_;
};

// The bytes of a whole storage, read back from its device.
std::vector<char> storage_bytes(core::TensorImpl& t);

}  // namespace tenon::oracle
