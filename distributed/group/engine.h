// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Engines by name, and one rank's membership of a group of one.
#pragma once

#include <memory>
#include <string>

#include "tenon/abi/ext/collective.h"
#include "tenon/distributed/store.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// Opens the plugin of this name. BackendError: there is none, or it has no extension collective.
const tn_ext_collective& find_engine(const std::string& name);
bool serves(const tn_ext_collective& engine, int32_t operation, ReduceOp op, ScalarType dtype,
            std::string_view device);
std::string error_of(const tn_ext_collective& engine);
const char* name_of(int32_t operation);  // "all_reduce"
bool is_reduction(int32_t operation);

class Membership {
 public:
  // `store` null: of all processes of an engine that knows them (tn_ext_collective.world).
  Membership(const tn_ext_collective& engine, std::shared_ptr<Store> store, int rank, int size,
             const std::string& name, std::chrono::milliseconds timeout, Device device);
  ~Membership();
  tn_group* group() const { return group_; }
  const tn_ext_collective& engine() const { return engine_; }

 private:
  const tn_ext_collective& engine_;
  std::shared_ptr<Store> store_;
  tn_rendezvous rendezvous_;
  tn_group* group_ = nullptr;
};

}  // namespace tenon::distributed
