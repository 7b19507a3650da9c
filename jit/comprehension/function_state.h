// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the copies of a function share: its definition, and its programs by shapes and device.
#pragma once

#include <map>
#include <tuple>

#include "jit/comprehension/emit.h"
#include "jit/comprehension/schedules.h"
#include "runtime/base/leaf_mutex.h"
#include "tenon/jit/comprehension.h"

namespace tenon::tc {

struct Function::State {
  explicit State(jit::comprehension::Definition d) : definition(std::move(d)) {}

  struct Key {
    std::vector<jit::comprehension::Shape> shapes;
    bool into = false;
    Device device = kCPU;
    bool operator<(const Key& other) const {
      const auto order = [](const Key& k) {
        return std::make_tuple(std::cref(k.shapes), k.into, static_cast<int>(k.device.type()),
                               k.device.index());
      };
      return order(*this) < order(other);
    }
  };

  // Sizes from the inputs. ValueError for what the parameters do not allow.
  jit::comprehension::Facts bind(const std::vector<Tensor>& inputs) const;
  // With the schedules that were set.
  std::shared_ptr<const jit::comprehension::Emitted> program(const std::vector<Tensor>& inputs,
                                                             bool into);
  // By nest; for run() with inputs of these shapes on their device.
  void set_schedules(const std::vector<Tensor>& inputs, const std::vector<std::string>& lines);

  jit::comprehension::Definition definition;
  core::LeafMutex mutex;
  std::map<Key, std::shared_ptr<const jit::comprehension::Emitted>> programs;
  std::map<Key, std::vector<std::string>> schedules;
};

}  // namespace tenon::tc
